package bench

import (
	"math"
	"slices"
)

// exactRanks is the largest product of the two sample counts for which the
// Mann-Whitney distribution is enumerated.
const exactRanks = 2500

// MannWhitney gives the U statistic of a and the two-sided p-value of the
// Mann-Whitney U test that a and b come from one distribution (Mann and Whitney,
// On a Test of Whether one of Two Random Variables is Stochastically Larger than
// the Other, 1947). Without ties and up to 50 × 50 samples p is exact; otherwise
// it is the normal approximation with tie and continuity correction. An empty arm
// or a value that is not finite gives p = 1.
func MannWhitney(a, b []float64) (u, p float64) {
	if len(a) == 0 || len(b) == 0 || !finite(a) || !finite(b) {
		return 0, 1
	}
	rankSum, tieTerm := rank(a, b)
	na, nb := float64(len(a)), float64(len(b))
	u = rankSum - na*(na+1)/2
	low := min(u, na*nb-u)
	if tieTerm == 0 && len(a)*len(b) <= exactRanks {
		return u, min(1, 2*lowerTail(min(len(a), len(b)), max(len(a), len(b)), int(low)))
	}
	n := na + nb
	variance := na * nb / 12 * (n + 1 - tieTerm/(n*(n-1)))
	if variance <= 0 {
		return u, 1 // all values are equal
	}
	z := (na*nb/2 - low - 0.5) / math.Sqrt(variance)
	return u, min(1, math.Erfc(z/math.Sqrt2))
}

// rank gives the sum of the mid-ranks of a in the pooled samples and Σ t³-t over
// the groups of t equal values.
func rank(a, b []float64) (sum, ties float64) {
	type value struct {
		x    float64
		ours bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, x := range a {
		all = append(all, value{x, true})
	}
	for _, x := range b {
		all = append(all, value{x, false})
	}
	slices.SortFunc(all, func(v, w value) int {
		switch {
		case v.x < w.x:
			return -1
		case v.x > w.x:
			return 1
		}
		return 0
	})
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].x == all[i].x {
			end++
		}
		mid := float64(i+1+end) / 2
		for _, v := range all[i:end] {
			if v.ours {
				sum += mid
			}
		}
		t := float64(end - i)
		ties += t*t*t - t
		i = end
	}
	return sum, ties
}

// lowerTail is P(U <= u) for sample counts m and n when both come from one
// distribution. The largest value of the pool is one of the m with probability
// m/(m+n) and then beats all n; that recurrence, P(m,n,u) = m/(m+n) P(m-1,n,u-n) +
// n/(m+n) P(m,n-1,u), is Mann and Whitney's own. It only adds, so small tails keep
// their digits.
func lowerTail(m, n, u int) float64 {
	// row[j] is the distribution of U up to u for i and j samples.
	row := make([][]float64, n+1)
	for j := range row {
		row[j] = make([]float64, u+1)
		row[j][0] = 1 // no samples on one side: U is 0
	}
	for i := 1; i <= m; i++ {
		for j := 1; j <= n; j++ {
			ours := float64(i) / float64(i+j)
			// Downwards: row[j][k-j] must still belong to i-1.
			for k := u; k >= 0; k-- {
				p := (1 - ours) * row[j-1][k]
				if k >= j {
					p += ours * row[j][k-j]
				}
				row[j][k] = p
			}
		}
	}
	var tail float64
	for _, p := range row[n] {
		tail += p
	}
	return tail
}
