//go:build cuda && linux && cgo && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"encbench/bench/report"
	"encbench/cuda"
	"encbench/engine"
	"encbench/engine/gpu"
	"encbench/kernels"
)

// workers opens the devices of a place. They are closed with closeWorkers.
func workers(p place) ([]*cuda.Worker, error) {
	var out []*cuda.Worker
	for _, info := range p.cuda {
		w, err := cuda.Open(info.Ordinal)
		if err != nil {
			return nil, fmt.Errorf("open cuda:%d: %w", info.Ordinal, errors.Join(err, closeWorkers(out)))
		}
		out = append(out, w)
	}
	return out, nil
}

func closeWorkers(all []*cuda.Worker) error {
	var errs []error
	for _, w := range all {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// productPeak measures the product kernel of the search on a device, in FLOP/s, and says
// how.
func productPeak(ctx context.Context, info cuda.Info) (flops float64, how string, err error) {
	size := gpu.DefaultPeak
	if cuda.State().Fake {
		size = gpu.PeakSize{Queries: 16, Rows: 128, Dim: 64}
	}
	w, err := cuda.Open(info.Ordinal)
	if err != nil {
		return 0, "", err
	}
	flops, how, err = gpu.Peak(ctx, w, kernels.SM80, size)
	return flops, how, errors.Join(err, w.Close())
}

// deviceSearch is a search on devices, which it holds.
type deviceSearch struct {
	*gpu.Searcher
	workers []*cuda.Worker
	opt     gpu.Options
	given   engine.Elem // of the first rows
	sum     gpu.Stats   // over blocks of queries, of all devices
	warned  map[string]bool
	warn    func(string)
}

// newDeviceSearch opens a search on the devices of p.
func newDeviceSearch(p place, opt gpu.Options, warn func(string)) (searchEngine, error) {
	all, err := workers(p)
	if err != nil {
		return nil, err
	}
	s, err := gpu.New(opt, all...)
	if err != nil {
		return nil, errors.Join(err, closeWorkers(all))
	}
	return &deviceSearch{Searcher: s, workers: all, opt: opt, warned: map[string]bool{}, warn: warn}, nil
}

// Append adds rows.
func (s *deviceSearch) Append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	s.given = r.Type
	err := s.Searcher.Append(ctx, base, owner, r)
	s.warnings()
	return err
}

// warnings says each warning of a device once.
func (s *deviceSearch) warnings() {
	for _, d := range s.Devices() {
		for _, text := range d.Warnings {
			if text = fmt.Sprintf("cuda:%d: %s", d.Ordinal, text); !s.warned[text] {
				s.warned[text] = true
				s.warn(text)
			}
		}
	}
}

// Close frees the devices.
func (s *deviceSearch) Close() error {
	return errors.Join(s.Searcher.Close(), closeWorkers(s.workers))
}

func (s *deviceSearch) build(context.Context) error { return nil }

func (s *deviceSearch) rowBytes() int {
	switch s.opt.Store {
	case engine.StoreGiven:
		return s.opt.Dim * s.given.Size()
	case engine.StoreF32:
		return s.opt.Dim * engine.F32.Size()
	}
	return s.opt.Dim * engine.F16.Size()
}

func (s *deviceSearch) count() {
	s.sum.Then(s.Stats())
	s.warnings()
}

func (s *deviceSearch) report(w io.Writer) {
	for _, d := range s.Devices() {
		if d.Rows == 0 {
			continue
		}
		fmt.Fprintf(w, "%-10s %s: %s, %s\n", fmt.Sprintf("cuda:%d", d.Ordinal), s.name(d.Ordinal), count(d.Rows, "row"), planText(d.Plan))
	}
	if s.sum.Queries == 0 {
		return
	}
	each := ""
	if len(s.workers) > 1 {
		each = " (of each device)"
	}
	fmt.Fprintf(w, "certified  %s at once, %d after keeping more rows, %d by scoring every row%s\n", count(s.sum.Certified, "query"), s.sum.Widened, s.sum.Scanned, each)
	if s.sum.In.Bytes > 0 {
		pageable := ""
		if s.sum.Pageable > 0 {
			pageable = fmt.Sprintf(", %s of it from memory that could not be page-locked", megabytes(s.sum.Pageable))
		}
		fmt.Fprintf(w, "streamed   %s at %sB/s%s; copies and searches together %s of the time, idle %s\n", megabytes(s.sum.In.Bytes), report.Number(s.sum.In.Rate()/1e9)+" G",
			pageable, shareText(s.sum.Busy()), shareText(s.sum.Idle()))
	}
}

// planText says how the rows lie, and what of the device's memory is for what.
func planText(p gpu.Plan) string {
	parts := []string{p.Way.String()}
	for _, u := range p.Uses {
		if u.Bytes > 0 {
			parts = append(parts, megabytes(u.Bytes)+" for "+u.Purpose)
		}
	}
	return strings.Join(parts, ", ")
}

// name is the driver's name of a device.
func (s *deviceSearch) name(ordinal int) string {
	for _, w := range s.workers {
		if w.Info().Ordinal == ordinal {
			name := w.Info().Name
			if cuda.State().Fake && !strings.Contains(name, "fake") {
				name += " (fake)"
			}
			return name
		}
	}
	return ""
}

func shareText(x float64) string { return report.Number(100*x) + " %" }
