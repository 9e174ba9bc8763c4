package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"encbench/bench"
	"encbench/bench/gpucheck"
	"encbench/bench/report"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

var gpuCheckCommand = &command{
	name:  "gpu-check",
	short: "try a GPU from the driver up: results, copies, searches, encoding",
	long: `
Runs on one CUDA device, the cheapest risk first, in under 8 minutes: what the driver
says, searches against the processor's in rows and score bits, bandwidth of copies, the
product kernel's own peak, searches of millions of rows beside what a model on paper
expects, rows that are streamed, and a model of random weights encoded in each type
and way. Each section has a limit of its own.

The record is written after every section. Started again with the same --out, a check
goes on where it stopped; sections that found a fault run again, and those of another
version of encbench. A record of another device is left as it is: give each its own file.
--only chooses sections by name: driver, kernels, copies, peak, search, overlap, encode.
The last needs ONNX Runtime's CUDA provider ("encbench assets get cuda13") and is left
out without it.

On the fake driver of tests all sections run with small sizes, and rates mean nothing.`,
	examples: []example{
		{"encbench gpu-check --out gpu-check.json", "everything, on device 0"},
		{"encbench gpu-check --only driver,copies --device 1", "two sections, on another device"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &gpuCheckFlags{}
		fs.IntVar(&f.device, "device", 0, "ordinal `N` of the device")
		fs.StringSliceVar(&f.only, "only", nil, "`SECTIONS` to run")
		fs.BoolVar(&f.small, "small", false, "small sizes, to try the check itself")
		fs.BoolVar(&f.again, "again", false, "run sections again that passed before")
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		fs.StringVar(&f.out, "out", "", "`FILE` for the record (JSON), written after every section")
		return f
	},
}

type gpuCheckFlags struct {
	device       int
	only         []string
	small, again bool
	ortLibrary   string
	out          string
}

// isGPUCheck says whether a file may be an earlier record.
func isGPUCheck(head []byte) bool {
	return begins(head, member{"tool", nil}, member{"device", nil}, member{"uuid", nil})
}

func (f *gpuCheckFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	t := tool()
	opt := gpucheck.Options{Device: f.device, Tool: strings.TrimSpace(t.Version + " " + t.Commit), Small: f.small, Only: f.only, Again: f.again}
	opt.Runtime = func() (*ort.Runtime, error) {
		rt, err := a.cudaRuntime(f.ortLibrary)
		if errors.Is(err, errNoProvider) {
			err = gpucheck.LeftOut{Why: err}
		}
		return rt, err
	}
	if err := opt.Validate(); err != nil {
		return &usageError{err}
	}
	if _, err := placeOf(fmt.Sprintf("cuda:%d", f.device)); err != nil {
		return err
	}
	out, err := openOut(f.out, isGPUCheck)
	if err != nil {
		return err
	}
	saved := false
	if f.out != "" {
		if opt.Before, err = readGPUCheck(f.out); err != nil {
			return err
		}
		opt.Save = func(r *gpucheck.Record) error {
			err := out.replace(func(w io.Writer) error { return report.JSON(w, r) })
			saved = err == nil
			return err
		}
	}
	bar := a.progress()
	opt.Began = func(s gpucheck.Section, n, of int) {
		bar.show(float64(n-1)/float64(of), func() string { return s.Name + ": " + s.About })
	}
	r, err := gpucheck.Run(ctx, opt)
	bar.clear()
	if errors.Is(err, gpucheck.ErrOther) {
		return fmt.Errorf("--out %s: %w", f.out, err)
	}
	if r != nil {
		writeGPUCheck(a.stdout, r)
		if saved {
			fmt.Fprintf(a.stderr, "record written to %s\n", f.out)
		}
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		if f.out == "" {
			return errors.New("interrupted; without --out there is no record to go on from")
		}
		return errors.New("interrupted; the record holds the sections before, and the same command goes on from there")
	}
	return err
}

// readGPUCheck reads the record of an earlier start; nil where there is none.
func readGPUCheck(path string) (*gpucheck.Record, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("--out: %w", err)
	case len(data) == 0:
		return nil, nil
	}
	var r gpucheck.Record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("--out %s: not a record of gpu-check to go on from: %w; name another file", path, err)
	}
	return &r, nil
}

// writeGPUCheck prints what was found.
func writeGPUCheck(w io.Writer, r *gpucheck.Record) {
	name := r.Device
	if r.Fake {
		name += ", no GPU: the fake driver of tests, whose rates mean nothing"
	} else if r.Small {
		name += ", small sizes: rates mean little"
	}
	fmt.Fprintf(w, "encbench gpu-check: %s\n", name)
	for _, s := range r.Done {
		if s.LeftOut != "" {
			fmt.Fprintf(w, "\n%s: left out: %s\n", s.Section, s.LeftOut)
			continue
		}
		state := "passed"
		if !s.Passed() {
			state = "FAILED"
		}
		fmt.Fprintf(w, "\n%s: %s in %s\n", s.Section, state, report.Seconds(s.Seconds))
		if s.Error != "" {
			fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(s.Error, "\n", "\n  "))
		}
		t := columns("  figure", ">value", "share")
		for _, v := range s.Values {
			share := ""
			if v.Share > 0 {
				share = fmt.Sprintf("%.1f %% of %s", 100*v.Share, v.Of)
			}
			t.row("  "+v.Name, valueText(v.Value, v.Unit), share)
		}
		if len(s.Values) > 0 {
			t.write(w)
		}
		for _, fact := range s.Facts {
			fmt.Fprintf(w, "  %s\n", fact)
		}
	}
}

// valueText writes a figure in a unit that suits its size.
func valueText(v float64, unit string) string {
	switch unit {
	case "": // a count
		return bench.Thousands(int64(v))
	case "s":
		return report.Seconds(v)
	case "B", "B/s", "FLOP/s":
		for _, p := range []struct {
			by   float64
			name string
		}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if v >= p.by {
				return report.Number(v/p.by) + " " + p.name + unit
			}
		}
	}
	return strings.TrimSpace(report.Number(v) + " " + unit)
}
