package latency

import (
	"slices"

	"encbench/bench"
)

func median(xs []float64) float64 { return bench.Median(xs) }

// newSeries summarizes samples, which it keeps.
func newSeries(samples []float64) Series {
	s := Series{N: len(samples), Samples: samples}
	if s.N == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(samples))
	s.Median, s.Min, s.Max = median(samples), sorted[0], sorted[s.N-1]
	for _, x := range samples {
		s.Mean += x / float64(s.N)
	}
	s.Drift, s.Outliers = bench.Drift(samples), len(bench.Outliers(samples))
	for _, p := range percentiles {
		s.Percentiles = append(s.Percentiles, newPercentile(sorted, p))
	}
	return s
}

// newPercentile gives the p-quantile of sorted samples as far as their number allows.
func newPercentile(sorted []float64, p float64) Percentile {
	out := Percentile{P: 100 * p, ForFigure: Needed(p), ForInterval: NeededForInterval(p)}
	if p == 0.5 {
		// Half of the samples speak for a median: it needs no more than its interval does.
		out.ForFigure = out.ForInterval
	}
	if low, high, ok := Ranks(len(sorted), p); ok {
		out.Low, out.High = &sorted[low-1], &sorted[high-1]
	}
	if len(sorted) >= out.ForFigure {
		v := quantile(sorted, p)
		if p == 0.5 {
			v = median(sorted)
		}
		out.Value = &v
	}
	return out
}
