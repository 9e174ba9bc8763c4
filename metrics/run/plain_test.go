package run

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"math/big"
	"sort"
	"strings"
	"testing"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// list is a query with its rows, the plain form of what a file holds.
type list struct {
	query string
	rows  []row
}

type row struct {
	doc   string
	score float64
}

// block lays lists out as a reader of text would.
func block(lists []list) *ranking.Block {
	b := &ranking.Block{Off: []int32{0}}
	for _, l := range lists {
		b.Queries.Append([]byte(l.query))
		for _, r := range l.rows {
			b.Docs.Append([]byte(r.doc))
			b.Score = append(b.Score, r.score)
		}
		b.Off = append(b.Off, int32(len(b.Score)))
	}
	return b
}

// coded is block with a document dictionary, in the order of first occurrence.
func coded(lists []list) *ranking.Block {
	b := block(lists)
	docs := b.Docs
	b.Docs, b.Doc = ranking.IDs{}, []int32{}
	code := map[string]int32{}
	for r := range docs.Len() {
		id := string(docs.At(r))
		if _, ok := code[id]; !ok {
			code[id] = int32(len(code))
			b.Docs.Append([]byte(id))
		}
		b.Doc = append(b.Doc, code[id])
	}
	return b
}

// lists spells a block out.
func lists(b *ranking.Block) []list {
	var out []list
	for q := range b.Queries.Len() {
		l := list{query: string(b.Queries.At(q))}
		for r := b.Off[q]; r < b.Off[q+1]; r++ {
			l.rows = append(l.rows, row{string(b.DocAt(int(r))), b.Score[r]})
		}
		out = append(out, l)
	}
	return out
}

// trecOrder is the order of rows by its definition.
func trecOrder(in []list) []list {
	var out []list
	for _, l := range in {
		rows := append([]row(nil), l.rows...)
		sort.SliceStable(rows, func(i, j int) bool {
			if rows[i].score != rows[j].score {
				return rows[i].score > rows[j].score
			}
			return rows[i].doc > rows[j].doc
		})
		out = append(out, list{l.query, rows})
	}
	return out
}

// same compares two sets of lists with scores by their bits.
func same(t testing.TB, got, want []list) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d queries, want %d", len(got), len(want))
	}
	for q, w := range want {
		g := got[q]
		if g.query != w.query || len(g.rows) != len(w.rows) {
			t.Fatalf("query %d is %q with %d rows, want %q with %d", q, g.query, len(g.rows), w.query, len(w.rows))
		}
		for r, want := range w.rows {
			if got := g.rows[r]; got.doc != want.doc || math.Float64bits(got.score) != math.Float64bits(want.score) {
				t.Fatalf("query %q row %d is %q %v (%016x), want %q %v (%016x)", w.query, r,
					got.doc, got.score, math.Float64bits(got.score), want.doc, want.score, math.Float64bits(want.score))
			}
		}
	}
}

// plainFile is the twin of Reader: it reads a whole file by the description of the
// format, a bit and a byte at a time, with numbers that cannot overflow.
type plainFile struct {
	t *testing.T
	b []byte
}

func (p *plainFile) take(n int) []byte {
	p.t.Helper()
	if n > len(p.b) {
		p.t.Fatalf("plain: %d bytes wanted, %d left", n, len(p.b))
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *plainFile) uint(bytes int) uint64 {
	v := uint64(0)
	for i, c := range p.take(bytes) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

func (p *plainFile) bits(n, width int) []uint64 {
	raw := p.take((n*width + 7) / 8)
	out := make([]uint64, n)
	for i := range out {
		for bit := range width {
			at := i*width + bit
			out[i] |= uint64(raw[at/8]>>(at%8)&1) << bit
		}
	}
	return out
}

func (p *plainFile) packed(n int) []uint64 {
	var out []uint64
	widths := p.take((n + 31) / 32)
	for i, w := range widths {
		out = append(out, p.bits(min(32, n-32*i), int(w))...)
	}
	return out
}

func (p *plainFile) text(size, stored int, compressed bool) string {
	b := p.take(stored)
	if compressed {
		z, err := zstd.NewReader(bytes.NewReader(b))
		if err != nil {
			p.t.Fatal(err)
		}
		defer z.Close()
		var out bytes.Buffer
		if _, err := out.ReadFrom(z); err != nil {
			p.t.Fatal(err)
		}
		b = out.Bytes()
	}
	if len(b) != size {
		p.t.Fatalf("plain: text of %d bytes, want %d", len(b), size)
	}
	return string(b)
}

// readPlain gives everything in a file.
func readPlain(t *testing.T, file []byte) []list {
	t.Helper()
	p := &plainFile{t, file}
	p.take(8)
	p.take(int(p.uint(4)) + 4)
	var all []list
	for string(p.b[:4]) == "EBfr" {
		p.take(4)
		payload, _, queries, rows, docs := int(p.uint(4)), p.uint(4), int(p.uint(4)), int(p.uint(4)), int(p.uint(4))
		if p.uint(8) != uint64(len(all)) {
			t.Fatal("plain: queries before")
		}
		p.uint(8)
		if want := crc32.Checksum(p.b[8:8+payload], crc32.MakeTable(crc32.Castagnoli)); uint32(p.uint(4)) != want {
			t.Fatal("plain: checksum of payload")
		}
		p.uint(4)
		f := &plainFile{t, p.take(payload)}
		all = append(all, f.frame(queries, rows, docs)...)
		if len(f.b) > 0 {
			t.Fatalf("plain: %d bytes left in a frame", len(f.b))
		}
	}
	return all
}

func (p *plainFile) frame(queries, rows, docs int) []list {
	dict, digits, kind, exponent, flags := p.uint(1), int(p.uint(1)), p.uint(1), p.uint(1), p.uint(1)
	p.take(3)
	base := p.uint(8)
	prefixSize, queryText, queryStored := int(p.uint(4)), int(p.uint(4)), int(p.uint(4))
	docText, docStored, docSize := int(p.uint(4)), int(p.uint(4)), int(p.uint(4))
	prefix := string(p.take(prefixSize))

	out := make([]list, queries)
	sizes := p.packed(queries)
	text := p.text(queryText, queryStored, flags&2 != 0)
	for q, n := range sizes {
		out[q].query, text = text[:n], text[n:]
	}
	last, counts := int64(0), make([]int, queries)
	for q, v := range p.packed(queries) {
		last += unzigzag(v)
		counts[q] = int(last)
	}

	var ids []string
	numbers := p.packed(docs)
	if dict == 1 {
		strips := p.text(docText, docStored, flags&4 != 0)
		n := uint64(0)
		for _, gap := range numbers {
			n += gap
			id := ""
			if digits > 0 {
				id = fmt.Sprintf("%0*d", digits, n)
			}
			if n%10 == 0 {
				id, strips = id[:len(id)-int(strips[0])], strips[1:]
			}
			ids = append(ids, prefix+id)
		}
	} else {
		lengths := p.packed(docs)
		rest := p.text(docText, docStored, flags&4 != 0)
		id := ""
		for i, same := range numbers {
			id, rest = id[:same]+rest[:lengths[i]], rest[lengths[i]:]
			ids = append(ids, id)
		}
	}
	if !sort.StringsAreSorted(ids) || len(strings.Join(ids, "")) != docSize {
		p.t.Fatalf("plain: dictionary %q", ids)
	}

	width := 0
	for 1<<width < docs {
		width++
	}
	codes := p.bits(rows, width)
	lists := 0
	for _, n := range counts {
		if n > 0 {
			lists++
		}
	}
	firsts := p.packed(lists)
	steps := p.packed(rows - lists)
	for q, n := range counts {
		var v uint64
		for i := range n {
			if i == 0 {
				v, firsts = base+firsts[0], firsts[1:]
			} else {
				step := steps[0]
				steps = steps[1:]
				if flags&1 != 0 {
					step = uint64(unzigzag(step))
				}
				v -= step
			}
			out[q].rows = append(out[q].rows, row{ids[codes[0]], plainScore(kind, int(exponent), v)})
			codes = codes[1:]
		}
	}
	return out
}

func plainScore(kind uint64, exponent int, v uint64) float64 {
	switch kind {
	case scoreF64:
		if v>>63 == 1 {
			return math.Float64frombits(v &^ (1 << 63))
		}
		return math.Float64frombits(^v)
	case scoreDecimal:
		r := new(big.Rat).SetFrac(big.NewInt(int64(v-1<<63)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil))
		f, _ := r.Float64()
		return f
	}
	f := math.Float32frombits(^uint32(v))
	if v>>31 == 1 {
		f = math.Float32frombits(uint32(v) &^ (1 << 31))
	}
	if kind == scoreShort {
		var s float64
		fmt.Sscan(fmt.Sprint(f), &s)
		return s
	}
	return float64(f)
}
