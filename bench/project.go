package bench

import "encbench/engine"

// ProjectionFormula is how docs/s of a corpus follows from timed chunks.
const ProjectionFormula = "documents ÷ Σ over length buckets (chunks in the corpus × seconds per chunk)"

// project fills DocsPerS and TextBytes of every sample: documents ÷ Σ over length
// buckets of (rows of the corpus × wall seconds per row of the sample). A bucket's
// seconds per row are the sample's wall time shared out by worker time, so for a
// pass over the whole corpus the result is documents ÷ wall, exactly. A sample
// that saw no row of a bucket takes the bucket's cost from all samples together,
// and a bucket that none saw is priced from its neighbours. While the corpus is
// not known yet (a stream), docs/s is what was counted.
func project(samples []Sample, corpusRows []int64, documents, textBytes int64) {
	pooled := pooledCosts(samples)
	for i := range samples {
		s := &samples[i]
		share := wallPerBusy(*s)
		var total float64
		for b, n := range corpusRows {
			switch {
			case n == 0:
			case s.Rows[b] > 0:
				total += float64(n) * s.BusyS[b] * share / float64(s.Rows[b])
			default:
				total += float64(n) * pooled[b]
			}
		}
		s.DocsPerS = s.per(float64(s.Docs))
		if total > 0 && documents > 0 {
			s.DocsPerS = float64(documents) / total
			s.TextBytes = int64(float64(textBytes) * s.WallS / total)
		}
	}
}

// pooledCosts gives the wall seconds per row of every bucket over all samples.
// Buckets without a row are interpolated in the length of their rows between the
// nearest that have one, and beyond those taken in proportion to length: a row's
// work grows a little faster than its length, so an error of that is small
// between neighbours.
func pooledCosts(samples []Sample) [engine.Buckets]float64 {
	var rows [engine.Buckets]int64
	var cost [engine.Buckets]float64
	for _, s := range samples {
		share := wallPerBusy(s)
		for b := range s.Rows {
			rows[b] += s.Rows[b]
			cost[b] += s.BusyS[b] * share
		}
	}
	known := func(b int) bool { return b >= 0 && b < engine.Buckets && rows[b] > 0 }
	for b := range cost {
		if rows[b] > 0 {
			cost[b] /= float64(rows[b])
		}
	}
	for b := range cost {
		if rows[b] > 0 {
			continue
		}
		low, high := b-1, b+1
		for low >= 0 && !known(low) {
			low--
		}
		for high < engine.Buckets && !known(high) {
			high++
		}
		switch {
		case known(low) && known(high):
			t := (midLength(b) - midLength(low)) / (midLength(high) - midLength(low))
			cost[b] = cost[low] + t*(cost[high]-cost[low])
		case known(low):
			cost[b] = cost[low] * midLength(b) / midLength(low)
		case known(high):
			cost[b] = cost[high] * midLength(b) / midLength(high)
		}
	}
	return cost
}

// midLength is the length in tokens that stands for a bucket's rows.
func midLength(b int) float64 {
	top := engine.BucketTop(b)
	if top == 0 {
		return 2 * float64(engine.BucketTop(b-1))
	}
	if b == 0 {
		return float64(top) / 2
	}
	return float64(engine.BucketTop(b-1)+top) / 2
}

// wallPerBusy is the wall seconds that one worker second stands for.
func wallPerBusy(s Sample) float64 {
	var busy float64
	for _, b := range s.BusyS {
		busy += b
	}
	if busy == 0 {
		return 0
	}
	return s.WallS / busy
}
