package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

// Step is what the harness reports while it works.
type Step struct {
	Arm, Arms       int
	Phase           string        // warm-up, sample
	Sample, Samples int           // Samples is what is planned so far
	Chunks          int64         // of this sample
	Elapsed         time.Duration // of this phase
	Timed, Planned  time.Duration // of all samples of all arms, estimated
	Rate            float64       // of the arm, chunks/s; 0 = not known yet
}

// meter is what the measuring goroutine leaves for the reporting one. While the
// clock runs only chunks is touched.
type meter struct {
	chunks atomic.Int64

	mu      sync.Mutex
	step    Step
	started time.Time
	arms    []armMeter
}

type armMeter struct {
	timed        time.Duration
	chunks       int64
	samples      int
	sampleChunks int // chunks of a sample, 1 while unknown
	passSamples  int // samples of a pass over a stream, 0 when unknown
}

// watch reports progress until the function that it gives is called.
func (h *Harness) watch() (stop func()) {
	h.meter.arms = make([]armMeter, len(h.Arms))
	for _, a := range h.Arms {
		h.counted(a)
	}
	if h.Progress == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				h.Progress(h.meter.now(h.Schedule))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// begin says what is measured from now on.
func (h *Harness) begin(arm int, phase string) {
	m := &h.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chunks.Store(0)
	m.started = time.Now()
	m.step.Arm, m.step.Arms, m.step.Phase = arm, len(h.Arms), phase
	m.step.Sample = len(h.Arms[arm].Record.Samples) + 1
}

// counted takes over what an arm has measured so far.
func (h *Harness) counted(a *Arm) {
	m := &h.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range h.Arms {
		if h.Arms[i] != a {
			continue
		}
		am := armMeter{
			timed: time.Duration(a.Record.TimedSeconds() * float64(time.Second)), samples: len(a.Record.Samples),
			sampleChunks: max(1, int(a.Record.Corpus.Selection.Chunks)),
		}
		for _, sample := range a.Record.Samples {
			am.chunks += sample.Chunks
		}
		if a.Window > 0 {
			am.sampleChunks = a.Window * a.Record.Protocol.BatchChunks()
			am.passSamples = int(a.Record.Corpus.Chunks) / am.sampleChunks
		}
		m.arms[i] = am
	}
}

// now completes the step.
func (m *meter) now(schedule Schedule) Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.step
	s.Chunks, s.Elapsed, s.Samples = m.chunks.Load(), time.Since(m.started), schedule.Repeats
	if s.Phase == "sample" {
		s.Rate = m.arms[s.Arm].rate(s)
	}
	var known time.Duration // of a sample, from any arm that has an estimate
	for i, a := range m.arms {
		known = max(known, a.sampleTime(i == s.Arm && s.Phase == "sample", s))
	}
	for i, a := range m.arms {
		s.Timed += a.timed
		each := a.sampleTime(i == s.Arm && s.Phase == "sample", s)
		if each == 0 {
			each = known
		}
		s.Planned += max(schedule.MinTime, time.Duration(max(schedule.Repeats, a.passSamples))*each)
	}
	return s
}

// rate is that of the arm's samples; while it has none, of the current one, whose
// chunks are counted when their batch ends.
func (a armMeter) rate(s Step) float64 {
	switch {
	case a.timed > 0:
		return float64(a.chunks) / a.timed.Seconds()
	case s.Elapsed > 0:
		return float64(s.Chunks) / s.Elapsed.Seconds()
	}
	return 0
}

// sampleTime estimates how long a sample of an arm takes, 0 when nothing is known.
func (a armMeter) sampleTime(current bool, s Step) time.Duration {
	if a.samples > 0 {
		return a.timed / time.Duration(a.samples)
	}
	if current && s.Chunks > 0 {
		return time.Duration(float64(s.Elapsed) * float64(a.sampleChunks) / float64(s.Chunks))
	}
	return 0
}
