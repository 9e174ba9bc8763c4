package ort

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Spans in any order cover what a row of flags says, one for each unit of time.
func TestSpans(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s spans
		var covered [400]bool
		want, last := time.Duration(0), time.Duration(0)
		for range 1 + r.IntN(200) {
			a := r.IntN(len(covered))
			b := min(a+r.IntN(1+r.IntN(20)), len(covered))
			s.add(time.Duration(a), time.Duration(b))
			for i := a; i < b; i++ {
				if !covered[i] {
					covered[i] = true
					want++
				}
			}
			if s.total != want {
				t.Fatalf("seed %d: after %d to %d %d units are covered, expected %d; %v", seed, a, b, s.total, want, s.known)
			}
			if s.total < last {
				t.Fatalf("seed %d: %d after %d", seed, s.total, last)
			}
			last = s.total
		}
		for i, k := range s.known {
			if k[1] <= k[0] || i > 0 && k[0] <= s.known[i-1][1] {
				t.Fatalf("seed %d: spans %v are not apart and in order", seed, s.known)
			}
		}
	}
}

// What is far in the past is forgotten, and the total stays.
func TestSpansForget(t *testing.T) {
	var s spans
	for i := range time.Duration(10 * mostSpans) {
		s.add(2*i, 2*i+1)
	}
	if s.total != 10*mostSpans || len(s.known) != mostSpans {
		t.Errorf("%d units in %d spans", s.total, len(s.known))
	}
}
