package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/tokenize"
)

// peerCorpora are the corpora whose texts both sides read; one that cannot be made
// here is missing.
type peerCorpora map[string]*input

func (a *app) peerCorpora(ctx context.Context) (peerCorpora, error) {
	c := peerCorpora{}
	for _, name := range []string{corpus.Techdocs, corpus.Gostd} {
		in, _, err := a.openInput(ctx, name, corpus.Options{}, true)
		switch {
		case errors.Is(err, corpus.ErrNoToolchain):
		case err != nil:
			return nil, err
		default:
			c[name] = in
		}
	}
	return c, nil
}

// tokenizeBytes is how much text a tokenizing pass covers: seconds for the peer.
const tokenizeBytes = 4 << 20

// tokenizeSide times a tokenizer on one goroutine, its caches emptied at the start of
// every pass, on most bytes of a corpus; the peer's input is written to dir.
func (c peerCorpora) tokenizeSide(dir string, tok tokenize.Tokenizer, name string, most int64) (*ourSide, error) {
	texts, total, err := c.texts(name, most)
	if err != nil {
		return nil, err
	}
	tok = tok.Clone()
	var ids []int32
	hash := bench.NewIDsHash()
	for _, t := range texts {
		ids = tok.AppendIDs(ids[:0], t)
		hash.Add(ids)
	}
	s := &ourSide{
		unit: "MB/s", amount: float64(total) / 1e6, file: filepath.Join(dir, name+"-texts.jsonl"), idsHash: hash.Hex(),
		pass: func(context.Context) (float64, error) {
			start := time.Now()
			tok.Reset()
			for _, t := range texts {
				ids = tok.AppendIDs(ids[:0], t)
			}
			return time.Since(start).Seconds(), nil
		},
	}
	return s, writeLines(s.file, len(texts), func(i int) any {
		return struct {
			Text string `json:"text"`
		}{string(texts[i])}
	})
}

// texts takes documents spread evenly over a corpus, each once, of about most bytes.
func (c peerCorpora) texts(name string, most int64) (texts [][]byte, total int, err error) {
	in := c[name]
	if in == nil {
		return nil, 0, fmt.Errorf("peers: corpus %s is not available here", name)
	}
	m, err := in.open()
	if err != nil {
		return nil, 0, err
	}
	man, err := corpus.Scan(m, name, in.rule, nil)
	if err = errors.Join(err, m.Close()); err != nil {
		return nil, 0, err
	}
	step := max(1, man.TextBytes/most)
	src, err := in.open()
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	for i := int64(0); src.Scan(); i++ {
		if i%step == 0 {
			t := src.Doc().AppendText(nil)
			texts = append(texts, t)
			total += len(t)
		}
	}
	return texts, total, src.Err()
}

// longRows makes rows of exactly so many tokens of documents of techdocs, one after the
// other; the text of a row tokenizes to its ids and a few more.
func longRows(c peerCorpora, tok tokenize.Tokenizer, rows, tokens int) ([]bench.Row, error) {
	const more = 16 // so that the last id does not depend on where the text ends
	docs, _, err := c.texts(corpus.Techdocs, int64(rows)*int64(tokens)*16)
	if err != nil {
		return nil, err
	}
	content := tokens - tok.Template().Overhead()
	var out []bench.Row
	var text []byte
	for _, doc := range docs {
		text = append(append(text, doc...), "\n\n"...)
		ids, spans := tok.AppendSpans(nil, nil, text)
		if len(ids) < content+more {
			continue
		}
		text = text[:spans[content+more-1].End]
		ids = tok.AppendIDs(nil, text)
		if len(ids) < content {
			return nil, fmt.Errorf("peers: a text that was cut at a token makes %d of %d tokens", len(ids), content)
		}
		out = append(out, bench.Row{Number: int64(len(out)), IDs: tok.Template().AppendSingle(nil, ids[:content]), Text: text})
		if text = nil; len(out) == rows {
			return out, nil
		}
	}
	return nil, fmt.Errorf("peers: techdocs gave %d of %d rows of %d tokens", len(out), rows, tokens)
}
