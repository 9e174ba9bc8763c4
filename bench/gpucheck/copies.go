//go:build cuda && linux && cgo && (amd64 || arm64)

package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"encbench/cuda"
)

// copies measures transfers: page-locked memory in both directions by size, both at a
// time, and ordinary memory beside it.
func copies(ctx context.Context, c *check, r *Result) error {
	sizes := []int{1 << 20, 16 << 20, 256 << 20}
	if c.opt.Small {
		sizes = []int{1 << 16, 1 << 18}
	}
	return c.w.Do(func(g *cuda.Context) (err error) {
		most := sizes[len(sizes)-1]
		var own []func() error
		defer func() {
			for _, free := range slices.Backward(own) {
				err = errors.Join(err, free())
			}
		}()
		pinned, err := g.AllocHost(2 * most)
		if err != nil {
			return err
		}
		own = append(own, func() error { return g.Free(pinned) })
		device, err := g.Alloc(int64(2 * most))
		if err != nil {
			return err
		}
		own = append(own, func() error { return g.Free(device) })
		var streams [2]*cuda.Stream
		for i := range streams {
			if streams[i], err = g.NewStream(); err != nil {
				return err
			}
			own = append(own, func() error { return g.Free(streams[i]) })
		}
		pageable := make([]byte, most)
		for _, n := range sizes {
			if err := ctx.Err(); err != nil {
				return err
			}
			in := func(host []byte, at int64, s *cuda.Stream) error {
				return g.ToDevice(device.Slice(at, int64(n)), host[:n], s)
			}
			out := func(host []byte, at int64, s *cuda.Stream) error {
				return g.ToHost(host[:n], device.Slice(at, int64(n)), s)
			}
			for _, m := range []struct {
				name  string
				bytes int
				run   func() error
			}{
				{"to the device, page-locked", n, func() error { return in(pinned.Data, 0, streams[0]) }},
				{"to the device, ordinary", n, func() error { return in(pageable, 0, streams[0]) }},
				{"from the device, page-locked", n, func() error { return out(pinned.Data, 0, streams[0]) }},
				{"from the device, ordinary", n, func() error { return out(pageable, 0, streams[0]) }},
				{"to the device, two streams", 2 * n, func() error {
					return errors.Join(in(pinned.Data, 0, streams[0]), in(pinned.Data[most:], int64(most), streams[1]))
				}},
				{"both ways at a time", 2 * n, func() error {
					return errors.Join(in(pinned.Data, 0, streams[0]), out(pinned.Data[most:], int64(most), streams[1]))
				}},
			} {
				took, err := median(ctx, func() error {
					return errors.Join(m.run(), g.Sync(streams[0]), g.Sync(streams[1]))
				})
				if err != nil {
					return fmt.Errorf("copy %d bytes, %s: %w", n, m.name, err)
				}
				r.value(fmt.Sprintf("%s, %s", bytesText(n), m.name), float64(m.bytes)/took.Seconds(), "B/s")
			}
		}
		return nil
	})
}
