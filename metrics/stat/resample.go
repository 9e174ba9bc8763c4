package stat

import "sync"

// spread calls do for parts of 0..n on up to threads goroutines and waits.
func spread(n, threads int, do func(from, to int)) {
	threads = max(1, min(threads, n))
	var wg sync.WaitGroup
	for t := range threads {
		wg.Go(func() { do(n*t/threads, n*(t+1)/threads) })
	}
	wg.Wait()
}

// drawSums fills out[r] with the sum of len(values) of the values, drawn with
// replacement by stream r, and where count is not nil drawn[r] with the sum of
// their counts. A word makes two draws, each by multiplying 32 bits with the number
// of values: a value's share is off by less than len(values)/2^32 of itself.
// drawSumsPlain is its twin.
func drawSums(values, count []int64, seed uint64, threads int, out, drawn []int64) {
	n := uint64(len(values))
	spread(len(out), threads, func(from, to int) {
		for r := from; r < to; r++ {
			key := streamKey(seed, purposeBootstrap, r)
			var a, b, ca, cb int64
			x := key
			for range len(values) / 2 {
				x += golden
				w := mix(x)
				i, j := w>>32*n>>32, w&0xffffffff*n>>32
				a += values[i]
				b += values[j]
				if count != nil {
					ca += count[i]
					cb += count[j]
				}
			}
			if len(values)%2 == 1 {
				i := mix(x+golden) >> 32 * n >> 32
				a += values[i]
				if count != nil {
					ca += count[i]
				}
			}
			out[r] = a + b
			if count != nil {
				drawn[r] = ca + cb
			}
		}
	})
}

// flipSums fills out[r] with the sum of the values, each with the sign that a bit
// of stream r gives it: bit i%64 of word i/64, set for minus. For each word's 64
// values it tabulates the sums of 8 under all 256 patterns, 16 KiB, then goes
// through the replicates: eight additions for 64 values. flipSumsPlain is its twin.
func flipSums(values []int64, seed uint64, threads int, out []int64) {
	spread(len(out), threads, func(from, to int) {
		keys := make([]uint64, to-from)
		for i := range keys {
			keys[i] = streamKey(seed, purposeFlip, from+i)
		}
		sums := out[from:to]
		clear(sums)
		var tab [8][256]int64
		for j := 0; j*64 < len(values); j++ {
			for k := range tab {
				lo := min(len(values), j*64+8*k)
				patterns(&tab[k], values[lo:min(len(values), lo+8)])
			}
			step := uint64(j+1) * golden
			for r, key := range keys {
				w := mix(key + step)
				sums[r] += tab[0][w&255] + tab[1][w>>8&255] + tab[2][w>>16&255] + tab[3][w>>24&255] +
					tab[4][w>>32&255] + tab[5][w>>40&255] + tab[6][w>>48&255] + tab[7][w>>56]
			}
		}
	})
}

// patterns fills tab[p] with the sum of up to 8 values, minus those of the bits
// set in p.
func patterns(tab *[256]int64, values []int64) {
	var v [8]int64
	copy(v[:], values)
	tab[0] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]
	for b, x := range v {
		half := 1 << b
		for p := range half {
			tab[half+p] = tab[p] - 2*x
		}
	}
}

// countFlips goes through all sign patterns of the values and counts those whose
// sum is at least limit away from zero, among 2^len(values). It walks a Gray code,
// one change a step, over half of the patterns: the other half mirrors it.
func countFlips(values []int64, limit int64) (reached, all int64) {
	if len(values) == 0 {
		if limit <= 0 {
			return 1, 1
		}
		return 0, 1
	}
	var sum int64
	for _, v := range values {
		sum += v
	}
	minus := make([]bool, len(values))
	half := int64(1) << (len(values) - 1)
	for step := int64(0); ; {
		if sum >= limit || -sum >= limit {
			reached++
		}
		step++
		if step == half {
			return 2 * reached, 2 * half
		}
		b := 0
		for s := step; s&1 == 0; s >>= 1 {
			b++
		}
		if minus[b] {
			sum += 2 * values[b]
		} else {
			sum -= 2 * values[b]
		}
		minus[b] = !minus[b]
	}
}
