package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"encbench/bench/assets"
	"encbench/bench/env"
	"encbench/bench/env/peak"
	"encbench/cuda"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

var doctorCommand = &command{
	name:  "doctor",
	short: "check this machine: CPU limits, pip, assets, ONNX Runtime, CUDA, noise",
	long: `
Prints one line a check: ok, note (worth knowing) or FAIL with what mends it, and
exits 1 if anything failed. Nothing is downloaded or changed.`,
	examples: []example{
		{"encbench doctor", "before the first run, or when a run surprises"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &doctorFlags{}
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		return f
	},
}

type doctorFlags struct{ ortLibrary string }

// checkup collects the lines of doctor.
type checkup struct {
	app    *app
	failed int
}

func (c *checkup) line(state, what, format string, args ...any) {
	if state == "FAIL" {
		c.failed++
	}
	fmt.Fprintf(c.app.stdout, "%-4s  %-9s  %s\n", state, what, fmt.Sprintf(format, args...))
}

func (f *doctorFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	c := &checkup{app: a}
	facts := env.Collect()
	c.machine(ctx, facts)
	c.python(ctx)
	if err := c.assets(); err != nil {
		return err
	}
	c.runtime(f.ortLibrary)
	c.cuda()
	c.provider(f.ortLibrary)
	switch c.failed {
	case 0:
	case 1:
		return errors.New("one check failed")
	default:
		return fmt.Errorf("%d checks failed", c.failed)
	}
	return nil
}

func (c *checkup) machine(ctx context.Context, f env.Facts) {
	c.line("ok", "cpu", "%s, %d physical cores, %d logical", orWord(f.CPU.Model, "unknown model"), f.CPU.Cores, f.CPU.Logical)
	c.line("ok", "isa", "%s", orWord(strings.Join(f.CPU.ISA, " "), "no relevant instruction sets"))
	c.line("ok", "threads", "%d usable (%s)", env.CPUs(f), cpuLimitsOf(f))
	flops, source, err := peak.FLOPS(ctx, env.CPUs(f), 300*time.Millisecond)
	if err != nil {
		c.line("note", "peak", "not measured: %v", err)
	} else {
		c.line("ok", "peak", "%.0f GFLOP/s float32 (%s)", flops/1e9, source)
	}
	c.line("ok", "memory", "%.1f GB, %.1f GB available", float64(f.Memory.TotalBytes)/1e9, float64(f.Memory.AvailableBytes)/1e9)
	if quiet, reasons := f.Quiet(); quiet {
		c.line("ok", "noise", "quiet")
	} else {
		c.line("note", "noise", "%s", strings.Join(reasons, "; "))
	}
	if len(f.Unknown) > 0 {
		c.line("note", "unknown", "%s", strings.Join(f.Unknown, ", "))
	}
}

func (c *checkup) python(ctx context.Context) {
	python := os.Getenv("ENCBENCH_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.CommandContext(ctx, python, "-m", "pip", "--version").CombinedOutput()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), " from ")
	if err != nil {
		c.line("note", "pip", "%s -m pip: %s; assets that are in the cache still work, new ones need pip (or set ENCBENCH_PYTHON)", python, orWord(first, err.Error()))
		return
	}
	c.line("ok", "pip", "%s", first)
}

func (c *checkup) assets() error {
	s, err := c.app.store()
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		c.line("FAIL", "cache", "%v", err)
		return nil
	}
	c.line("ok", "cache", "%s", s.Dir())
	if own, from, err := assets.Override(pinnedModels[defaultModel], ""); err != nil {
		c.line("FAIL", "model", "%v", err)
	} else if own != "" {
		c.line("ok", "model", "%s, from %s", own, from)
	}
	for _, st := range s.List() {
		switch st.State {
		case "present":
			c.line("ok", "asset", "%s %s", st.Entry.Name, st.Entry.Version)
		case "absent":
			if st.Entry.OnDemand {
				continue
			}
			c.line("note", "asset", "%s is absent; speed gets it, or run `encbench assets get %s`", st.Entry.Name, st.Entry.Name)
		case "corrupt":
			c.line("FAIL", "asset", "%v", st.Err)
		}
	}
	return nil
}

func (c *checkup) runtime(own string) {
	path, from, err := assets.Override("onnxruntime", own)
	if err != nil {
		c.line("FAIL", "runtime", "%v", err)
		return
	}
	if path == "" {
		s, err := c.app.store()
		if err != nil {
			c.line("FAIL", "runtime", "%v", err)
			return
		}
		got, err := s.Lookup("onnxruntime")
		if err != nil {
			c.line("note", "runtime", "not here yet: `encbench assets get onnxruntime`")
			return
		}
		path, from = got.Path, "the cache"
	}
	rt, err := ort.Load(path)
	if err != nil {
		c.line("FAIL", "runtime", "%v", err)
		return
	}
	c.line("ok", "runtime", "ONNX Runtime %s from %s", rt.Version, from)
}

// cuda says what is there on the way to a device. Nothing of it fails a checkup: the CPU
// does without.
func (c *checkup) cuda() {
	for _, f := range cuda.Findings() {
		state, text := "note", f.Detail
		if f.State == cuda.Good {
			state = "ok"
		}
		if f.Advice != "" {
			text += "; " + f.Advice
		}
		c.line(state, f.Name, "%s", text)
	}
}

// provider says what ONNX Runtime's CUDA provider lacks, where it is here or there is a
// device for it.
func (c *checkup) provider(own string) {
	path, folders, err := c.app.providerFiles(own)
	switch {
	case errors.Is(err, assets.ErrAbsent), errors.Is(err, assets.ErrPlatform):
		if devices, none := cuda.Devices(); none == nil && len(devices) > 0 {
			c.line("note", "provider", "%v", noProvider(err, cuda.State().Version))
		}
		return
	case err != nil:
		c.line("FAIL", "provider", "%v", err)
		return
	}
	all, err := ort.Libraries(path, folders)
	if errors.Is(err, ort.ErrNoProvider) {
		// A library for the processor, unless all is in one file.
		if devices, none := cuda.Devices(); none == nil && len(devices) > 0 {
			if rt, err := ort.Load(path); err == nil {
				if err := withCUDA(rt); err != nil {
					c.line("note", "provider", "%v", err)
				}
			}
		}
		return
	}
	if err != nil {
		c.line("note", "provider", "%v", err)
		return
	}
	missing := 0
	for _, l := range all {
		if !l.Found() {
			missing++
			c.line("note", "provider", "%s", l)
		}
	}
	if missing == 0 {
		c.line("ok", "provider", "ONNX Runtime's CUDA provider beside %s, with its %s", filepath.Base(path), count(len(all), "library"))
	}
}

// cpuLimits says what limits this process's CPUs.
func cpuLimits() string { return cpuLimitsOf(env.Collect()) }

func cpuLimitsOf(f env.Facts) string {
	quota := "no cgroup quota"
	if f.Limits.Quota > 0 {
		quota = fmt.Sprintf("cgroup quota %.1f", f.Limits.Quota)
	}
	return fmt.Sprintf("affinity %d, %s", f.Limits.Affinity, quota)
}
