package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"encbench/engine"
)

// Arm is one configuration under measurement: a record to fill, the encoder and
// the input that it describes.
type Arm struct {
	Record  *Record
	Encoder engine.Encoder
	// Replicas are the encoders that Encoder is made of, each to be warmed up; nil is
	// Encoder itself. Nothing may be in flight meanwhile.
	Replicas []engine.Encoder
	Source   Source
	// Warm holds one small batch for every length bucket of the input.
	Warm []*engine.Batch
	// Settle is passed over once, untimed, after the buckets: the batches that will
	// be timed have shapes of their own. Nil means Source, or nothing for a stream.
	Settle Source
	// Window is 0 when a sample is one pass over the source. Otherwise the source is
	// a stream, and a sample is a run of Window consecutive batches of it.
	Window int
	// Once says that a stream cannot be reopened: its end is the end.
	Once bool
	// AtEnd is called when a stream has been read to its end for the first time.
	AtEnd func()
	// Devices gives what each of Record.Engine.Devices did since the encoder was opened;
	// nil on the CPU.
	Devices func() []DeviceUse

	inputs *IDsHash
	whole  bool // the stream has been read to its end
	stages stageTimes
	used   []DeviceUse // when the devices were last counted
	sums   engine.Work

	stale     bool // samples came after the last refresh
	refreshed time.Time
}

// Harness runs arms interleaved: each round gives every arm a turn, one sample or
// one pass over a stream, the order turning round from round to round, until
// every arm has the samples and the time that the schedule asks for.
type Harness struct {
	Schedule Schedule
	Arms     []*Arm
	Progress func(Step)       // called from a goroutine of its own, a few times a second; may be nil
	Save     func(*Arm) error // called after every sample, or once a second of very short ones; may be nil

	meter meter
}

// Run warms up and measures. When ctx ends, the sample in progress is thrown
// away, the records keep what was measured, and the context's error is returned;
// after any other error too the records hold the samples before it.
func (h *Harness) Run(ctx context.Context) (err error) {
	defer h.watch()()
	defer func() {
		for _, a := range h.Arms {
			if a.stale {
				err = errors.Join(err, h.refresh(a))
			}
		}
	}()
	for i, a := range h.Arms {
		h.begin(i, "warm-up")
		if err := h.warm(ctx, a); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	for round := 0; ; round++ {
		pending := false
		for k := range h.Arms {
			i := k
			if round%2 == 1 {
				i = len(h.Arms) - 1 - k
			}
			a := h.Arms[i]
			if h.enough(a) {
				continue
			}
			pending = true
			turn := h.pass
			if a.Window > 0 {
				turn = h.stream
			}
			if err := turn(ctx, i, round); err != nil {
				return fmt.Errorf("sample %d: %w", len(a.Record.Samples)+1, err)
			}
		}
		if !pending {
			return nil
		}
	}
}

func (h *Harness) enough(a *Arm) bool {
	if a.Window > 0 && (!a.whole || a.Once) {
		return a.whole
	}
	var chunks int64
	for _, s := range a.Record.Samples {
		chunks += s.Chunks
	}
	timed := time.Duration(a.Record.TimedSeconds() * float64(time.Second))
	return len(a.Record.Samples) >= h.Schedule.Repeats && timed >= h.Schedule.MinTime && chunks >= h.Schedule.MinChunks
}

// warm runs every length bucket twice, untimed, and keeps both times apart: the
// first run of a shape pays for memory and plans that later ones reuse. Then it
// runs the real batches once.
func (h *Harness) warm(ctx context.Context, a *Arm) error {
	start := time.Now()
	a.Record.Warmup.Buckets = []BucketWarmup{}
	encoders := a.Replicas
	if encoders == nil {
		encoders = []engine.Encoder{a.Encoder}
	}
	for _, b := range a.Warm {
		var lap [2]time.Duration // of the slowest
		longest := 0
		for r := range b.Rows() {
			longest = max(longest, b.Len(r))
		}
		for _, enc := range encoders {
			for i := range lap {
				mark := time.Now()
				if err := enc.Submit(0, b); err != nil {
					return err
				}
				if _, _, err := enc.Collect(ctx, 0); err != nil {
					return err
				}
				lap[i] = max(lap[i], time.Since(mark))
			}
		}
		a.Record.Warmup.Buckets = append(a.Record.Warmup.Buckets, BucketWarmup{
			Tokens: longest, First: lap[0].Seconds(), Second: lap[1].Seconds(),
		})
	}
	settle := a.Settle
	if settle == nil && a.Window == 0 {
		settle = a.Source
	}
	if settle != nil {
		if _, _, err := TimePass(ctx, settle, a.Encoder, nil); err != nil {
			return err
		}
	}
	a.Record.Warmup.Seconds = time.Since(start).Seconds()
	return nil
}

// eachSample is how many samples a record has when it is no longer refreshed and
// saved after each of them: the milliseconds that this takes grow with them.
const eachSample = 100

// add appends a sample to the record.
func (h *Harness) add(a *Arm, s Sample) error {
	a.Record.Samples = append(a.Record.Samples, s)
	h.counted(a)
	if len(a.Record.Samples) > eachSample && time.Since(a.refreshed) < time.Second {
		a.stale = true
		return nil
	}
	return h.refresh(a)
}

// refresh brings the record up to its samples and saves it.
func (h *Harness) refresh(a *Arm) error {
	a.summarize()
	a.stale, a.refreshed = false, time.Now()
	if h.Save != nil {
		return h.Save(a)
	}
	return nil
}

var errNoDocuments = errors.New("the corpus has no documents")
