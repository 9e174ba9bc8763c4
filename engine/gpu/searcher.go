//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"errors"
	"fmt"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// Searcher finds the exact best rows on one device. Append and Search run one at a time.
type Searcher struct {
	opt     Options
	w       *cuda.Worker
	set     *kernels.Set
	stream  *cuda.Stream
	elem    engine.Elem
	blocks  []*block
	rows    int64
	next    int64 // the least number of the next rows
	measure measure

	// Stats of the last Search.
	Stats Stats
}

// Stats are what a search did beside its way.
type Stats struct {
	Panels, Redone   int // panels searched, and those searched again as lists overflowed
	Widened, Scanned int // queries that kept more rows, and those whose every row was scored by the rule
}

var _ engine.Searcher = (*Searcher)(nil)

// New opens a search on a device, which the Searcher does not close.
func New(w *cuda.Worker, opt Options) (*Searcher, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("open a search on device %d: %w", w.Info().Ordinal, err)
	}
	s := &Searcher{opt: opt, w: w}
	s.measure = measure{dim: s.stride(), metric: opt.Metric}
	err := w.Do(func(c *cuda.Context) (err error) {
		if s.set, err = kernels.Load(c); err != nil {
			return err
		}
		if s.stream, err = c.NewStream(); err != nil {
			return errors.Join(err, s.set.Free(c))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open a search: %w", err)
	}
	return s, nil
}

// Close frees everything on the device.
func (s *Searcher) Close() error {
	return s.w.Do(func(c *cuda.Context) error {
		var errs []error
		for _, b := range s.blocks {
			errs = append(errs, joinFree(c, nil, b.buffers()))
		}
		s.blocks = nil
		return errors.Join(append(errs, c.Free(s.stream), s.set.Free(c))...)
	})
}

// joinFree frees buffers after an error, or without one.
func joinFree(c *cuda.Context, err error, buffers []*cuda.Buffer) error {
	for _, b := range buffers {
		err = errors.Join(err, c.Free(b))
	}
	return err
}
