package trec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"encbench/metrics/ranking"
)

// blockText is what a block of text keeps for messages.
type blockText struct {
	name string
	line int // number of the first line
}

// lineOf gives the line of a row. Nothing counts lines while reading: this counts
// the line ends before the row.
func (t blockText) lineOf(b *ranking.Block, row int) int {
	return t.line + bytes.Count(b.Docs.Bytes[:b.Docs.Start[row]], []byte{'\n'})
}

// columns are the row columns of a block while they grow.
type columns struct {
	start, end []uint32
	score      []float64
	rank       []int32
	n          int
}

// reuse takes the memory of a block for at most rows rows.
func (c *columns) reuse(b *ranking.Block, rows int, ranked bool) {
	c.start = slices.Grow(b.Docs.Start[:0], rows)[:rows]
	c.end = slices.Grow(b.Docs.End[:0], rows)[:rows]
	c.score = slices.Grow(b.Score[:0], rows)[:rows]
	if ranked {
		c.rank = slices.Grow(b.Rank[:0], rows)[:rows]
	}
}

// parse fills a block from its text.
func (r *Reader) parse(b *ranking.Block, text []byte, line int, c *counted) error {
	p := parser{opt: &r.opt, of: &layouts[r.format], format: r.format, text: blockText{r.in.name, line}}
	p.rows.reuse(b, len(text)/p.of.shortest+1, p.of.rank >= 0)
	b.Queries.Bytes, b.Queries.Start, b.Queries.End = text, b.Queries.Start[:0], b.Queries.End[:0]
	b.Off = b.Off[:0]
	b.Doc, b.Sorted = nil, false
	var err error
	if r.format == TREC {
		err = p.fast(b, text, c)
	} else {
		err = p.plain(b, text, c)
	}
	n := p.rows.n
	b.Docs.Bytes, b.Docs.Start, b.Docs.End = text, p.rows.start[:n], p.rows.end[:n]
	b.Score, b.Rank = p.rows.score[:n], nil
	if p.of.rank >= 0 {
		b.Rank = p.rows.rank[:n]
	}
	b.Off = append(b.Off, int32(n))
	at := p.text
	b.Place = func(row int) string { return fmt.Sprintf("%s:%d", at.name, at.lineOf(b, row)) }
	c.Rows = int64(n)
	c.first = make([]int64, b.Len())
	number, pos := int64(line), 0
	for q, start := range b.Queries.Start {
		number += int64(bytes.Count(text[pos:start], []byte{'\n'}))
		c.first[q], pos = number, int(start)
	}
	return err
}

// parser reads the lines of one block.
type parser struct {
	opt     *Options
	of      *layout
	format  Format
	text    blockText
	rows    columns
	query   []byte // of the rows in hand, a view
	scratch []field
}

// plain reads every line by parseRow.
func (p *parser) plain(b *ranking.Block, text []byte, c *counted) error {
	for pos := 0; pos < len(text); {
		next, _, err := p.slow(b, text, pos, c)
		if err != nil {
			return err
		}
		pos = next
	}
	return nil
}

// slow reads the line at pos. prefix is the place of its document, 0 where the
// line holds no row.
func (p *parser) slow(b *ranking.Block, text []byte, pos int, c *counted) (next, prefix int, err error) {
	line, length := cutLine(text[pos:])
	next = pos + length
	if len(line) > MaxLine {
		return 0, 0, &FormatError{p.text.name, p.text.line + bytes.Count(text[:pos], []byte{'\n'}), 0, longLine.text}
	}
	if len(bytes.Trim(line, " \t")) == 0 || p.opt.Comments && line[0] == '#' {
		c.Blank++
		return next, 0, nil
	}
	r, fault := parseRow(line, p.of, p.opt, &p.scratch)
	if fault != nil {
		at := p.text.line + bytes.Count(text[:pos], []byte{'\n'})
		err := &FormatError{p.text.name, at, fault.column, fault.text}
		if !p.opt.Lenient {
			return 0, 0, err
		}
		if c.Skipped++; c.Fault == nil {
			c.Fault = err
		}
		return next, 0, nil
	}
	if r.forgiven {
		c.Forgiven++
	}
	if query := line[r.query.from:r.query.to]; p.query == nil || !bytes.Equal(query, p.query) {
		p.query = query
		b.Queries.Start = append(b.Queries.Start, uint32(pos+r.query.from))
		b.Queries.End = append(b.Queries.End, uint32(pos+r.query.to))
		b.Off = append(b.Off, int32(p.rows.n))
	}
	if p.format == Pairs {
		r.score = float64(int(b.Off[len(b.Off)-1]) - p.rows.n)
	}
	if p.of.tag >= 0 {
		c.tag = line[r.tag.from:r.tag.to]
	}
	n := p.rows.n
	p.rows.start[n], p.rows.end[n] = uint32(pos+r.document.from), uint32(pos+r.document.to)
	p.rows.score[n] = r.score
	if p.of.rank >= 0 {
		p.rows.rank[n] = r.rank
	}
	p.rows.n++
	return next, pos + r.document.from, nil
}

// short is a text of up to 16 bytes that can be compared with two loads.
type short struct {
	a, b, maskA, maskB uint64
	length             int // 0: none
}

// shortOf takes d[from:to]; 16 bytes must be readable at from.
func shortOf(d []byte, from, to int) (s short) {
	if n := to - from; n > 0 && n <= 16 {
		s.length = n
		s.maskA = ^uint64(0) >> (64 - 8*min(n, 8))
		if n > 8 {
			s.maskB = ^uint64(0) >> (64 - 8*(n-8))
		}
		s.a = binary.LittleEndian.Uint64(d[from:]) & s.maskA
		s.b = binary.LittleEndian.Uint64(d[from+8:]) & s.maskB
	}
	return s
}

// at says whether the text stands at d[i].
func (s *short) at(d []byte, i int) bool {
	w := d[i : i+16]
	return (binary.LittleEndian.Uint64(w)^s.a)&s.maskA|(binary.LittleEndian.Uint64(w[8:])^s.b)&s.maskB == 0
}

// control marks the bytes of w up to the space: white space and the control
// characters, none of which is usual in an identifier. Only the lowest mark is
// right.
func control(w uint64) uint64 {
	const each = 0x0101010101010101
	return (w - 0x21*each) &^ w & (0x80 * each)
}

// fast reads the lines of a TREC run. Each is tried as a repetition of the line
// before: the same query and second column, then a document, a rank in digits, a
// score that scanFloat reads, one tag. Every line that is anything else goes to
// slow, so that fast decides nothing by itself.
func (p *parser) fast(b *ranking.Block, text []byte, c *counted) error {
	d := text[:len(text)+padding]
	start, end, score, rank := p.rows.start, p.rows.end, p.rows.score, p.rows.rank
	var prefix, suffix short
	var long []byte // the prefix where it is longer
	n, pos := 0, 0
	tagFrom, tagTo := 0, 0
	for pos < len(text) {
		i := pos
		switch {
		case prefix.length > 0 && prefix.at(d, i):
			i += prefix.length
		case long != nil && bytes.HasPrefix(d[i:], long):
			i += len(long)
		default:
			goto slow
		}
		{
			from := i
			for {
				if m := control(binary.LittleEndian.Uint64(d[i:])); m != 0 {
					i += bits.TrailingZeros64(m) / 8
					break
				}
				i += 8
			}
			to := i
			if to == from || !isBlank(d[i]) || to-from > MaxID {
				goto slow
			}
			for i++; isBlank(d[i]); i++ {
			}
			digits, claimed := i, int32(0)
			for ; d[i]-'0' <= 9 && i-digits < 9; i++ {
				claimed = claimed*10 + int32(d[i]-'0')
			}
			if i == digits || !isBlank(d[i]) {
				goto slow
			}
			for i++; isBlank(d[i]); i++ {
			}
			value, next, ok := scanFloat(d, i)
			if i = next; !ok || !isBlank(d[i]) {
				goto slow
			}
			for i++; isBlank(d[i]); i++ {
			}
			if suffix.length > 0 && suffix.at(d, i) {
				i += suffix.length
			} else {
				tag := i
				for {
					if m := control(binary.LittleEndian.Uint64(d[i:])); m != 0 {
						i += bits.TrailingZeros64(m) / 8
						break
					}
					i += 8
				}
				tagFrom, tagTo = tag, i
				if d[i] == '\r' {
					i++
				}
				if tagTo == tag || d[i] != '\n' {
					goto slow
				}
				i++
				suffix = shortOf(d, tag, i)
			}
			if i-pos > MaxLine {
				goto slow
			}
			start[n], end[n] = uint32(from), uint32(to)
			score[n], rank[n] = value, claimed
			n++
			pos = i
			continue
		}
	slow:
		p.rows.n = n
		next, at, err := p.slow(b, text, pos, c)
		if err != nil {
			return err
		}
		if n = p.rows.n; at > 0 {
			tagFrom, tagTo = 0, 0 // slow noted the tag
			suffix = short{}
			prefix, long = shortOf(d, pos, at), nil
			if prefix.length == 0 {
				long = d[pos:at]
			}
		}
		pos = next
	}
	p.rows.n = n
	if tagTo > 0 {
		c.tag = text[tagFrom:tagTo]
	}
	return nil
}
