package cpu

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math"
)

const (
	// meanSample is how many rows the mean is taken of: any vector is right as a
	// centre, so a sample does.
	meanSample = 4096
	// regrown is the growth of the rows from which they are centred anew.
	regrown = 4
	// encodePanels is how many panels are encoded between looks at the context.
	encodePanels = 16
)

// index is what a scan needs beside the rows. Equal rows share a slot; slots ascend
// with the first of their rows.
type index struct {
	rows  int      // that are in it
	first []uint32 // of each slot: its first row
	last  []uint32 // of each slot
	next  []uint32 // of each row: the next equal row + 1, 0 = none; nil = no two are equal
	owner []uint32 // of each slot, of its first row; nil like store.owner
	seed  maphash.Seed
	hash  []uint64 // of each slot
	table []uint32 // open addressing by hash: slot + 1

	centred  int // slots when the mean was taken
	mean     []float64
	meanNorm float64
	codes    [2]codes // of 8 and 16 bits
}

// codes are the panels of one width; see search_codes.h.
type codes struct {
	slots  int
	data   []byte
	totals [3]float64 // sums of norms and residuals, greatest norm
}

// panels gives their number.
func (c *codes) panels(sc *scanner) int { return (c.slots + sc.rows - 1) / sc.rows }

// panelBytes is the size of a panel: codes in steps of four bytes, four floats a row.
func (sc *scanner) panelBytes(dim int) int {
	return sc.rows * (sc.steps(dim)*4 + 16)
}

// steps is the number of four-byte steps of a code.
func (sc *scanner) steps(dim int) int {
	each := 32 / sc.bits
	return (dim + each - 1) / each
}

// Build prepares the rows appended so far for searches. Search does it when it has
// to; calling Build first keeps its time apart. It costs about a pass over the rows
// and a byte a value (two without VNNI).
func (s *Searcher) Build(ctx context.Context) error {
	sc := s.kernels.int8
	if sc == nil || s.opt.Path == PathInt16 {
		sc = s.kernels.int16
	}
	if sc == nil || s.opt.Path == PathExact {
		return nil
	}
	if err := s.prepare(ctx, sc); err != nil {
		return fmt.Errorf("prepare %d rows for searches: %w", s.rows.n, err)
	}
	return nil
}

// prepare brings the codes of a scanner up to date.
func (s *Searcher) prepare(ctx context.Context, sc *scanner) error {
	s.build.Lock()
	defer s.build.Unlock()
	if err := s.match(ctx); err != nil {
		return err
	}
	x := &s.index
	if len(x.first) >= regrown*x.centred && x.centred < len(x.first) {
		s.centre()
	}
	return s.encode(ctx, sc, &x.codes[sc.bits/16])
}

// match gives the rows that are new a slot each, or that of an equal row.
func (s *Searcher) match(ctx context.Context) error {
	x, r := &s.index, &s.rows
	if x.rows == r.n {
		return nil
	}
	if x.rows == 0 {
		x.seed = maphash.MakeSeed()
	}
	hash := make([]uint64, r.n-x.rows)
	const run = 1024
	err := s.parallel(ctx, (len(hash)+run-1)/run, func(job int, _ *worker) error {
		for i := job * run; i < min((job+1)*run, len(hash)); i++ {
			hash[i] = maphash.Bytes(x.seed, r.bytes(x.rows+i))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, h := range hash {
		x.place(r, uint32(x.rows+i), h)
	}
	x.rows = r.n
	x.owner = nil
	if r.owner != nil {
		x.owner = make([]uint32, len(x.first))
		for slot, row := range x.first {
			x.owner[slot] = r.owner[row]
		}
	}
	return nil
}

// place gives a row its slot.
func (x *index) place(r *store, row uint32, hash uint64) {
	if 2*(len(x.first)+1) > len(x.table) {
		x.table = make([]uint32, max(1024, 4*len(x.first)))
		for slot, h := range x.hash {
			i := int(h % uint64(len(x.table)))
			for x.table[i] != 0 {
				i = (i + 1) % len(x.table)
			}
			x.table[i] = uint32(slot) + 1
		}
	}
	if x.next != nil {
		x.next = append(x.next, 0)
	}
	i := int(hash % uint64(len(x.table)))
	for ; x.table[i] != 0; i = (i + 1) % len(x.table) {
		slot := x.table[i] - 1
		if first := x.first[slot]; x.hash[slot] == hash && r.equal(int(first), int(row)) {
			if x.next == nil {
				x.next = make([]uint32, row+1, r.n)
			}
			x.next[x.last[slot]] = row + 1
			x.last[slot] = row
			return
		}
	}
	x.table[i] = uint32(len(x.first)) + 1
	x.first, x.last, x.hash = append(x.first, row), append(x.last, row), append(x.hash, hash)
}

// equal says whether two rows are stored alike.
func (s *store) equal(a, b int) bool {
	return bytes.Equal(s.bytes(a), s.bytes(b)) && (s.elem != StoreInt8 || s.scale[a] == s.scale[b])
}

// factor is what a row is multiplied with before its code is made: Cosine encodes
// rows of norm 1.
func (s *store) factor(row int) float64 {
	if s.norm == nil {
		return 1
	}
	if s.norm[row] == 0 {
		return 0
	}
	return 1 / s.norm[row]
}

// centre takes the mean of the rows and drops the codes that another one made.
func (s *Searcher) centre() {
	x := &s.index
	x.mean, x.centred, x.codes = make([]float64, s.opt.Dim), len(x.first), [2]codes{}
	buf := make([]float32, s.opt.Dim)
	step := max(1, len(x.first)/meanSample)
	var n float64
	for slot := 0; slot < len(x.first); slot += step {
		row := int(x.first[slot])
		f := s.rows.factor(row)
		for j, v := range s.rows.values(buf, row) {
			x.mean[j] += float64(v) * f
		}
		n++
	}
	var square float64
	for j := range x.mean {
		x.mean[j] /= n
		square += x.mean[j] * x.mean[j]
	}
	x.meanNorm = math.Sqrt(square)
}

// encode makes the panels of the slots that have none.
func (s *Searcher) encode(ctx context.Context, sc *scanner, c *codes) error {
	x, dim := &s.index, s.opt.Dim
	if c.slots == len(x.first) {
		return nil
	}
	size, begun := sc.panelBytes(dim), c.slots/sc.rows
	grown := codes{slots: len(x.first), totals: c.totals}
	panels := grown.panels(sc)
	grown.data = make([]byte, panels*size)
	copy(grown.data, c.data[:begun*size])
	jobs := (panels - begun + encodePanels - 1) / encodePanels
	totals := make([][3]float64, jobs)
	err := s.parallel(ctx, jobs, func(job int, w *worker) error {
		rows, factor := make([]float32, sc.rows*dim), make([]float64, sc.rows)
		scratch := make([]float64, dim+8)
		for p := begun + job*encodePanels; p < min(panels, begun+(job+1)*encodePanels); p++ {
			from, to := p*sc.rows, min((p+1)*sc.rows, len(x.first))
			for slot := from; slot < to; slot++ {
				row, at := int(x.first[slot]), rows[(slot-from)*dim:(slot-from+1)*dim]
				copy(at, s.rows.values(at, row))
				factor[slot-from] = s.rows.factor(row)
			}
			sc.encode(grown.data[p*size:(p+1)*size], rows, factor, to-from, x.mean, x.meanNorm, s.opt.Metric == L2, scratch, &totals[job])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range totals {
		grown.totals[0] += t[0]
		grown.totals[1] += t[1]
		grown.totals[2] = max(grown.totals[2], t[2])
	}
	*c = grown
	return nil
}
