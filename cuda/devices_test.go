//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
)

// What a program finds when it starts, each with a driver of its own kind.
func TestFindings(t *testing.T) {
	if os.Getenv("ENCBENCH_TEST_FINDINGS") == "1" {
		for _, f := range cuda.Findings() {
			fmt.Printf("%s|%s|%s|%s\n", f.Name, f.State, f.Detail, f.Advice)
		}
		return
	}
	cudatest.Set(t, "FAIL", "")
	without := func(names ...string) string {
		lib, err := cudatest.Build(cudatest.Kernels{Sources: []string{"testdata/kernels.cc"}, Lacks: names})
		if err != nil {
			t.Fatal(err)
		}
		return "ENCBENCH_CUDA_DRIVER=" + lib.Path
	}
	for _, c := range []struct {
		name string
		env  []string
		want []string // beginnings of lines, each after the one before
	}{
		{"two devices", []string{"ENCBENCH_FAKE_DEVICES=2", "ENCBENCH_FAKE_NAME=NVIDIA H100 80GB HBM3", "ENCBENCH_FAKE_POWER=700000", "ENCBENCH_FAKE_TAKEN_1=900000000"}, []string{
			"driver|warning|", "functions|", "devices|ok|2|",
			"cuda:0|ok|NVIDIA H100 80GB HBM3, sm_90, 4 multiprocessors, 1.0 GiB, SXM, limit 700 W, ECC on, 0000:00:00.0, GPU-656e6362-",
			"cuda:1|warning|NVIDIA H100 80GB HBM3, sm_90, 4 multiprocessors, 1.0 GiB, SXM, limit 700 W, ECC on, 0000:01:00.0, GPU-656e6362-",
		}},
		{"second of two", []string{"ENCBENCH_FAKE_DEVICES=2", "CUDA_VISIBLE_DEVICES=1"}, []string{`devices|ok|1, CUDA_VISIBLE_DEVICES="1"|`, "cuda:0|ok|encbench fake device, sm_90, 4 multiprocessors, 1.0 GiB, ECC on, 0000:01:00.0,"}},
		{"by its UUID", []string{"ENCBENCH_FAKE_DEVICES=2", "CUDA_VISIBLE_DEVICES=GPU-656e6362-656e-6368-2066-616b65000001,5,0"}, []string{"devices|ok|1, ", "cuda:0|ok|encbench fake device, sm_90, 4 multiprocessors, 1.0 GiB, ECC on, 0000:01:00.0,"}},
		{"hidden", []string{"CUDA_VISIBLE_DEVICES="}, []string{`devices|missing|0, CUDA_VISIBLE_DEVICES=""|CUDA_VISIBLE_DEVICES hides all devices`}},
		{"slice without ECC", []string{"ENCBENCH_FAKE_MIG=1", "ENCBENCH_FAKE_ECC=0"}, []string{"cuda:0|warning|encbench fake device MIG 1g.10gb, sm_90, 4 multiprocessors, 1.0 GiB, ECC off, 0000:00:00.0, MIG-656e6362-"}},
		{"old device", []string{"ENCBENCH_FAKE_CAPABILITY=7.5", "ENCBENCH_FAKE_NAME=Tesla T4"}, []string{"cuda:0|missing|cuda:0 is a Tesla T4 (sm_75): encbench needs sm_80 or later"}},
		{"old driver", []string{"ENCBENCH_FAKE_VERSION=11020"}, []string{"driver|missing|the driver "}},
		{"no version", []string{"ENCBENCH_FAKE_FAIL=cuDriverGetVersion:1:999"}, []string{"driver|missing|the driver "}},
		{"no start", []string{"ENCBENCH_FAKE_INIT=802"}, []string{"driver|missing|"}},
		{"no library", []string{"ENCBENCH_CUDA_DRIVER=/none"}, []string{"driver|missing|/none: cannot open shared object file: No such file or directory|install NVIDIA's driver"}},
		{"functions missing", []string{without("cuMemHostAlloc", "cuTensorMapEncodeTiled")}, []string{"functions|missing|the driver has no cuMemHostAlloc"}},
		{"Hopper's missing", []string{without("cuLaunchKernelEx")}, []string{"functions|warning|the driver has no cuLaunchKernelEx"}},
		{"counting fails", []string{"ENCBENCH_FAKE_FAIL=cuDeviceGetCount:1+:999"}, []string{"devices|missing|cuda: count the devices: 999 CUDA_ERROR_UNKNOWN: unknown error|load the kernel module"}},
		{"no memory for a context", []string{"ENCBENCH_FAKE_FAIL=cuDevicePrimaryCtxRetain:1:2"}, []string{"cuda:0|missing|"}},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFindings$")
		cmd.Env = append(append(os.Environ(), "ENCBENCH_TEST_FINDINGS=1"), c.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		rest := slices.Collect(strings.Lines(string(out)))
		for _, want := range c.want {
			i := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, want) })
			if i < 0 {
				t.Errorf("%s:\n%s\nwant %s", c.name, out, want)
				break
			}
			rest = rest[i+1:]
		}
	}
}

// A function that the driver lacks fails by name where it is called.
func TestLacking(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	lib, err := cudatest.Build(cudatest.Kernels{Sources: []string{"testdata/kernels.cc"}, Lacks: []string{"cuMemsetD8Async"}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEverything$")
	cmd.Env = append(os.Environ(), "ENCBENCH_CUDA_DRIVER="+lib.Path)
	out, err := cmd.CombinedOutput()
	if want := "cuda: set 1024 bytes on device 0: 500 CUDA_ERROR_NOT_FOUND: named symbol not found"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}

func TestEverything(t *testing.T) {
	if err := everything(); err != nil {
		t.Error(err)
	}
	cudatest.Clean(t)
}

// What belongs to one device is no use on another, and a kernel none without its module:
// the fake driver refuses both as the driver does.
func TestForeign(t *testing.T) {
	cudatest.Set(t, "DEVICES", "2")
	var kernel *cuda.Function
	var event *cuda.Event
	var module *cuda.Module
	own, other := must[*cuda.Worker](t)(cuda.Open(0)), must[*cuda.Worker](t)(cuda.Open(1))
	do(t, own, func(c *cuda.Context) error {
		module = must[*cuda.Module](t)(c.Load("test kernels", []byte(ptx)))
		kernel = must[*cuda.Function](t)(c.Function(module, "encbench_test_add"))
		event = must[*cuda.Event](t)(c.NewEvent(true))
		return nil
	})
	refused := func(what string, err error) {
		if cuda.CodeOf(err) != 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
	launch := func(c *cuda.Context, s *cuda.Stream) error {
		return c.Launch(kernel, cuda.Geometry{}, s, 0, 0, 0, cuda.Int(0), cuda.Float(1))
	}
	do(t, other, func(c *cuda.Context) error {
		s := must[*cuda.Stream](t)(c.NewStream())
		refused("a kernel of another device", launch(c, s))
		refused("an event of another device", c.Record(event, s))
		return c.Free(s)
	})
	do(t, own, func(c *cuda.Context) error {
		s := must[*cuda.Stream](t)(c.NewStream())
		if err := errors.Join(launch(c, s), c.Sync(s), c.Free(module)); err != nil {
			return err
		}
		refused("a kernel of a module that is gone", launch(c, s))
		return c.Free(s, event)
	})
	if err := errors.Join(own.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	cudatest.Clean(t)
}

// A device is lost while another works on.
func TestOtherDevices(t *testing.T) {
	cudatest.Set(t, "DEVICES", "3")
	cudatest.Set(t, "FAIL", "kernel@1:2:214")
	var errs [3]error
	done := make(chan int)
	for d := range 3 {
		go func() {
			defer func() { done <- d }()
			w, err := cuda.Open(d)
			if err != nil {
				errs[d] = err
				return
			}
			errs[d] = errors.Join(w.Do(func(c *cuda.Context) (err error) {
				var a *cuda.Buffer
				var s *cuda.Stream
				var m *cuda.Module
				defer func() { err = errors.Join(err, c.Free(a, s, m)) }()
				if a, err = c.Alloc(64); err != nil {
					return err
				}
				if s, err = c.NewStream(); err != nil {
					return err
				}
				if m, err = c.Load("test kernels", []byte(ptx)); err != nil {
					return err
				}
				add, err := c.Function(m, "encbench_test_add")
				if err != nil {
					return err
				}
				for range 4 {
					if err := errors.Join(c.Launch(add, cuda.Geometry{}, s, cuda.Ptr(a), cuda.Ptr(a), cuda.Ptr(a), cuda.Int(4), cuda.Float(1)), c.Sync(s)); err != nil {
						return err
					}
				}
				return nil
			}), w.Close())
		}()
	}
	for range 3 {
		<-done
	}
	want := "cuda: wait for a stream on device 1: 214 CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered"
	if errs[0] != nil || errs[2] != nil || errs[1] == nil || errs[1].Error() != want {
		t.Errorf("%v\nwant the second alone to be %s", errs, want)
	}
	cudatest.Clean(t)
}

// Memory that another process holds is not there, and the error says how much is.
func TestTaken(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	cudatest.Set(t, "TAKEN", "1000000000")
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		if free, total, err := c.Memory(); err != nil || free != 73741824 || total != 1<<30 {
			t.Errorf("%d of %d free, %v", free, total, err)
		}
		_, err := c.Alloc(100 << 20)
		if want := "cuda: allocate 104857600 bytes on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY: out of memory (73741824 of 1073741824 bytes are free)"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		return nil
	})
}

// Memory for copies is page-locked; where that is refused it is plain, with one warning,
// and copies give the same.
func TestHost(t *testing.T) {
	cudatest.Set(t, "FAIL", "cuMemHostAlloc:2:2,cuMemHostAlloc:3:800")
	w := cudatest.Open(t)
	var warnings []string
	h := cuda.NewHost(w, func(s string) { warnings = append(warnings, s) })
	var alloc engine.Allocator = h
	var all [][]byte
	for range 4 {
		b, err := alloc.Alloc(1000)
		if err != nil || len(b) != 1000 || strings.Trim(string(b), "\x00") != "" {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		all = append(all, b)
	}
	none, err := alloc.Alloc(0)
	if err != nil || len(none) != 0 {
		t.Errorf("no bytes: %d, %v", len(none), err)
	}
	want := "cuda: page-lock 1000 bytes of the host's memory on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY: out of memory"
	if n, why := h.Pageable(); n != 2000 || why == nil || why.Error() != want {
		t.Errorf("pageable %d, %v", n, why)
	}
	want += "; plain memory is used, copies do not overlap with work and are slower (raise the limit of locked memory, ulimit -l, or free memory of the host)"
	if len(warnings) != 1 || warnings[0] != want {
		t.Errorf("warnings %q, want %s", warnings, want)
	}
	if n, bytes := cuda.Live(); n != 5 || bytes != 4000 {
		t.Errorf("%d objects of %d bytes", n, bytes)
	}
	do(t, w, func(c *cuda.Context) error {
		s, b := must[*cuda.Stream](t)(c.NewStream()), must[*cuda.Buffer](t)(c.Alloc(1000))
		for i, from := range all {
			for j := range from {
				from[j] = byte(i + j)
			}
			to := all[(i+1)%len(all)]
			if err := errors.Join(c.ToDevice(b, from, s), c.Sync(s), c.ToHost(to, b, s), c.Sync(s)); err != nil {
				return err
			}
			if !slices.Equal(from, to) {
				t.Errorf("copy %d differs", i)
			}
		}
		return c.Free(s, b)
	})
	for _, b := range append(all, none) {
		alloc.Free(b)
	}
	func() {
		defer func() {
			if r := recover(); fmt.Sprint(r) != "cuda: freed memory that this allocator did not give" {
				t.Errorf("memory of others: %v", r)
			}
		}()
		alloc.Free(make([]byte, 1))
	}()
	// What is given back after the device was closed is forgotten.
	late, err := alloc.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	alloc.Free(late)
	if _, err := alloc.Alloc(8); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

// A lost device gives no memory, plain or not: nothing could come of it.
func TestHostOfLostDevice(t *testing.T) {
	cudatest.Set(t, "FAIL", "cuMemHostAlloc:1:719")
	w := cudatest.Open(t)
	h := cuda.NewHost(w, nil)
	if b, err := h.Alloc(8); b != nil || cuda.CodeOf(err) != cuda.CodeLaunchFailed {
		t.Errorf("%v, %v", b, err)
	}
	if n, why := h.Pageable(); n != 0 || why != nil {
		t.Errorf("pageable %d, %v", n, why)
	}
}

// Memory is page-locked once, and copies from it overlap while it is.
func TestRegister(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	cudatest.Set(t, "COPY", "10000") // 1,024 bytes in a tenth of a second
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		s, b := must[*cuda.Stream](t)(c.NewStream()), must[*cuda.Buffer](t)(c.Alloc(1<<10))
		began := func() time.Duration {
			start := time.Now()
			if err := c.ToDevice(b, mapped, s); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		plain := began()
		r := must[*cuda.Registered](t)(c.Register(mapped))
		locked := began()
		if plain < 90*time.Millisecond || locked > plain/2 {
			t.Errorf("a copy of pageable memory returned after %v, of page-locked memory after %v", plain, locked)
		}
		if _, err := c.Register(mapped); err == nil || err.Error() != "cuda: page-lock 1024 bytes that are there on device 0: 712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: part or all of the requested memory range is already mapped" {
			t.Errorf("twice: %v", err)
		}
		if _, err := c.Register(nil); err == nil || err.Error() != "cuda: no bytes to page-lock" {
			t.Errorf("nothing: %v", err)
		}
		return c.Free(r, s, b)
	})
}
