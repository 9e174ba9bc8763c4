package peers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Shape is how rows and queries of a made-up collection lie. All are unit vectors.
type Shape string

// The shapes.
const (
	// Gaussian rows and queries point anywhere.
	Gaussian Shape = "Gaussian"
	// Clustered rows lie around a thousand centres, queries around the same.
	Clustered Shape = "clustered"
	// Duplicated rows are a hundred vectors over and over, in turns.
	Duplicated Shape = "duplicated"
	// Sorted rows ascend in their product with one direction, around which all
	// queries lie: each row is better than those before it.
	Sorted Shape = "sorted"
)

const (
	clusters     = 1000
	distinctRows = 100
	spread       = 0.5 // length of the noise beside a centre of length 1
)

// Vectors makes rows and queries of a shape, end to end. The same arguments
// always give the same values.
func Vectors(shape Shape, rows, queries, dim int, seed uint64) (r, q []float32, err error) {
	if rows < 1 || queries < 1 || dim < 1 {
		return nil, nil, fmt.Errorf("make vectors: %d rows, %d queries, %d dimensions, want at least 1 of each", rows, queries, dim)
	}
	r, q = make([]float32, rows*dim), make([]float32, queries*dim)
	// Streams of their own for rows, queries and centres.
	vector := func(kind, i int, dst []float32) {
		gaussian(rand.New(rand.NewPCG(seed<<8|uint64(kind), uint64(i))), dst)
	}
	around := func(kind, i, centre int, dst []float32) {
		middle := make([]float32, dim)
		vector(2, centre, middle)
		vector(kind, i, dst)
		for j := range dst {
			dst[j] = middle[j] + spread*dst[j]
		}
		normalize(dst)
	}
	fill := func(kind, i int, dst []float32) { vector(kind, i, dst) }
	switch shape {
	case Gaussian:
	case Clustered:
		fill = func(kind, i int, dst []float32) { around(kind, i, i%clusters, dst) }
	case Duplicated:
		fill = func(kind, i int, dst []float32) {
			if kind == 0 {
				i %= distinctRows
			}
			vector(kind, i, dst)
		}
	case Sorted:
		fill = func(kind, i int, dst []float32) {
			if kind == 0 {
				vector(kind, i, dst)
			} else {
				around(kind, i, 0, dst)
			}
		}
	default:
		return nil, nil, fmt.Errorf("make vectors: unknown shape %q", shape)
	}
	each(rows, func(i int) { fill(0, i, r[i*dim:(i+1)*dim]) })
	each(queries, func(i int) { fill(1, i, q[i*dim:(i+1)*dim]) })
	if shape == Sorted {
		direction := make([]float32, dim)
		vector(2, 0, direction)
		r = ascending(r, direction)
	}
	return r, q, nil
}

// each calls f for 0 to n−1 from two goroutines.
func each(n int, f func(i int)) {
	const workers = 2
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

func gaussian(r *rand.Rand, dst []float32) {
	for i := range dst {
		dst[i] = float32(r.NormFloat64())
	}
	normalize(dst)
}

func normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}

// ascending gives the rows of v by their product with direction.
func ascending(v, direction []float32) []float32 {
	dim := len(direction)
	type place struct {
		row   int
		value float64
	}
	order := make([]place, len(v)/dim)
	for i := range order {
		order[i].row = i
		for j, x := range v[i*dim : (i+1)*dim] {
			order[i].value += float64(x) * float64(direction[j])
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.row, b.row))
	})
	out := make([]float32, 0, len(v))
	for _, o := range order {
		out = append(out, v[o.row*dim:(o.row+1)*dim]...)
	}
	return out
}
