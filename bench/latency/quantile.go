package latency

import (
	"math"

	"encbench/metrics/stat"
)

// confidence is that of every interval.
const confidence = 0.95

// Ranks gives the places, counted from 1 in ascending order, of the two samples of n
// between which the p-quantile lies with at least 95 %: with B samples of n below the
// quantile, B is binomial, and each end errs with at most 2.5 % (David and Nagaraja,
// Order Statistics, 2003, section 7.1). ok is false where n is too small: an end would
// have to lie outside of the samples.
func Ranks(n int, p float64) (low, high int, ok bool) {
	tail := (1 - confidence) / 2
	// The greatest low with P(B < low) ≤ tail, the least high with P(B ≥ high) ≤ tail.
	low, sum := 0, 0.0
	for k := from(n, p); k < n; k++ {
		if sum += binomial(n, k, p); sum > tail {
			break
		}
		low = k + 1
	}
	high, sum = n+1, 0
	for k := n - from(n, 1-p); k > 0; k-- {
		if sum += binomial(n, k, p); sum > tail {
			break
		}
		high = k
	}
	return low, high, low >= 1 && high <= n
}

// from is a number of successes below which all probability together is under 1e-30:
// by Hoeffding's inequality P(B ≤ np − t) ≤ exp(−2t²/n).
func from(n int, p float64) int {
	return max(0, int(float64(n)*p-math.Sqrt(35*float64(n))))
}

// binomial is the probability of k successes among n.
func binomial(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// NeededForInterval is the number of samples from which on the p-quantile has an
// interval.
func NeededForInterval(p float64) int {
	tail := (1 - confidence) / 2
	return int(math.Ceil(math.Log(tail) / math.Log(max(p, 1-p))))
}

// Needed is the number of samples from which on the p-quantile is given as a figure:
// with 99 % confidence the share of queries beyond it is then 1−p to a twentieth of
// itself, MLPerf's rule, n = z² p (1−p) / ((1−p)/20)².
func Needed(p float64) int {
	z := stat.NormalQuantile(0.995)
	margin := (1 - p) / 20
	return int(math.Round(z * z * p * (1 - p) / (margin * margin)))
}

// quantile is the p-quantile of sorted samples: the least one that a share of p does
// not exceed.
func quantile(sorted []float64, p float64) float64 {
	// Note: 0.95 · 100 is a hair more than 95 in float64.
	at := int(math.Ceil(p*float64(len(sorted)) - 1e-9))
	return sorted[max(at, 1)-1]
}
