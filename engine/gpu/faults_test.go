//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/cpu"
)

// small is a search that takes every way of the memory: rows that stay, rows that are
// streamed, copies of float32 rows, and a scale.
func small(devices int) *trial {
	c := &trial{name: "small", elem: engine.F32, k: 3, devices: devices, rng: rand.New(rand.NewPCG(5, 6))}
	c.opt = Options{Dim: 8, Metric: engine.Cosine, Kept: 4, BlockRows: 16, stay: 16, most: 12, room: 24, PanelRows: 16, PrimeRows: -1}
	for range 60*devices + 2 {
		row := make([]float32, c.opt.Dim)
		normal(c.rng, row, 1)
		c.rows = append(c.rows, row)
	}
	c.queries, c.rows = c.rows[:2], c.rows[2:]
	return c
}

// outcome is what a run came to.
type outcome struct {
	err     error
	hits    engine.Hits
	devices []Device
}

// run opens devices, appends, searches and closes everything, whatever fails.
func (c *trial) run(ctx context.Context) (o outcome) {
	var workers []*cuda.Worker
	defer func() {
		for _, w := range workers {
			o.err = errors.Join(o.err, w.Close())
		}
	}()
	for i := range c.devices {
		w, err := cuda.Open(i)
		if err != nil {
			o.err = err
			return o
		}
		workers = append(workers, w)
	}
	s, err := New(c.opt, workers...)
	if err != nil {
		o.err = err
		return o
	}
	defer func() { o.devices, o.err = s.Devices(), errors.Join(o.err, s.Close()) }()
	each := len(c.rows) / c.devices
	for at := 0; at < len(c.rows); at += each {
		if err := s.Append(ctx, int64(at), nil, rowsOf(c.rows[at:at+each], c.elem)); err != nil {
			o.err = err
			return o
		}
	}
	o.err = s.Search(ctx, rowsOf(c.queries, engine.F32), c.k, &o.hits)
	return o
}

// safe runs a trial, which must come back in time and leave nothing behind.
func (c *trial) safe(t *testing.T, ctx context.Context, what string) outcome {
	t.Helper()
	before := runtime.NumGoroutine()
	done := make(chan outcome, 1)
	go func() { done <- c.run(ctx) }()
	var o outcome
	select {
	case o = <-done:
	case <-time.After(30 * time.Second):
		stacks := make([]byte, 1<<16)
		t.Fatalf("%s: it hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
	if n, bytes := cuda.Live(); n != 0 || bytes != 0 {
		t.Fatalf("%s: after %v, %d objects of %d bytes are not freed:\n%s", what, o.err, n, bytes, strings.Join(cuda.Leaks(), "\n"))
	}
	for wait := time.Millisecond; runtime.NumGoroutine() > before; wait *= 2 {
		if wait > 2*time.Second {
			t.Fatalf("%s: %d goroutines, %d before", what, runtime.NumGoroutine(), before)
		}
		time.Sleep(wait)
	}
	return o
}

// right says whether the hits are those of the definition.
func (c *trial) right(t *testing.T, h *engine.Hits) bool {
	t.Helper()
	plain, err := cpu.NewPlain(cpu.Options{Dim: c.opt.Dim, Metric: c.opt.Metric})
	if err != nil {
		t.Fatal(err)
	}
	var want engine.Hits
	if err := errors.Join(plain.Append(context.Background(), 0, nil, rowsOf(c.rows, c.elem)),
		plain.Search(context.Background(), rowsOf(c.queries, engine.F32), c.k, &want)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(want) == fmt.Sprint(*h)
}

// Every call of the driver fails once, one after another. The error carries the driver's
// code and says what was tried; nothing is left, nothing hangs. Where the search helps
// itself, the answer is right and a warning says so.
func TestFaults(t *testing.T) {
	c := small(1)
	for _, f := range []struct {
		call string
		code int
		want string // in every error
		help string // in the warning of a run that ends well; "" where every fault is an error
	}{
		{"cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY: out of memory (", "rows from here on are streamed. The plan was: "},
		{"cuMemHostAlloc", 2, "", "other memory is taken: copies of it are slower and run beside no search"},
		{"cuMemHostAlloc", 719, "page-lock ", ""},
		{"cuLaunchKernel", 701, "launch encbench_", ""},
		{"cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED", ""},
		{"cuMemcpyHtoDAsync_v2", 1, " to the device on device 0", ""},
		{"cuMemcpyDtoHAsync_v2", 1, " from the device on device 0", ""},
		{"cuMemsetD8Async", 1, "set ", ""},
		{"cuMemGetInfo_v2", 999, "ask for the free memory", ""},
		{"cuStreamCreate", 2, "create a stream", ""},
		{"cuEventCreate", 2, "create an event", ""},
		{"cuEventRecord", 1, "record an event", ""},
		{"cuEventSynchronize", 1, "wait for an event", ""},
		{"cuEventElapsedTime", 1, "take the time between events", ""},
		{"cuStreamWaitEvent", 1, "let a stream wait", ""},
		{"cuStreamSynchronize", 1, "wait for a stream", ""},
		{"cuModuleLoadDataEx", 222, "load the kernels", ""},
		{"cuModuleGetFunction", 500, "find kernel encbench_", ""},
		{"cuFuncSetAttribute", 1, "allow encbench_search_", ""},
		{"cuMemFree_v2", 1, "free ", ""},
		{"cuMemFreeHost", 1, "free page-locked memory", ""},
		{"cuStreamDestroy_v2", 1, "destroy a stream", ""},
		{"cuEventDestroy_v2", 1, "destroy an event", ""},
		{"cuModuleUnload", 1, "unload a module", ""},
		{"kernel", 700, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered", ""},
		{"kernel", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", ""},
		{"copy-in", 214, "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered", ""},
		{"copy-out", 719, "CUDA_ERROR_LAUNCH_FAILED", ""},
	} {
		errs, helped := 0, 0
		for n := 1; ; n++ {
			what := fmt.Sprintf("%s:%d:%d", f.call, n, f.code)
			cudatest.Set(t, "FAIL", what)
			o := c.safe(t, context.Background(), what)
			if o.err == nil {
				if !c.right(t, &o.hits) {
					t.Fatalf("%s: wrong hits %+v", what, o.hits)
				}
				warnings := strings.Join(o.devices[0].Warnings, "\n")
				if warnings == "" {
					break // it no longer comes to call n
				}
				if f.help == "" || !strings.Contains(warnings, f.help) {
					t.Fatalf("%s: a warning that is not %q: %s", what, f.help, warnings)
				}
				helped++
				continue
			}
			errs++
			e := (*cuda.Error)(nil)
			if !errors.As(o.err, &e) || e.Code != f.code || f.want == "" || !strings.Contains(o.err.Error(), f.want) {
				t.Fatalf("%s: %v, want %q", what, o.err, f.want)
			}
		}
		t.Logf("%s, code %d: %d errors, %d warnings", f.call, f.code, errs, helped)
		if f.want != "" && errs == 0 || f.help != "" && helped == 0 {
			t.Errorf("%s, code %d: %d errors and %d warnings", f.call, f.code, errs, helped)
		}
	}
}

// Every look at the context can be the one that finds it cancelled: before, during an
// append, within a block and before the scores by the rule.
func TestCancelled(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := small(1)
	seen := 0
	for n := 1; ; n++ {
		ctx := &cancels{Context: context.Background(), at: n}
		o := c.safe(t, ctx, fmt.Sprintf("cancelled at look %d", n))
		if o.err == nil {
			break
		}
		seen++
		if !errors.Is(o.err, context.Canceled) || !strings.HasPrefix(o.err.Error(), "search: ") && !strings.HasPrefix(o.err.Error(), "append rows to a search: ") {
			t.Fatalf("look %d: %v", n, o.err)
		}
	}
	if seen < 10 {
		t.Errorf("%d looks at the context", seen)
	}
}

// cancels is cancelled from the at-th look on.
type cancels struct {
	context.Context
	at, looks int
}

func (c *cancels) Err() error {
	if c.looks++; c.looks >= c.at {
		return context.Canceled
	}
	return nil
}

// A search that was cancelled, or an append, leaves the searcher as it was.
func TestCancelledAndOn(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := small(1)
	s, err := New(c.opt, openAt(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var h engine.Hits
	rows, q := rowsOf(c.rows, c.elem), rowsOf(c.queries, engine.F32)
	for at := 2; at < 5; at++ {
		if err := s.Append(&cancels{Context: context.Background(), at: at}, 0, nil, rows); !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v", err)
		}
	}
	if err := s.Append(context.Background(), 0, nil, rows); err != nil {
		t.Fatal(err)
	}
	for at := 2; at < 8; at++ {
		if err := s.Search(&cancels{Context: context.Background(), at: at}, q, c.k, &h); !errors.Is(err, context.Canceled) {
			t.Fatalf("search: %v", err)
		}
	}
	if err := s.Search(context.Background(), q, c.k, &h); err != nil || !c.right(t, &h) {
		t.Errorf("afterwards: %v, %+v", err, h)
	}
}

// Of two devices one fails: the other finishes its part, and the error names the device.
func TestOneOfTwoFails(t *testing.T) {
	cudatest.Set(t, "DEVICES", "2")
	cudatest.Set(t, "FAIL", "")
	c := small(2)
	if o := c.safe(t, context.Background(), "two devices"); o.err != nil || !c.right(t, &o.hits) {
		t.Fatalf("%v, %+v", o.err, o.hits)
	}
	failed := 0
	for n := 20; n < 60; n += 5 {
		cudatest.Set(t, "FAIL", fmt.Sprintf("kernel:%d:700", n))
		o := c.safe(t, context.Background(), fmt.Sprintf("kernel %d", n))
		if o.err == nil {
			break
		}
		text := o.err.Error()
		bad := 0
		if strings.Contains(text, "device 1: cuda: ") {
			bad = 1
		}
		if !strings.Contains(text, fmt.Sprintf("device %d: cuda: ", bad)) || strings.Contains(text, fmt.Sprintf("device %d: cuda: ", 1-bad)) {
			t.Errorf("kernel %d: %v", n, o.err)
		}
		if !strings.HasPrefix(text, "search: ") {
			continue
		}
		if other := o.devices[1-bad].Last; other.Certified+other.Scanned+other.Widened < 2 || other.Wall == 0 {
			t.Errorf("kernel %d: device %d did not finish: %+v", n, 1-bad, other)
		}
		failed++
	}
	if failed == 0 {
		t.Error("no search failed")
	}
}

// Where no memory can be page-locked, everything still works, slower, and it says so.
func TestNothingPinned(t *testing.T) {
	cudatest.Set(t, "FAIL", "cuMemHostAlloc:1+:1")
	c := small(1)
	o := c.safe(t, context.Background(), "nothing page-locked")
	if o.err != nil || !c.right(t, &o.hits) {
		t.Fatalf("%v, %+v", o.err, o.hits)
	}
	d := o.devices[0]
	if d.Last.Pageable == 0 || d.Last.Pageable != d.Last.In.Bytes {
		t.Errorf("%d bytes of %d from memory that is not page-locked", d.Last.Pageable, d.Last.In.Bytes)
	}
	const want = "search on device 0: cuda: page-lock 1920 bytes of the host's memory on device 0: 1 CUDA_ERROR_INVALID_VALUE: invalid argument; " +
		"other memory is taken: copies of it are slower and run beside no search. A higher limit of locked memory (ulimit -l) or more free memory avoids that"
	if len(d.Warnings) != 1 || d.Warnings[0] != want {
		t.Errorf("warnings %q", d.Warnings)
	}
}

// No device below compute capability 8.0 gets a search.
func TestOldDevice(t *testing.T) {
	cudatest.Set(t, "CAPABILITY", "7.5")
	cudatest.Set(t, "NAME", "Tesla T4")
	o := small(1).safe(t, context.Background(), "old device")
	all, err := cuda.Devices()
	if err != nil {
		t.Fatal(err)
	}
	want := all[0].Supported() // its text is a test of package cuda
	if want == nil || o.err == nil || o.err.Error() != want.Error() || !strings.Contains(o.err.Error(), "Tesla T4") {
		t.Errorf("%v, want %v", o.err, want)
	}
}

// Slots that were opened for rows of another type are not used for these.
func TestOtherTypeAfterFault(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := small(1)
	c.opt = Options{Dim: 8, BlockRows: 16, stay: -1, most: 12, room: 24, PanelRows: 16, PrimeRows: -1}
	w := openAt(t, 0)
	refused := 0
	for n := 1; ; n++ {
		s, err := New(c.opt, w)
		if err != nil {
			t.Fatal(err)
		}
		cudatest.Set(t, "FAIL", fmt.Sprintf("cuMemAlloc_v2:%d:2", n))
		fault := s.Append(context.Background(), 0, nil, rowsOf(c.rows, engine.BF16))
		cudatest.Set(t, "FAIL", "")
		if fault != nil {
			var h engine.Hits
			if err := s.Append(context.Background(), 0, nil, rowsOf(c.rows, engine.F32)); err != nil {
				if refused++; !strings.Contains(err.Error(), "open another search") {
					t.Errorf("%d: %v", n, err)
				}
			} else if err := s.Search(context.Background(), rowsOf(c.queries, engine.F32), c.k, &h); err != nil || !c.right(t, &h) {
				t.Errorf("%d: %v, %+v", n, err, h)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if fault == nil {
			break
		}
	}
	if refused == 0 {
		t.Error("no slot was opened before a fault")
	}
}
