package cpu

import "encbench/engine"

// kernels are the inner loops for one instruction set.
type kernels struct {
	name        string
	int8, int16 *scanner // nil where there is no instruction for it
	dot64       func(a, b []float32) float64
	// finite says whether a row has neither NaN nor infinity.
	finite func(r engine.Rows, row int) bool
	// tile scores rows × queries by the rule: dst[i·rows+j] is query query+i with row
	// row+j. The rows lie in one segment.
	tile func(dst []float32, s *store, row, rows int, q *queries, query, n int)
	// pairs scores the pairs by the rule; their rows lie in one segment.
	pairs func(dst []float32, pairs []pair, s *store, q *queries)
	// rank gives a value that at least rank of the bounds, or of their slots'
	// documents, reach; −Inf where there are too few.
	rank func(upper []float32, slot []uint32, rank int, owner, marks []uint32) float32
}

// pair is a query and a row by their numbers; C knows its layout.
type pair struct{ query, row uint32 }

// scanner encodes rows and scans their codes; search_codes.h and search_scan.h
// define both.
type scanner struct {
	bits   int // of a code: 8 or 16
	rows   int // of a panel
	encode func(panel []byte, x []float32, factor []float64, n int, mean []float64, meanNorm float64, l2 bool, scratch []float64, totals *[3]float64)
	run    func(s *scan, c *codes, dim, first, step, count int, q []byte, owner, marks []uint32)
}

// has says whether a path can be taken.
func (k *kernels) has(p Path) bool {
	switch p {
	case PathInt16:
		return k.int16 != nil
	case PathInt8:
		return k.int8 != nil
	}
	return true
}

// plainKernels are those in Go.
var plainKernels = &kernels{name: "go", dot64: engine.Dot64, finite: rowFinite, tile: tileGo}

// tileGo is the twin of the exact tiles.
func tileGo(dst []float32, s *store, row, rows int, q *queries, query, n int) {
	buf := make([]float32, s.opt.Dim)
	for j := range rows {
		x := s.values(buf, row+j)
		for i := range n {
			dst[i*rows+j] = pairGo(s, x, row+j, q, query+i)
		}
	}
}

// pairGo is Metric.Score with the norms at hand.
func pairGo(s *store, x []float32, row int, q *queries, query int) float32 {
	switch s.opt.Metric {
	case Cosine:
		norms := q.norm[query] * s.norm[row]
		if norms == 0 {
			return 0
		}
		return float32(engine.Dot64(q.row(query), x) / norms)
	case L2:
		return float32(0 - engine.SquaredDistance(q.row(query), x))
	}
	return engine.Dot(q.row(query), x)
}
