package eval

import (
	"context"
	"sync"

	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine"
	"encbench/engine/feed"
	"encbench/metrics/ranking"
)

// passed is what went through the encoder in one pass.
type passed struct {
	feed.Stats
	work    engine.Work
	unknown int64 // content tokens that stand for what the tokenizer does not know
}

// windows feeds documents in windows, each with the prompt's ids in front.
func (s *Setup) windows() feed.Options {
	return feed.Options{
		Tokenizer: s.Tokenizer, Batch: s.Batch, Workers: s.Workers,
		Prompt: s.Tokenizer.AppendIDs(nil, []byte(s.Document.Text)),
		Window: chunk.Window{Size: s.window(), Overlap: s.Overlap}, First: s.Pool == PoolFirst,
	}
}

// cut feeds texts cut to most tokens. The prompt is a part of the text here, as it
// is where sentence-transformers puts it: a tokenizer may join its end with the
// beginning of the text.
func (s *Setup) cut(src corpus.Scanner, prompt Prompt, most int) (corpus.Scanner, feed.Options) {
	if prompt.Text != "" {
		src = &prompted{Scanner: src, prompt: prompt.Text}
	}
	return src, feed.Options{
		Tokenizer: s.Tokenizer, Batch: s.Batch, Workers: s.Workers,
		Window: chunk.Window{Size: most - s.special()}, First: true,
	}
}

// encode streams the texts of src through the encoder into the shaper.
func (s *Setup) encode(ctx context.Context, src corpus.Scanner, opt feed.Options, to *shaper, each func(done int64)) (passed, error) {
	var out passed
	f, err := feed.New(ctx, src, opt)
	if err != nil {
		return out, err
	}
	defer f.Close()
	var flight []*feed.Batch
	var docs int64
	unknown := s.Tokenizer.Special().UNK
	_, err = engine.Pipeline(ctx, s.Encoder, engine.Flow{
		Next: func(ctx context.Context) (*engine.Batch, error) {
			b, err := f.Next(ctx)
			if err != nil {
				return nil, err
			}
			flight = append(flight, b)
			return &b.Batch, nil
		},
		Done: func(_ *engine.Batch, r engine.Rows, w engine.Work) error {
			b := flight[0]
			flight = flight[:copy(flight, flight[1:])]
			out.work.Add(w)
			for i := range r.N {
				if err := to.add(ctx, b.Doc[i], r.Float32(i)); err != nil {
					return err
				}
			}
			if unknown >= 0 {
				for _, id := range b.IDs {
					if id == unknown {
						out.unknown++
					}
				}
			}
			docs += b.DocsDone
			f.Recycle(b)
			each(docs)
			return nil
		},
	})
	out.Stats = f.Stats()
	if err != nil {
		return out, err
	}
	return out, to.end(ctx)
}

// prompted puts a text before every document, without a separator.
type prompted struct {
	corpus.Scanner
	prompt string
	text   []byte
}

// Doc gives the current document with the prompt.
func (p *prompted) Doc() corpus.Doc {
	d := p.Scanner.Doc()
	p.text = append(p.text[:0], p.prompt...)
	p.text = d.AppendText(p.text)
	return corpus.Doc{ID: d.ID, Text: p.text}
}

// listed keeps the identifiers of the documents that pass by.
type listed struct {
	corpus.Scanner
	ids ranking.IDs
	mu  sync.Mutex // the reader is ahead of who writes vectors
}

// Scan moves on and keeps the identifier.
func (l *listed) Scan() bool {
	if !l.Scanner.Scan() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids.Append(l.Scanner.Doc().ID)
	return true
}

// id gives the identifier of a document that has passed, while others still do.
func (l *listed) id(doc int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids.At(doc)
}

// texts is a scanner over texts in memory.
type texts struct {
	of   func(i int) string
	n    int
	next int
	buf  []byte
}

// Scan moves to the next text.
func (t *texts) Scan() bool { t.next++; return t.next <= t.n }

// Doc gives the text as a document.
func (t *texts) Doc() corpus.Doc {
	t.buf = append(t.buf[:0], t.of(t.next-1)...)
	return corpus.Doc{Text: t.buf}
}

// Err gives nil.
func (t *texts) Err() error { return nil }

// Close does nothing.
func (t *texts) Close() error { return nil }
