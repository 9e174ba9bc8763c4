package ort

import (
	"slices"
	"time"
)

// DeviceUse is what a CUDA encoder did since it was opened. Times are those of the
// device's clock, between events in its streams; what runs beside other things of its kind
// counts once, so none exceeds the time that went by.
type DeviceUse struct {
	Batches int           // complete ones
	Rows    int64         // of groups that came back
	Tokens  int64         // of those rows, without padding
	Busy    time.Duration // with a group on its way, from its ids to its rows
	Compute time.Duration // with a run of the graph
	In      Transfer      // ids, to the device
	Out     Transfer      // rows, to the host
}

// Transfer is what was copied in one direction and the time in which copies were on
// their way, the gaps between those of one group included.
type Transfer struct {
	Bytes int64
	Time  time.Duration
}

// mostSpans is how many spans are remembered: more than groups of all sessions are on a
// device, which is how far spans can come out of order.
const mostSpans = 256

// spans is time that is covered, by spans that may overlap and come in any order.
type spans struct {
	total time.Duration
	known [][2]time.Duration // disjoint, in order; the oldest are forgotten
}

// add covers the span from a to b.
func (s *spans) add(a, b time.Duration) {
	if b <= a {
		return
	}
	from := 0
	for from < len(s.known) && s.known[from][1] < a {
		from++
	}
	to, fresh := from, b-a
	for ; to < len(s.known) && s.known[to][0] <= b; to++ {
		k := s.known[to]
		fresh -= max(0, min(b, k[1])-max(a, k[0]))
	}
	one := [2]time.Duration{a, b}
	if to > from {
		one = [2]time.Duration{min(a, s.known[from][0]), max(b, s.known[to-1][1])}
	}
	s.known = slices.Replace(s.known, from, to, one)
	if len(s.known) > mostSpans {
		s.known = slices.Delete(s.known, 0, 1)
	}
	s.total += fresh
}
