package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
)

// words is a tokenizer that gives each space-separated word two ids: its length
// and the sum of its bytes.
type words struct{ slow time.Duration }

func (w words) AppendIDs(dst []int32, text []byte) []int32 {
	dst, _ = w.AppendSpans(dst, nil, text)
	return dst
}

func (w words) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	time.Sleep(w.slow)
	for at := 0; at < len(text); {
		if text[at] == ' ' {
			at++
			continue
		}
		end := at
		sum := int32(0)
		for ; end < len(text) && text[end] != ' '; end++ {
			sum += int32(text[end])
		}
		span := tokenize.Span{Start: int32(at), End: int32(end)}
		dst = append(dst, int32(end-at), 1000+sum)
		spans = append(spans, span, span)
		at = end
	}
	return dst, spans
}

const cls, sep = 101, 102

func (words) Template() tokenize.Template {
	return tokenize.Template{Single: []tokenize.Piece{{ID: cls}, {Text: 'A'}, {ID: sep}}}
}
func (words) Special() tokenize.Special   { return tokenize.Special{CLS: cls, SEP: sep} }
func (words) VocabSize() int              { return 1 << 20 }
func (words) Repaired() int64             { return 0 }
func (words) Reset()                      {}
func (w words) Clone() tokenize.Tokenizer { return w }

// docs is a scanner over texts; it fails after them when err is set.
type docs struct {
	texts []string
	next  int
	err   error
	buf   []byte
}

func (d *docs) Scan() bool { d.next++; return d.next <= len(d.texts) }
func (d *docs) Doc() corpus.Doc {
	d.buf = append(d.buf[:0], d.texts[d.next-1]...)
	return corpus.Doc{Text: d.buf}
}
func (d *docs) Err() error   { return d.err }
func (d *docs) Close() error { return nil }

// text makes n words.
func text(n, seed int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s ", strings.Repeat(string(rune('a'+(i+seed)%26)), 1+(i*7+seed)%5))
	}
	return strings.TrimSpace(b.String())
}

// naive is the definition: tokenize, cut, wrap, in order.
func naive(texts []string, opt Options) (rows [][]int32, doc []int64) {
	for i, t := range texts {
		ids := opt.Tokenizer.AppendIDs(nil, []byte(t))
		if opt.Trim != nil {
			ids = ids[opt.Trim[i].Skip : opt.Trim[i].Skip+opt.Trim[i].N]
		}
		for _, c := range opt.Window.AppendSpans(nil, len(ids)) {
			row := append([]int32{cls}, opt.Prompt...)
			rows = append(rows, append(append(row, ids[c.Start:c.End]...), sep))
			doc = append(doc, int64(i))
		}
	}
	return rows, doc
}

func collect(t *testing.T, src corpus.Scanner, opt Options) (rows [][]int32, doc []int64, pieces []Piece, sizes []int, f *Feeder) {
	t.Helper()
	f, err := New(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var done int64
	for {
		b, err := f.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if int(b.Base) != len(rows) {
			t.Fatalf("batch starts at row %d, %d rows came before", b.Base, len(rows))
		}
		for r := range b.Rows() {
			rows = append(rows, slices.Clone(b.Row(r)))
			if opt.Pieces {
				p := b.Pieces[r]
				p.Text = slices.Clone(p.Text)
				pieces = append(pieces, p)
			}
		}
		doc = append(doc, b.Doc...)
		sizes = append(sizes, b.Rows())
		done += b.DocsDone
		f.Recycle(b)
	}
	if s := f.Stats(); done != s.Docs || int64(len(rows)) != s.Rows {
		t.Fatalf("batches hold %d documents and %d rows, stats say %d and %d", done, len(rows), s.Docs, s.Rows)
	}
	return rows, doc, pieces, sizes, f
}

func TestRowsAreThoseOfTheDefinition(t *testing.T) {
	var texts []string
	for i := range 300 {
		texts = append(texts, text([]int{0, 1, 3, 5, 40, 200, 7}[i%7]+i%3, i))
	}
	texts = append(texts, text(6_000, 5), "", "")
	for _, workers := range []int{1, 2, 5} {
		for _, batch := range []int{1, 7, 128, 100_000} {
			opt := Options{Tokenizer: words{}, Window: chunk.Window{Size: 20, Overlap: 6}, Prompt: []int32{7, 8}, Batch: batch, Workers: workers, Pieces: batch == 7}
			rows, doc, pieces, sizes, f := collect(t, &docs{texts: texts}, opt)
			want, wantDoc := naive(texts, opt)
			if !slices.EqualFunc(rows, want, slices.Equal[[]int32]) || !slices.Equal(doc, wantDoc) {
				t.Fatalf("%d workers, batch %d: %d rows differ from the definition's %d", workers, batch, len(rows), len(want))
			}
			for _, n := range sizes[:len(sizes)-1] {
				if n != batch {
					t.Fatalf("a batch in the middle has %d rows, want %d", n, batch)
				}
			}
			for i, p := range pieces {
				ids := words{}.AppendIDs(nil, p.Text)[p.Skip : p.Skip+p.N]
				if !slices.Equal(ids, rows[i][3:len(rows[i])-1]) {
					t.Fatalf("row %d: its text gives %v, the row is %v", i, ids, rows[i])
				}
			}
			s := f.Stats()
			var tokens, content, empty int64
			for _, x := range texts {
				n := int64(len(words{}.AppendIDs(nil, []byte(x))))
				tokens += n
				if n == 0 {
					empty++
				}
			}
			for _, r := range want {
				content += int64(len(r)) - 4
			}
			if s.Tokens != tokens || s.Content != content || s.Empty != empty || s.Longest != 12_000 {
				t.Fatalf("stats %+v; want %d tokens, %d content, %d empty", s, tokens, content, empty)
			}
		}
	}
}

func TestTrim(t *testing.T) {
	texts := []string{"aa bb cc", "dd", "ee ff"}
	opt := Options{Tokenizer: words{}, Window: chunk.Window{Size: 10, Overlap: 2}, Batch: 2, Trim: []Trim{{1, 4}, {0, 2}, {3, 1}}}
	rows, _, _, _, _ := collect(t, &docs{texts: texts}, opt)
	want, _ := naive(texts, opt)
	if !slices.EqualFunc(rows, want, slices.Equal[[]int32]) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	opt.Trim[2].N = 9
	f, err := New(context.Background(), &docs{texts: texts}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Next(context.Background())
	}
	if want := "feed: sample row 2 tokenized to 4 ids, expected at least 12"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// With First a document is the first of its windows, and what is cut is counted.
func TestFirst(t *testing.T) {
	texts := []string{text(30, 1), "", text(5, 2), text(6, 3), text(5, 4)}
	opt := Options{Tokenizer: words{}, Window: chunk.Window{Size: 10}, Batch: 2, First: true}
	rows, doc, _, _, f := collect(t, &docs{texts: texts}, opt)
	all, of := naive(texts, opt)
	var want [][]int32
	for i, r := range all {
		if i == 0 || of[i] != of[i-1] {
			want = append(want, r)
		}
	}
	if !slices.EqualFunc(rows, want, slices.Equal[[]int32]) || !slices.Equal(doc, []int64{0, 1, 2, 3, 4}) {
		t.Errorf("rows %v of documents %v, want %v", rows, doc, want)
	}
	if s := f.Stats(); s.Cut != 2 || s.Dropped != 50+2 || s.Tokens != 60+10+12+10 || s.Content != 40 {
		t.Errorf("stats %+v; want 2 documents cut, 52 tokens dropped of 92, 40 in rows", s)
	}
}

func TestSourceErrorAfterItsDocuments(t *testing.T) {
	broken := errors.New("line 3 is broken")
	f, err := New(context.Background(), &docs{texts: []string{"a", "b"}, err: broken}, Options{Tokenizer: words{}, Window: chunk.Window{Size: 4}, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := f.Next(context.Background()); err != nil || b.Rows() != 2 {
		t.Fatalf("the documents before the error: %v", err)
	}
	if _, err := f.Next(context.Background()); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// endless never ends and counts what was read.
type endless struct{ read int }

func (e *endless) Scan() bool      { e.read++; return true }
func (e *endless) Doc() corpus.Doc { return corpus.Doc{Text: []byte(strings.Repeat("word ", 2000))} }
func (e *endless) Err() error      { return nil }
func (e *endless) Close() error    { return nil }

func TestBoundedAndCancelled(t *testing.T) {
	src := &endless{}
	ctx, cancel := context.WithCancel(context.Background())
	f, err := New(ctx, src, Options{Tokenizer: words{}, Window: chunk.Window{Size: 100}, Batch: 8, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		// A finished block may still be handed out; its end must be the context's.
		for err == nil {
			_, err = f.Next(ctx)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("next after cancel: %v", err)
		}
	}
	f.Close()
	// 6 blocks of at least 64 KiB, 10 kB a document, and one batch's worth more.
	if src.read > 8*8 {
		t.Errorf("%d documents were read ahead of one batch", src.read)
	}
}

func TestValidate(t *testing.T) {
	_, err := New(context.Background(), &docs{}, Options{Window: chunk.Window{Size: 10, Overlap: 10}, Workers: -1})
	want := "feed: no tokenizer\noverlap of 10 tokens is not smaller than the window's 10 content tokens\nbatch of 0 rows: must be at least 1\n-1 tokenizing workers: must not be negative"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// A corpus many times longer allocates no more: every block and batch is reused.
func TestSteadyStateAllocates(t *testing.T) {
	one := []string{text(300, 1), text(20, 2), "", text(3000, 3)}
	run := func(times int) float64 {
		var texts []string
		for range times {
			texts = append(texts, one...)
		}
		return testing.AllocsPerRun(3, func() {
			f, err := New(context.Background(), &docs{texts: texts}, Options{Tokenizer: quiet{}, Window: chunk.Window{Size: 510, Overlap: 100}, Batch: 128, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			for {
				b, err := f.Next(context.Background())
				if err != nil {
					break
				}
				f.Recycle(b)
			}
			f.Close()
		})
	}
	few, many := run(50), run(5000)
	// 5,000 times the texts are about 34,000 rows.
	if many > few+400 {
		t.Errorf("100 times the corpus allocates %.0f times, the corpus %.0f", many, few)
	}
}

// quiet is words without the allocation of spans.
type quiet struct{ words }

func (quiet) AppendIDs(dst []int32, text []byte) []int32 {
	for _, c := range text {
		if c == ' ' {
			dst = append(dst, int32(len(dst)))
		}
	}
	return dst
}
func (q quiet) Clone() tokenize.Tokenizer { return q }
