//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"errors"
	"sync"
	"time"

	"encbench/cuda"
)

// nearBase is how far from its base a clock tells the time. The driver gives
// milliseconds as a float32, which is half a microsecond at this distance.
const nearBase = 4 * time.Second

// clock puts the events of all lanes of an encoder on one line of time and adds up what
// they tell. Lanes call it at once.
type clock struct {
	mutex              sync.Mutex
	base               *cuda.Event   // has passed when the first group has
	at                 time.Duration // of the base, since the first one
	in, run, out, busy spans
	use                DeviceUse // but for the times
}

// marks are timed events around what is done for a group, in the order in which they pass.
type marks struct {
	asked   *cuda.Event // before its ids are copied
	arrived *cuda.Event // behind them
	begun   *cuda.Event // before its run
	ran     *cuda.Event // behind it
	done    *cuda.Event // behind the way of its rows
}

// all lists the places of the events.
func (m *marks) all() []**cuda.Event {
	return []**cuda.Event{&m.asked, &m.arrived, &m.begun, &m.ran, &m.done}
}

// open makes the events.
func (m *marks) open(c *cuda.Context) error {
	for _, e := range m.all() {
		var err error
		if *e, err = c.NewEvent(true); err != nil {
			return err
		}
	}
	return nil
}

// free gives the events back.
func (m *marks) free(c *cuda.Context) error {
	var errs []error
	for _, e := range m.all() {
		if *e != nil {
			errs = append(errs, c.Free(*e))
		}
	}
	return errors.Join(errs...)
}

// open begins the time, at the present end of a stream that every group waits for.
func (k *clock) open(c *cuda.Context, s *cuda.Stream) (err error) {
	if k.base, err = c.NewEvent(true); err != nil {
		return err
	}
	return c.Record(k.base, s)
}

// free gives the base back.
func (k *clock) free(c *cuda.Context) error {
	if k.base == nil {
		return nil
	}
	return c.Free(k.base)
}

// count adds a group all events of which have passed, with the bytes that were copied for
// it. asked and done are when its ids were asked for and when it was done.
func (k *clock) count(c *cuda.Context, m *marks, rows int, tokens, in, out int64) (asked, done time.Duration, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	elapsed := func(from, to *cuda.Event) (d time.Duration) {
		if err == nil {
			d, err = c.Elapsed(from, to)
		}
		return d
	}
	since := elapsed(k.base, m.done)
	done = k.at + since
	// From the nearest event on, which is told most exactly.
	ago := func(e *cuda.Event) time.Duration { return done - elapsed(e, m.done) }
	asked = ago(m.asked)
	arrived, begun, ran := ago(m.arrived), ago(m.begun), ago(m.ran)
	if err != nil {
		return 0, 0, err
	}
	k.in.add(asked, arrived)
	k.run.add(begun, ran)
	k.busy.add(asked, done)
	if out > 0 { // rows that stay on the device take no copy to the host
		k.out.add(ran, done)
	}
	k.use.Rows += int64(rows)
	k.use.Tokens += tokens
	k.use.In.Bytes += in
	k.use.Out.Bytes += out
	if since > nearBase {
		k.base, m.done = m.done, k.base
		k.at = done
	}
	return asked, done, nil
}

// batch counts a complete batch.
func (k *clock) batch() {
	k.mutex.Lock()
	k.use.Batches++
	k.mutex.Unlock()
}

// total gives all that was counted.
func (k *clock) total() DeviceUse {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	u := k.use
	u.Busy, u.Compute, u.In.Time, u.Out.Time = k.busy.total, k.run.total, k.in.total, k.out.total
	return u
}

// Use gives what the encoder did since it was opened: totals that only grow, to compare
// before and behind. It may be called from any goroutine, with batches in flight, of which
// the groups count that came back.
func (e *CUDAEncoder) Use() DeviceUse { return e.clock.total() }
