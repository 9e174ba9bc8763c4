//go:build cuda && linux && cgo && (amd64 || arm64)

package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"encbench/bench/env/nvidia"
	"encbench/bench/env/peak"
	"encbench/cuda"
	"encbench/kernels"
)

// check is one at work.
type check struct {
	opt  Options
	w    *cuda.Worker
	info cuda.Info
	part peak.Part // of the table; without a name where the device is not in it
}

// Sections lists the parts of a check in their order, with the time that each is given
// on a device; it ends a section that takes longer.
func Sections() []Section {
	return []Section{
		{"driver", "what the driver says, and how long it takes to compile the kernels", 60 * time.Second, driver},
		{"kernels", "searches by every kernel against the processor's, in rows and score bits", 120 * time.Second, exact},
		{"copies", "bandwidth to and from the device, of page-locked and ordinary memory", 30 * time.Second, copies},
		{"peak", "the product kernel alone", 20 * time.Second, products},
		{"search", "searches of millions of rows: time, share of the peak and of the memory's bandwidth", 130 * time.Second, searches},
		{"overlap", "rows that stay against rows that are streamed, with one block and two in flight", 50 * time.Second, overlap},
		{"encode", "ONNX Runtime on the device: the accuracy gate in each type, and what sessions, page-locked memory and captured graphs bring", 70 * time.Second, encode},
	}
}

// Run checks a device. The error says which sections found a fault; the record, which Save
// got after every section, is given with it.
func Run(ctx context.Context, opt Options) (*Record, error) {
	sections, err := choose(Sections(), opt.Only)
	if err != nil {
		return nil, err
	}
	w, err := cuda.Open(opt.Device)
	if err != nil {
		return nil, fmt.Errorf("open cuda:%d: %w", opt.Device, err)
	}
	c := &check{opt: opt, w: w, info: w.Info()}
	r := &Record{Tool: opt.Tool, Device: c.info.Name, UUID: c.info.UUID, Fake: cuda.State().Fake}
	c.opt.Small = opt.Small || r.Fake
	r.Small = c.opt.Small
	if !r.Fake && !c.info.MIG {
		c.part, _ = peak.GPU(c.info.Name)
	}
	if err := r.goOn(opt.Before); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	err = r.through(ctx, sections, c.opt, func(s Section, result *Result) error {
		limited, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("took longer than the %v that it is given", s.limit))
		defer cancel()
		err := s.run(limited, c, result)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = errors.Join(context.Cause(limited), err)
		}
		return err
	})
	return r, errors.Join(err, w.Close())
}

// small chooses a size.
func (c *check) size(small, whole int) int {
	if c.opt.Small {
		return small
	}
	return whole
}

// variants are the texts of the kernels that the device takes.
func (c *check) variants() []kernels.Variant {
	out := []kernels.Variant{kernels.SM80}
	if kernels.SM90A.RunsOn(c.info.Major, c.info.Minor) == nil {
		out = append(out, kernels.SM90A)
	}
	return out
}

// driver collects facts and loads the kernels.
func driver(ctx context.Context, c *check, r *Result) error {
	var errs []error
	for _, f := range cuda.Findings() {
		r.fact("%s %s: %s", f.State, f.Name, f.Detail)
		// Another device that cannot be used is no fault of this one.
		if other := strings.HasPrefix(f.Name, "cuda:") && f.Name != fmt.Sprintf("cuda:%d", c.info.Ordinal); f.State == cuda.Missing && !other {
			errs = append(errs, fmt.Errorf("%s: %s; %s", f.Name, f.Detail, f.Advice))
		}
	}
	if all, err := nvidia.Query(ctx); err != nil {
		r.fact("%v", err)
	} else if g := nvidia.Find(all, c.info.UUID); g != nil {
		r.fact("nvidia-smi: driver %s, limit %.0f W of %.0f, %.0f MHz of %.0f, %.0f °C, PCIe %.0f × %.0f, persistence %s, ECC %s, MIG %s",
			g.Driver, g.PowerLimit, g.DefaultLimit, g.ClockMHz, g.MaxClockMHz, g.Celsius, g.PCIeGen, g.PCIeWidth, g.Persistence, g.ECC, g.MIG)
	}
	if c.part.Name == "" {
		r.fact("%s is not in the table of peaks: no shares are given", c.info.Name)
	}
	err := c.w.Do(func(g *cuda.Context) error {
		free, total, err := g.Memory()
		if err != nil {
			return err
		}
		r.value("free memory", float64(free), "B")
		r.value("memory", float64(total), "B")
		for _, v := range c.variants() {
			mark := time.Now()
			set, err := kernels.LoadVariant(g, v)
			if err != nil {
				return err
			}
			r.value(fmt.Sprintf("load the kernels of %s", v), time.Since(mark).Seconds(), "s")
			spilled, err := set.Spilled(g)
			if err = errors.Join(err, set.Free(g)); err != nil {
				return err
			}
			if len(spilled) > 0 {
				return fmt.Errorf("kernels of %s keep registers in memory on this device: %s", v, strings.Join(spilled, ", "))
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// bytesText writes a power of two.
func bytesText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// repeats of a measurement, after one that does not count.
const repeats = 9

// median runs f and gives the middle of its times.
func median(ctx context.Context, f func() error) (time.Duration, error) {
	var times []time.Duration
	for i := range repeats + 1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		mark := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, time.Since(mark))
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
