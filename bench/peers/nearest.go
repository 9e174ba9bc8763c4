package peers

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrRows is the cause when a peer found other rows than we did and rounding does
// not explain it: the times of the two must not be compared.
var ErrRows = errors.New("the peer's rows differ from ours by more than rounding")

// Difference is what a peer's exact search has other than ours.
type Difference struct {
	Queries int     // lists that differ in a place
	Sets    int     // of those, lists that hold another set of rows
	Gap     float64 // greatest distance of exact scores at the same place
	Bound   float64 // most that float32 sums explain
}

// String says it in words.
func (d Difference) String() string {
	if d.Queries == 0 {
		return "the peer's row numbers are ours"
	}
	return fmt.Sprintf("the peer's row numbers differ in %d queries (another set of rows in %d), exact scores at the same place by at most %.2g, of the %.2g that sums in float32 explain",
		d.Queries, d.Sets, d.Gap, d.Bound)
}

// Compare holds a peer's lists of row numbers against ours, queries lists of k
// each. exact gives the score of a query and a row without rounding to float32,
// and bound the greatest error of such a score as a peer computes it.
//
// A peer that selects by scores that are each within bound of the exact ones gives
// at every place a row whose exact score is within 2·bound of the right one's:
// sorting moves no place by more than the greatest single error. A greater gap is
// ErrRows, as is a row that a list holds twice or that does not exist.
func Compare(theirs, ours []int64, k int, rows int64, exact func(q int, row int64) float64, bound float64) (Difference, error) {
	d := Difference{Bound: 2 * bound}
	if len(theirs) != len(ours) || k < 1 || len(ours)%k != 0 {
		return d, fmt.Errorf("compare rows: %d and %d of them at k %d", len(theirs), len(ours), k)
	}
	for q := range len(ours) / k {
		a, b := theirs[q*k:(q+1)*k], ours[q*k:(q+1)*k]
		if slices.Equal(a, b) {
			continue
		}
		d.Queries++
		sorted := slices.Sorted(slices.Values(a))
		if sorted[0] < 0 || sorted[k-1] >= rows || len(slices.Compact(slices.Clone(sorted))) != k {
			return d, fmt.Errorf("%w: query %d: a row twice, or one that is not there", ErrRows, q)
		}
		if !slices.Equal(sorted, slices.Sorted(slices.Values(b))) {
			d.Sets++
		}
		for i := range a {
			if a[i] == b[i] {
				continue
			}
			gap := math.Abs(exact(q, a[i]) - exact(q, b[i]))
			if d.Gap = max(d.Gap, gap); !(gap <= d.Bound) {
				return d, fmt.Errorf("%w: query %d, place %d: row %d instead of %d, exact scores %g apart, %g explained", ErrRows, q, i+1, a[i], b[i], gap, d.Bound)
			}
		}
	}
	return d, nil
}

// DotBound is the greatest error of an inner product of two unit vectors that is
// summed in float32 in any order (Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.1: n·u/(1−n·u) times the sum of the absolute products,
// which is at most 1; a thousandth more for vectors whose length was rounded up).
func DotBound(dim int) float64 {
	const u = 1.0 / (1 << 24)
	n := float64(dim) * u
	return 1.001 * n / (1 - n)
}
