package stat

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawSumsPlain defines drawSums.
func drawSumsPlain(values, count []int64, seed uint64, out, drawn []int64) {
	for r := range out {
		key := streamKey(seed, purposeBootstrap, r)
		out[r] = 0
		if count != nil {
			drawn[r] = 0
		}
		for k := range values {
			half := word(key, k/2) >> 32
			if k%2 == 1 {
				half = word(key, k/2) & math.MaxUint32
			}
			i := half * uint64(len(values)) >> 32
			out[r] += values[i]
			if count != nil {
				drawn[r] += count[i]
			}
		}
	}
}

// flipSumsPlain defines flipSums.
func flipSumsPlain(values []int64, seed uint64, out []int64) {
	for r := range out {
		key := streamKey(seed, purposeFlip, r)
		out[r] = 0
		for i, x := range values {
			if word(key, i/64)>>(i%64)&1 == 1 {
				x = -x
			}
			out[r] += x
		}
	}
}

// countFlipsPlain defines countFlips.
func countFlipsPlain(values []int64, limit int64) (reached, all int64) {
	all = 1 << len(values)
	for p := range all {
		var sum int64
		for i, x := range values {
			if p>>i&1 == 1 {
				x = -x
			}
			sum += x
		}
		if max(sum, -sum) >= limit {
			reached++
		}
	}
	return reached, all
}

func checkKernels(t *testing.T, values []int64, seed uint64, b, threads int) {
	t.Helper()
	out, want := make([]int64, b), make([]int64, b)
	flipSums(values, seed, threads, out)
	flipSumsPlain(values, seed, want)
	if !slices.Equal(out, want) {
		t.Errorf("%d values, %d replicates, %d threads: flipSums differs from its twin", len(values), b, threads)
	}
	if len(values) == 0 {
		return
	}
	drawSums(values, nil, seed, threads, out, nil)
	drawSumsPlain(values, nil, seed, want, nil)
	if !slices.Equal(out, want) {
		t.Errorf("%d values, %d replicates, %d threads: drawSums differs from its twin", len(values), b, threads)
	}
	count := make([]int64, len(values))
	for i := range count {
		count[i] = int64(i%5 + 1)
	}
	drawn, wantDrawn := make([]int64, b), make([]int64, b)
	drawSums(values, count, seed, threads, out, drawn)
	drawSumsPlain(values, count, seed, want, wantDrawn)
	if !slices.Equal(out, want) || !slices.Equal(drawn, wantDrawn) {
		t.Errorf("%d values, %d replicates, %d threads: drawSums with counts differs from its twin", len(values), b, threads)
	}
	if small := values[:min(len(values), 10)]; true {
		var limit int64
		for _, x := range small {
			limit += x
		}
		got, all := countFlips(small, limit)
		if want, wantAll := countFlipsPlain(small, limit); got != want || all != wantAll {
			t.Errorf("%v: %d of %d patterns reach %d, want %d of %d", small, got, all, limit, want, wantAll)
		}
	}
}

func TestKernelsEqualTheirTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 200} {
		values := make([]int64, n)
		for i := range values {
			values[i] = rng.Int64N(1<<52) - 1<<51
		}
		for _, b := range []int{1, 2, 101} {
			for _, threads := range []int{1, 2, 5, 200} {
				checkKernels(t, values, rng.Uint64(), b, threads)
			}
		}
	}
}

func FuzzKernels(f *testing.F) {
	f.Add([]byte("sixteen bytes ok"), uint64(0), 10, 2)
	f.Add(make([]byte, 8*70), uint64(1), 3, 1)
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, b, threads int) {
		values := make([]int64, min(len(raw)/8, 300))
		for i := range values {
			values[i] = int64(binary.LittleEndian.Uint64(raw[8*i:])) >> 10
		}
		checkKernels(t, values, seed, 1+(b&63), 1+(threads&15))
	})
}

// Draws are uniform: chi-square of 64 values, 63 degrees of freedom, far tails.
func TestDrawsAreUniform(t *testing.T) {
	const n = 64
	values := make([]int64, n)
	var chi float64
	for i := range values {
		clear(values)
		values[i] = 1
		out := make([]int64, 2000)
		drawSums(values, nil, 11, 1, out, nil)
		var sum int64
		for _, x := range out {
			sum += x
		}
		d := float64(sum) - 2000
		chi += d * d / 2000
	}
	if chi < 30 || chi > 115 {
		t.Errorf("chi-square of the draws is %v, want about 63", chi)
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(4) {
		for _, purpose := range []uint64{purposeBootstrap, purposeFlip} {
			for r := range 200 {
				for j := range 10 {
					seen[word(streamKey(seed, purpose, r), j)] = true
				}
			}
		}
	}
	if len(seen) != 4*2*200*10 {
		t.Errorf("%d different words among %d", len(seen), 4*2*200*10)
	}
	// The streams are part of what a recorded seed means.
	if got := word(streamKey(0, purposeFlip, 0), 0); got != 0x312722458ffb2621 {
		t.Errorf("the first word of seed 0 became %#x", got)
	}
}
