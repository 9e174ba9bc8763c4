package trec

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"encbench/metrics/ranking"
)

// collectedRows is about how many rows a block of a collected run holds, and
// collectedText about how many bytes of documents' names.
const (
	collectedRows = 1 << 15
	collectedText = 1 << 26
)

// Collected is a run that was read into memory, its rows grouped by query. It is a
// [ranking.Source] whose Next several goroutines may call.
type Collected struct {
	read   *Reader
	blocks []*ranking.Block
	parts  [][]part // by query, in the order of first appearance
	limit  int      // maxText, less in tests

	mu   sync.Mutex
	next int // query
	seq  int
}

// part is a stretch of a query's rows: query q of a block.
type part struct{ block, q int }

// Collect reads a whole run, wherever the rows of a query stand: each query's rows
// keep the order of their lines, and queries that of their first row. It holds the
// text in memory and about 20 bytes a row beside it. Errors are those of
// Reader.Next, but for ErrNotGrouped.
func Collect(r io.Reader, name string, opt Options) (*Collected, error) {
	c := &Collected{read: NewReader(r, name, opt), limit: maxText}
	c.read.in.whole = false
	c.read.scattered = true
	number := make(map[string]int)
	for {
		b := new(ranking.Block)
		err := c.read.Next(b)
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		b.Docs.Start, b.Docs.End = slices.Clone(b.Docs.Start), slices.Clone(b.Docs.End)
		b.Score, b.Rank = slices.Clone(b.Score), slices.Clone(b.Rank)
		for q := range b.Len() {
			id := string(b.Queries.At(q))
			n, ok := number[id]
			if !ok {
				n = len(c.parts)
				number[id] = n
				c.parts = append(c.parts, nil)
			}
			c.parts[n] = append(c.parts[n], part{len(c.blocks), q})
		}
		c.blocks = append(c.blocks, b)
	}
}

// Stats gives the account of the reading.
func (c *Collected) Stats() Stats { return c.read.Stats() }

// Tag gives the tag of the last row, empty where the format has none.
func (c *Collected) Tag() string { return c.read.Tag() }

// Format gives the layout.
func (c *Collected) Format() Format { return c.read.Format() }

// Next fills b with the next whole queries, io.EOF at the end.
func (c *Collected) Next(b *ranking.Block) error {
	c.mu.Lock()
	from, rows, text := c.next, 0, 0
	for c.next < len(c.parts) && rows < collectedRows && text < collectedText {
		n, size := c.extent(c.parts[c.next])
		if rows, text = rows+n, text+size; text > c.limit {
			break
		}
		c.next++
	}
	to, seq := c.next, c.seq
	c.seq++
	c.mu.Unlock()
	ranks, lines := b.Rank, []origin(nil)
	b.Reset()
	b.Seq = seq
	switch {
	case from == len(c.parts):
		return io.EOF
	case from == to:
		p := c.parts[from][0]
		return fmt.Errorf("%s: query %s: the ids of its documents take more than %d bytes", c.read.in.name, quote(c.blocks[p.block].Queries.At(p.q)), c.limit)
	}
	if c.blocks[0].Rank != nil {
		b.Rank = ranks[:0]
	}
	for _, parts := range c.parts[from:to] {
		b.Off = append(b.Off, int32(len(b.Score)))
		b.Queries.Append(c.blocks[parts[0].block].Queries.At(parts[0].q))
		for _, p := range parts {
			src := c.blocks[p.block]
			first, last := src.Rows(p.q)
			lines = append(lines, origin{len(b.Score), src, first})
			for row := first; row < last; row++ {
				b.Docs.Append(src.DocAt(row))
			}
			b.Score = append(b.Score, src.Score[first:last]...)
			if b.Rank != nil || src.Rank != nil {
				b.Rank = append(b.Rank, src.Rank[first:last]...)
			}
		}
	}
	b.Off = append(b.Off, int32(len(b.Score)))
	b.Place = func(row int) string {
		i, found := slices.BinarySearchFunc(lines, row, func(o origin, row int) int { return o.row - row })
		if !found {
			i--
		}
		o := lines[i]
		return o.from.Place(o.first + row - o.row)
	}
	if c.read.format == Pairs {
		for q := range b.Len() {
			first, last := b.Rows(q)
			for row := first; row < last; row++ {
				b.Score[row] = float64(first - row)
			}
		}
	}
	return nil
}

// extent gives the rows of a query and the bytes of their documents' names.
func (c *Collected) extent(parts []part) (rows, text int) {
	for _, p := range parts {
		b := c.blocks[p.block]
		first, last := b.Rows(p.q)
		rows += last - first
		for row := first; row < last; row++ {
			text += int(b.Docs.End[row] - b.Docs.Start[row])
		}
	}
	return rows, text
}

// origin says that the rows from row on are those of a block from first on.
type origin struct {
	row   int
	from  *ranking.Block
	first int
}
