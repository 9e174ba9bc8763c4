//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// PeakSize is the product that Peak takes.
type PeakSize struct{ Queries, Rows, Dim int }

// DefaultPeak is large enough to fill any device and small enough to take milliseconds.
var DefaultPeak = PeakSize{1024, 131072, 768}

// peakRuns is how often the product is taken, after one that does not count.
const peakRuns = 9

// Peak measures what the product kernel of a search reaches on a device: float16 products
// with float32 sums of random rows and queries, with thresholds that let nothing pass. It
// gives FLOP/s by the device's own events, the median of nine, and says so in words.
func Peak(ctx context.Context, w *cuda.Worker, v kernels.Variant, size PeakSize) (flops float64, how string, err error) {
	dim := (size.Dim + 7) / 8 * 8
	err = w.Do(func(c *cuda.Context) (err error) {
		var own []func() error
		defer func() {
			for _, free := range slices.Backward(own) {
				err = errors.Join(err, free())
			}
		}()
		set, err := kernels.LoadVariant(c, v)
		if err != nil {
			return err
		}
		own = append(own, func() error { return set.Free(c) })
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		own = append(own, func() error { return c.Free(s) })
		alloc := func(bytes int) (*cuda.Buffer, error) {
			b, err := c.Alloc(int64(bytes))
			if err == nil {
				own = append(own, func() error { return c.Free(b) })
			}
			return b, err
		}
		var buffers [6]*cuda.Buffer
		for i, bytes := range []int{2 * size.Queries * dim, 2 * size.Rows * dim, 8 * size.Queries, 8 * size.Queries * peakRoom, 4 * size.Queries, 0} {
			if buffers[i], err = alloc(bytes); err != nil {
				return err
			}
		}
		q := kernels.Matrix{At: buffers[0], Rows: size.Queries, Dim: dim, Stride: dim, Elem: engine.F16}
		rows := kernels.Block{Matrix: kernels.Matrix{At: buffers[1], Rows: size.Rows, Dim: dim, Stride: dim, Elem: engine.F16}, Step: 1}
		host := make([]byte, 2*dim*max(size.Queries, size.Rows))
		RandomHalves(host, 1)
		lists := &kernels.Lists{Threshold: buffers[2], Keys: buffers[3], Count: buffers[4], Room: peakRoom}
		err = errors.Join(c.ToDevice(rows.At, host[:2*dim*size.Rows], s), c.ToDevice(q.At, host[:2*dim*size.Queries], s),
			set.Fill(c, s, lists.Threshold, ^uint64(0)), c.Fill(lists.Count, 0, s), c.Sync(s))
		if err != nil {
			return err
		}
		from, err := c.NewEvent(true)
		if err != nil {
			return err
		}
		own = append(own, func() error { return c.Free(from) })
		to, err := c.NewEvent(true)
		if err != nil {
			return err
		}
		own = append(own, func() error { return c.Free(to) })
		var times []time.Duration
		for i := range peakRuns + 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := errors.Join(c.Record(from, s), set.Search(c, s, q, rows, lists), c.Record(to, s), c.Sync(s)); err != nil {
				return err
			}
			took, err := c.Elapsed(from, to)
			if err != nil {
				return err
			}
			if i > 0 {
				times = append(times, took)
			}
		}
		slices.Sort(times)
		median := times[len(times)/2]
		if median <= 0 {
			return fmt.Errorf("the device's events say that a product of %d × %d × %d took no time", size.Queries, size.Rows, size.Dim)
		}
		flops = 2 * float64(size.Queries) * float64(size.Rows) * float64(dim) / median.Seconds()
		return nil
	})
	if err != nil {
		return 0, "", fmt.Errorf("measure the peak of device %d: %w", w.Info().Ordinal, err)
	}
	return flops, fmt.Sprintf("%s, %d × %d × %d in float16, median of %d", v, size.Queries, size.Rows, dim, peakRuns), nil
}

// peakRoom is the room of lists that stay empty.
const peakRoom = 64
