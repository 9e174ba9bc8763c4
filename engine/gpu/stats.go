package gpu

import "time"

// Stats are what a search did beside its way, on one device or on all of them.
type Stats struct {
	Device  int // its ordinal; −1 for all
	Queries int // answered, once for each device and round
	// Certified counts queries of which the first pass was certain, Widened those that
	// kept more rows, Scanned those whose every row was scored by the rule.
	Certified, Widened, Scanned int
	Rounds                      int // that were needed for k or for documents; 1 is the least
	Panels, Redone              int // panels searched, and those searched again as lists overflowed
	Blocks                      int // streamed blocks
	// In are the rows that were streamed, Out results; times are the device's own, from
	// events.
	In, Out Transfer
	// Pageable are bytes of In that came from memory that could not be page-locked: they
	// are slower, and run beside no search.
	Pageable int64
	Search   time.Duration // in kernels, by events of the device
	Wall     time.Duration // of the passes; of all devices, the longest

	devices int // that are added up
}

// Transfer is copies in one direction.
type Transfer struct {
	Bytes int64
	Time  time.Duration
}

// Rate is in bytes a second; 0 where nothing was copied.
func (t Transfer) Rate() float64 {
	if t.Time <= 0 {
		return 0
	}
	return float64(t.Bytes) / t.Time.Seconds()
}

// Overlap is how near the wall time comes to the longer of copies and search: 1 is a
// perfect overlap, and where both take the same time 0.5 is none.
func (s Stats) Overlap() float64 {
	if s.Wall <= 0 {
		return 0
	}
	return s.share(max(s.In.Time, s.Search))
}

// Busy is copies and search together against the wall time: above 1 they ran beside each
// other, 2 is the most.
func (s Stats) Busy() float64 {
	if s.Wall <= 0 {
		return 0
	}
	return s.share(s.In.Time + s.Search)
}

// Idle is the share of the wall time in which the device searched nothing.
func (s Stats) Idle() float64 {
	if s.Wall <= 0 {
		return 0
	}
	return max(0, 1-s.share(s.Search))
}

// share is a time of the device against the wall time, the mean of the devices.
func (s Stats) share(t time.Duration) float64 {
	return t.Seconds() / float64(max(s.devices, 1)) / s.Wall.Seconds()
}

// add makes s the sum of both, and the longer wall time.
func (s *Stats) add(o Stats) {
	s.devices += max(o.devices, 1)
	s.Queries += o.Queries
	s.Certified += o.Certified
	s.Widened += o.Widened
	s.Scanned += o.Scanned
	s.Rounds = max(s.Rounds, o.Rounds)
	s.Panels += o.Panels
	s.Redone += o.Redone
	s.Blocks += o.Blocks
	s.In.Bytes += o.In.Bytes
	s.In.Time += o.In.Time
	s.Out.Bytes += o.Out.Bytes
	s.Out.Time += o.Out.Time
	s.Pageable += o.Pageable
	s.Search += o.Search
	s.Wall = max(s.Wall, o.Wall)
}

// Then adds a later search on the same devices: wall times add up.
func (s *Stats) Then(o Stats) {
	wall := s.Wall + o.Wall
	s.add(o)
	s.Wall, s.devices = wall, o.devices
}
