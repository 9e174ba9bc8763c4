package engine

import "context"

// Before is the only statement of selection order: a hit comes before another
// when its score is greater, or equal with a lower row. Scores are numbers, never
// NaN.
func Before(scoreA float32, rowA int64, scoreB float32, rowB int64) bool {
	return scoreA > scoreB || scoreA == scoreB && rowA < rowB
}

// Searcher finds the best rows for a query, exactly. The score of a query and a
// row is defined by [Dot] and the rules of the backend's metric; two backends
// give the same rows and the same score bits at the same row type.
//
// Append and Search may not run at the same time as each other; a Searcher says
// in its own comment whether several Searches may.
type Searcher interface {
	// Append adds rows, numbered from base on; blocks arrive in ascending order.
	// The rows are copied, or kept where the backend says so. owner, parallel to
	// the rows, names each row's document: a search then gives the best row of each
	// document and no second one. A nil owner makes every row a document of its
	// own. A NaN or infinity is refused with the number of its row, and nothing of
	// the block is added.
	Append(ctx context.Context, base int64, owner []int32, r Rows) error
	// Search fills dst with the k best rows of each query, best first by Before,
	// fewer when there are fewer rows or documents.
	Search(ctx context.Context, q Rows, k int, dst *Hits) error
	// Close frees everything.
	Close() error
}

// Hits is the outcome of a search: K places for each query, best first. A place
// that nothing filled has Row −1.
type Hits struct {
	Queries, K int
	Row        []int64   // Queries × K
	Score      []float32 // parallel to Row
}

// Reset gives h places for queries × k hits, all empty, and keeps its memory.
func (h *Hits) Reset(queries, k int) {
	h.Queries, h.K = queries, k
	n := queries * k
	if cap(h.Row) < n || cap(h.Score) < n {
		h.Row, h.Score = make([]int64, n), make([]float32, n)
	}
	h.Row, h.Score = h.Row[:n], h.Score[:n]
	for i := range h.Row {
		h.Row[i] = -1
	}
	clear(h.Score)
}

// Query gives the hits of one query, views without the empty places.
func (h *Hits) Query(q int) (rows []int64, scores []float32) {
	rows, scores = h.Row[q*h.K:(q+1)*h.K], h.Score[q*h.K:(q+1)*h.K]
	for n, row := range rows {
		if row < 0 {
			return rows[:n], scores[:n]
		}
	}
	return rows, scores
}

// Merge makes h the best K of both, query by query: what one search over the
// rows of both would have found. They must have the same number of queries, and
// no row and no document in common; src may have another K, and a merge is exact
// only up to the smaller one.
func (h *Hits) Merge(src *Hits) {
	if h.Queries != src.Queries {
		panic("engine: merge of hits for different queries")
	}
	row, score := make([]int64, h.K), make([]float32, h.K)
	for q := range h.Queries {
		rowsA, scoresA := h.Query(q)
		rowsB, scoresB := src.Query(q)
		a, b := 0, 0
		for n := range row {
			switch {
			case a < len(rowsA) && (b == len(rowsB) || Before(scoresA[a], rowsA[a], scoresB[b], rowsB[b])):
				row[n], score[n] = rowsA[a], scoresA[a]
				a++
			case b < len(rowsB):
				row[n], score[n] = rowsB[b], scoresB[b]
				b++
			default:
				row[n], score[n] = -1, 0
			}
		}
		copy(h.Row[q*h.K:], row)
		copy(h.Score[q*h.K:], score)
	}
}

// Dot is the one summation rule: products in float64, where those of two float32
// are exact, added in eight lanes by index mod 8, the lanes in a fixed tree, and
// the sum rounded once. With exact products it makes no difference whether a
// compiler fuses multiply and add, so Go, C and CUDA agree bit for bit.
func Dot(a, b []float32) float32 { return float32(Dot64(a, b)) }

// Dot64 is Dot before its rounding.
func Dot64(a, b []float32) float64 {
	var lane [8]float64
	b = b[:len(a)]
	for i, v := range a {
		lane[i%8] += float64(v) * float64(b[i])
	}
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}
