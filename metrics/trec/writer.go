package trec

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"encbench/metrics/ranking"
)

// Writer writes runs as TREC text: "query Q0 document rank score tag", with single
// spaces.
type Writer struct {
	// Digits, if positive, is the number of digits behind the point of a score: what
	// other tools print, at the price of ties that the run did not have. 0 writes the
	// shortest text that reads back as the same number.
	Digits int

	w    *bufio.Writer
	tag  []byte
	line []byte
	err  error
}

// NewWriter writes to w, which Close does not close. The tag, "encbench" where it
// is empty, names the system; white space in it becomes "_".
func NewWriter(w io.Writer, tag string) *Writer {
	if tag == "" {
		tag = "encbench"
	}
	t := []byte(tag)
	for i, c := range t {
		if c <= ' ' {
			t[i] = '_'
		}
	}
	return &Writer{w: bufio.NewWriterSize(w, 256<<10), tag: t}
}

// Write writes a block, its rows in their order. The rank column is the block's
// where it has one, otherwise it counts from 1 in every query. An identifier that
// is empty or holds white space, and a score that is not a number, have no place in
// such a file: they are an error, and the block is then written in part.
func (w *Writer) Write(b *ranking.Block) error {
	if w.err != nil {
		return w.err
	}
	for q := range b.Len() {
		query := b.Queries.At(q)
		if !Writable(query) {
			return w.fail(fmt.Errorf("query id %s is empty or holds white space, which a TREC run cannot carry", quote(query)))
		}
		from, to := b.Rows(q)
		for row := from; row < to; row++ {
			doc, score := b.DocAt(row), b.Score[row]
			switch {
			case !Writable(doc):
				return w.fail(fmt.Errorf("query %s: document id %s is empty or holds white space, which a TREC run cannot carry", quote(query), quote(doc)))
			case math.IsNaN(score):
				return w.fail(fmt.Errorf("query %s, document %s: the score is not a number", quote(query), quote(doc)))
			}
			rank := int64(row - from + 1)
			if b.Rank != nil {
				rank = int64(b.Rank[row])
			}
			l := append(w.line[:0], query...)
			l = append(l, " Q0 "...)
			l = append(l, doc...)
			l = append(l, ' ')
			l = strconv.AppendInt(l, rank, 10)
			l = append(l, ' ')
			if w.Digits > 0 {
				l = strconv.AppendFloat(l, score, 'f', w.Digits, 64)
			} else {
				l = strconv.AppendFloat(l, score, 'g', -1, 64)
			}
			l = append(l, ' ')
			l = append(l, w.tag...)
			l = append(l, '\n')
			w.line = l
			if _, err := w.w.Write(l); err != nil {
				return w.fail(err)
			}
		}
	}
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("write a TREC run: %w", err)
	return w.err
}

// Close writes what is buffered.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.w.Flush(); err != nil {
		return w.fail(err)
	}
	return nil
}

// Writable says whether an identifier can stand in a column.
func Writable(id []byte) bool { return len(id) > 0 && !bytes.ContainsAny(id, " \t\r\n") }
