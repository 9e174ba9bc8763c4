package feed

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
	"encbench/engine"
)

// block is a run of documents on its way through a tokenizing worker. The reader
// fills the upper part, the worker the lower; done hands it to the packer.
type block struct {
	first int64 // number of the first document
	text  []byte
	ends  []int // end of each document in text

	ids    []int32
	off    []int32 // rows+1
	doc    []int64
	last   []int64 // text bytes of the document that the row ends, -1 = it ends none
	pieces []Piece
	stats  Stats
	err    error
	done   chan struct{}
}

func (b *block) reset(first int64) {
	b.first, b.err, b.stats = first, nil, Stats{}
	b.text, b.ends = b.text[:0], b.ends[:0]
	b.ids, b.off = b.ids[:0], append(b.off[:0], 0)
	b.doc, b.last, b.pieces = b.doc[:0], b.last[:0], b.pieces[:0]
}

func (b *block) rows() int { return len(b.doc) }

// copyRows appends rows [from, from+n) to out.
func (b *block) copyRows(out *Batch, from, n int) {
	if n == 0 {
		return
	}
	shift := int32(len(out.IDs)) - b.off[from]
	out.IDs = append(out.IDs, b.ids[b.off[from]:b.off[from+n]]...)
	for _, o := range b.off[from+1 : from+n+1] {
		out.Off = append(out.Off, o+shift)
	}
	out.Doc = append(out.Doc, b.doc[from:from+n]...)
	if b.pieces != nil {
		out.Pieces = append(out.Pieces, b.pieces[from:from+n]...)
	}
	for _, bytes := range b.last[from : from+n] {
		if bytes >= 0 {
			out.DocsDone++
			out.TextBytes += bytes
		}
	}
}

// worker tokenizes and cuts blocks, one at a time.
type worker struct {
	opt            *Options
	prefix, suffix []int32
	tok            tokenize.Tokenizer
	repaired       int64

	ids    []int32
	spans  []tokenize.Span
	chunks []chunk.Span
}

func (w *worker) run(b *block) {
	start := 0
	mark := time.Now()
	for i, end := range b.ends {
		doc := b.first + int64(i)
		text := b.text[start:end]
		start = end
		w.ids, w.spans = w.ids[:0], w.spans[:0]
		if w.opt.Pieces {
			w.ids, w.spans = w.tok.AppendSpans(w.ids, w.spans, text)
		} else {
			w.ids = w.tok.AppendIDs(w.ids, text)
		}
		now := time.Now()
		b.stats.TokenizeBusy += now.Sub(mark)
		mark = now
		if w.opt.Trim != nil {
			if b.err = w.trim(doc); b.err != nil {
				return
			}
		}
		w.cut(b, doc, text)
		now = time.Now()
		b.stats.ChunkBusy += now.Sub(mark)
		mark = now
	}
	total := w.tok.Repaired()
	b.stats.Repaired = total - w.repaired
	w.repaired = total
}

// trim reduces the ids of a sample's document to the row it stands for.
func (w *worker) trim(doc int64) error {
	if doc >= int64(len(w.opt.Trim)) {
		return fmt.Errorf("feed: document %d of a sample of %d", doc, len(w.opt.Trim))
	}
	t := w.opt.Trim[doc]
	if int(t.Skip+t.N) > len(w.ids) {
		return fmt.Errorf("feed: sample row %d tokenized to %d ids, expected at least %d", doc, len(w.ids), t.Skip+t.N)
	}
	w.ids = w.ids[t.Skip : t.Skip+t.N]
	return nil
}

// cut appends the windows of the tokenized document to the block.
func (w *worker) cut(b *block, doc int64, text []byte) {
	n := len(w.ids)
	w.chunks = w.opt.Window.AppendSpans(w.chunks[:0], n)
	if w.opt.First && len(w.chunks) > 1 {
		w.chunks = w.chunks[:1]
		b.stats.Cut++
		b.stats.Dropped += int64(n) - int64(w.chunks[0].End)
	}
	for i, c := range w.chunks {
		b.ids = append(b.ids, w.prefix...)
		b.ids = append(b.ids, w.ids[c.Start:c.End]...)
		b.ids = append(b.ids, w.suffix...)
		rowStart := b.off[len(b.off)-1]
		b.off = append(b.off, int32(len(b.ids)))
		b.doc = append(b.doc, doc)
		ends := int64(-1)
		if i == len(w.chunks)-1 {
			ends = int64(len(text))
		}
		b.last = append(b.last, ends)
		b.stats.RowsByBucket[engine.Bucket(len(b.ids)-int(rowStart))]++
		b.stats.Content += int64(c.End - c.Start)
		if w.opt.Pieces {
			b.pieces = append(b.pieces, piece(text, w.spans, c))
		}
	}
	b.stats.Docs++
	b.stats.Rows += int64(len(w.chunks))
	b.stats.Tokens += int64(n)
	b.stats.TextBytes += int64(len(text))
	b.stats.Longest = max(b.stats.Longest, int64(n))
	if n == 0 {
		b.stats.Empty++
	}
}

// piece gives the text of a window, widened to whole pre-tokens and further until no
// space is at its ends: read as a document, the text would lose it, and with it the
// tokens that it is part of.
func piece(text []byte, spans []tokenize.Span, c chunk.Span) Piece {
	if c.Start == c.End {
		return Piece{}
	}
	first, last := c.Start, c.End-1
	for first > 0 && (spans[first-1] == spans[first] || spaceFirst(text[spans[first].Start:])) {
		first--
	}
	for int(last)+1 < len(spans) && spaceLast(text[:spans[last].End]) {
		last++
	}
	return Piece{
		Text: text[spans[first].Start:spans[last].End],
		Skip: c.Start - first,
		N:    c.End - c.Start,
	}
}

func spaceFirst(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return isSpace(r)
}

func spaceLast(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return isSpace(r)
}

// isSpace says whether corpus.Doc trims a rune.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }
