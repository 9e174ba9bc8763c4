//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
)

// mapped is memory that is not Go's.
var mapped = func() []byte {
	b, err := syscall.Mmap(-1, 0, 1<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	return b
}()

// everything uses the device in every way, and frees what it made whatever happens.
func everything() (err error) {
	w, err := cuda.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.Do(func(c *cuda.Context) (err error) {
		var a, b *cuda.Buffer
		var host *cuda.Pinned
		var there *cuda.Registered
		var s *cuda.Stream
		var e1, e2 *cuda.Event
		var m *cuda.Module
		var g *cuda.Graph
		defer func() { err = errors.Join(err, c.Free(a, b, host, there, s, e1, e2, m, g)) }()
		if there, err = c.Register(mapped); err != nil {
			return err
		}
		if _, _, err = c.Memory(); err != nil {
			return err
		}
		for _, to := range []**cuda.Buffer{&a, &b} {
			if *to, err = c.Alloc(1 << 10); err != nil {
				return err
			}
		}
		if host, err = c.AllocHost(1 << 10); err != nil {
			return err
		}
		if s, err = c.NewStream(); err != nil {
			return err
		}
		for _, to := range []**cuda.Event{&e1, &e2} {
			if *to, err = c.NewEvent(true); err != nil {
				return err
			}
		}
		if m, err = c.Load("test kernels", []byte(ptx)); err != nil {
			return err
		}
		add, err := c.Function(m, "encbench_test_add")
		if err != nil {
			return err
		}
		if _, err := c.Attributes(add); err != nil {
			return err
		}
		if _, err := c.Blocks(add, 256, 0); err != nil {
			return err
		}
		if err := c.AllowShared(add, 100<<10); err != nil {
			return err
		}
		launch := func(g cuda.Geometry) error {
			return c.Launch(add, g, s, cuda.Ptr(b), cuda.Ptr(a), cuda.Ptr(a), cuda.Int(256), cuda.Float(1))
		}
		for _, step := range []func() error{
			func() error { return c.Record(e1, s) },
			func() error { return c.ToDevice(a, mapped, s) },
			func() error { return c.ToDevice(a, host.Data, s) },
			func() error { return launch(cuda.Geometry{Shared: 100 << 10}) },
			func() error { return launch(cuda.Geometry{Grid: [3]uint32{4}, Cluster: 2}) },
			func() error { return c.Move(a, b, s) },
			func() error { return c.Fill(b, 1, s) },
			func() error { return c.ToHost(host.Data, b, s) },
			func() error { return c.Record(e2, s) },
			func() error { return c.Wait(s, e2) },
			func() error { return c.SyncEvent(e2) },
			func() error { _, err := c.Done(e2); return err },
			func() error { _, err := c.Elapsed(e1, e2); return err },
			func() error { g, err = c.Capture(s, func() error { return launch(cuda.Geometry{}) }); return err },
			func() error { return c.Replay(g, s) },
			func() error { return c.Sync(s) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// functions are those of the driver that everything calls, with what the error says.
var functions = []struct{ name, want string }{
	{"cuDeviceGetCount", "count the devices"},
	{"cuDeviceGet", "find the device"},
	{"cuDeviceGetName", "ask for its name"},
	{"cuDeviceTotalMem_v2", "ask for its memory"},
	{"cuDeviceGetAttribute", "ask for attribute "},
	{"cuDeviceGetUuid_v2", "ask for its UUID"},
	{"cuDeviceGetPCIBusId", "ask for its place on the bus"},
	{"cuDevicePrimaryCtxRetain", "create the context"},
	{"cuCtxSetCurrent", " the context"},
	{"cuDevicePrimaryCtxRelease_v2", "release the context"},
	{"cuMemGetInfo_v2", "ask for the free memory"},
	{"cuMemAlloc_v2", "allocate 1024 bytes"},
	{"cuMemFree_v2", "free 1024 bytes"},
	{"cuMemHostAlloc", "page-lock 1024 bytes of the host's memory"},
	{"cuMemFreeHost", "free page-locked memory"},
	{"cuCtxSynchronize", "wait before "},
	{"cuMemHostRegister_v2", "page-lock 1024 bytes that are there"},
	{"cuMemHostUnregister", "unlock memory of the host"},
	{"cuStreamCreate", "create a stream"},
	{"cuStreamDestroy_v2", "destroy a stream"},
	{"cuEventCreate", "create an event"},
	{"cuEventDestroy_v2", "destroy an event"},
	{"cuModuleLoadDataEx", "load test kernels"},
	{"cuModuleUnload", "unload a module"},
	{"cuModuleGetFunction", "find kernel encbench_test_add"},
	{"cuFuncGetAttribute", "ask for attribute "},
	{"cuOccupancyMaxActiveBlocksPerMultiprocessor", "ask for the occupancy of encbench_test_add"},
	{"cuFuncSetAttribute", "allow encbench_test_add 102400 bytes of shared memory"},
	{"cuEventRecord", "record an event"},
	{"cuMemcpyHtoDAsync_v2", "copy 1024 bytes to the device"},
	{"cuLaunchKernel", "launch encbench_test_add with grid [1 1 1], block [1 1 1], "},
	{"cuLaunchKernelEx", "launch encbench_test_add with grid [4 1 1], block [1 1 1], 0 bytes shared"},
	{"cuMemcpyDtoDAsync_v2", "copy 1024 bytes on the device"},
	{"cuMemsetD8Async", "set 1024 bytes"},
	{"cuMemcpyDtoHAsync_v2", "copy 1024 bytes from the device"},
	{"cuStreamWaitEvent", "let a stream wait"},
	{"cuEventSynchronize", "wait for an event"},
	{"cuEventQuery", "ask an event"},
	{"cuEventElapsedTime", "take the time between events"},
	{"cuStreamBeginCapture_v2", "begin a capture"},
	{"cuStreamEndCapture", "end a capture"},
	{"cuGraphInstantiateWithFlags", "end a capture"},
	{"cuGraphDestroy", "end a capture"},
	{"cuGraphLaunch", "launch a graph"},
	{"cuGraphExecDestroy", "destroy a graph"},
	{"cuStreamSynchronize", "wait for a stream"},
}

// codes are those that calls fail with: what a device can come to.
var codes = []int{
	cuda.CodeOutOfMemory, 46 /* unavailable, lost */, cuda.CodeECC, cuda.CodeInvalidPTX, cuda.CodeUnsupportedPTX,
	cuda.CodeIllegalAddress, 702 /* timeout */, cuda.CodeLaunchFailed, 800 /* not permitted */, 999,
}

// finish runs f, which is not to hang.
func finish(t *testing.T, name string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: hangs", name)
		return nil
	}
}

// calls counts the calls of each function while f runs.
func calls(t *testing.T, f func() error) map[string]int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "calls")
	cudatest.Set(t, "TRACE", file)
	if err := f(); err != nil {
		t.Fatal(err)
	}
	cudatest.Set(t, "TRACE", "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for name := range strings.FieldsSeq(string(text)) {
		n[name]++
	}
	return n
}

// The functions that the table below has, those that Findings looks for, and those that
// are called are the same ones.
func TestCalled(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	var table []string
	for _, f := range functions {
		table = append(table, f.name)
	}
	slices.Sort(table)
	var seen []string
	for name := range calls(t, everything) {
		if strings.HasPrefix(name, "cu") { // others are work of the device
			seen = append(seen, name)
		}
	}
	if slices.Sort(seen); !slices.Equal(seen, table) {
		t.Errorf("called %q\nin the table %q", seen, table)
	}
	// Called when the program starts or for the text of an error, or by other packages.
	seen = append(seen, "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuTensorMapEncodeTiled")
	if slices.Sort(seen); !slices.Equal(seen, cuda.Called()) {
		t.Errorf("called %q\nFindings looks for %q", seen, cuda.Called())
	}
	shim, err := os.ReadFile("shim.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\b(cu[A-Z]\w+)\(`).FindAllSubmatch(shim, -1) {
		// The header has macros that add a version.
		if name := string(m[1]); !slices.ContainsFunc(cuda.Called(), func(s string) bool { return s == name || strings.HasPrefix(s, name+"_v") }) {
			t.Errorf("the shim calls %s, which Findings does not look for", name)
		}
	}
}

// Every call that can fail fails, the first and later ones, with every code. The error
// says what was tried, nothing stays allocated, nothing hangs, and a new context works.
func TestEveryCallFails(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	times := calls(t, everything)
	runs := 0
	for _, f := range functions {
		for n := 1; n <= min(times[f.name], 3); n++ {
			for _, code := range codes {
				fault := fmt.Sprintf("%s:%d:%d", f.name, n, code)
				cudatest.Set(t, "FAIL", fault)
				err := finish(t, fault, everything)
				if got := cuda.CodeOf(err); got != code || !strings.Contains(err.Error(), f.want) {
					t.Errorf("%s: %v, want %s", fault, err, f.want)
				}
				cudatest.Clean(t)
				runs++
			}
		}
	}
	if runs < len(functions)*len(codes) {
		t.Errorf("%d faults were tried", runs)
	}
	cudatest.Set(t, "FAIL", "")
	if err := everything(); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// Work of the device fails after it was asked for: the next wait says so, with every code.
func TestEveryWorkFails(t *testing.T) {
	for _, work := range []string{"kernel", "copy-in", "copy-out", "copy", "set"} {
		for _, code := range codes {
			fault := fmt.Sprintf("%s:1:%d", work, code)
			cudatest.Set(t, "FAIL", fault)
			if err := finish(t, fault, everything); cuda.CodeOf(err) != code {
				t.Errorf("%s: %v", fault, err)
			}
			cudatest.Clean(t)
		}
	}
	cudatest.Set(t, "FAIL", "")
	if err := everything(); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// Each allocation in turn finds no memory.
func TestOutOfMemory(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		b, err := c.Alloc(2 << 30)
		if b != nil || !errors.Is(err, &cuda.Error{Code: cuda.CodeOutOfMemory}) ||
			err.Error() != "cuda: allocate 2147483648 bytes on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY: out of memory (1073741824 of 1073741824 bytes are free)" {
			t.Errorf("2 GiB of 1: %v", err)
		}
		b, err = c.Alloc(1 << 20)
		if err != nil {
			t.Errorf("afterwards: %v", err)
		}
		return c.Free(b)
	})
}

// A fault of a kernel or a copy shows at the next wait; the context is lost, every later
// call says so, and what was allocated is forgotten.
func TestSticky(t *testing.T) {
	for _, fault := range []string{"stray", "kernel:1:719", "copy-in:1:214", "copy:1:46"} {
		cudatest.Set(t, "FAIL", strings.TrimPrefix(fault, "stray"))
		w, err := cuda.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		do(t, w, func(c *cuda.Context) error {
			a, s := must[*cuda.Buffer](t)(c.Alloc(8)), must[*cuda.Stream](t)(c.NewStream())
			host := must[*cuda.Pinned](t)(c.AllocHost(8))
			m := must[*cuda.Module](t)(c.Load("test kernels", []byte(ptx)))
			stray, add := must[*cuda.Function](t)(c.Function(m, "encbench_test_stray")), must[*cuda.Function](t)(c.Function(m, "encbench_test_add"))
			var first error
			for _, step := range []func() error{
				func() error { return c.ToDevice(a, host.Data, s) },
				func() error { return c.Move(a, a, s) },
				func() error {
					return c.Launch(add, cuda.Geometry{}, s, cuda.Ptr(a), cuda.Ptr(a), cuda.Ptr(a), cuda.Int(2), cuda.Float(1))
				},
				func() error {
					if fault != "stray" {
						return nil
					}
					return c.Launch(stray, cuda.Geometry{}, s)
				},
				func() error { return c.Sync(s) },
			} {
				if first = step(); first != nil {
					break
				}
			}
			e := (*cuda.Error)(nil)
			if !errors.As(first, &e) || !e.Sticky() {
				t.Fatalf("%s: %v", fault, first)
			}
			_, later := c.Alloc(8)
			if want := "cuda: device 0 was lost before: " + first.Error(); later == nil || later.Error() != want {
				t.Errorf("%s: later %v, want %s", fault, later, want)
			}
			if err := c.Free(a, s, host, m); err != nil {
				t.Errorf("%s: free: %v", fault, err)
			}
			return nil
		})
		if err := w.Close(); err != nil {
			t.Errorf("%s: close: %v", fault, err)
		}
		cudatest.Clean(t)
	}
	cudatest.Set(t, "FAIL", "")
	if err := everything(); err != nil {
		t.Errorf("a new context: %v", err)
	}
}

// PTX that the driver refuses is told with the compiler's log.
func TestRefusedPTX(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"no PTX", ptx, "text", "load x on device 0: 218 CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed\nfake ptxas: no .version or no .target"},
		{"too new", "7.0", "9.5", "load x on device 0: 222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.\nfake ptxas: PTX .version 9.5 is not supported"},
		{"of other sources", "STAMP test", "STAMP other", `fake ptxas: the PTX has stamp "other", the kernels of this library "test"`},
		{"unknown kernel", "test_stray", "test_spray", "fake ptxas: kernel encbench_test_spray is not in this library"},
		{"parameter too few", ", .param .f64 p4", "", "fake ptxas: kernel encbench_test_add has 4 parameters in the PTX and 5 in this library"},
		{"narrow parameter", ".u64 p3", ".u32 p3", "fake ptxas: kernel encbench_test_add has a parameter that is not 8 bytes wide"},
	} {
		cudatest.Set(t, "FAIL", "")
		w := cudatest.Open(t)
		do(t, w, func(ctx *cuda.Context) error {
			text := strings.Replace(ptx, c.from, c.to, 1)
			if m, err := ctx.Load("x", []byte(text)); m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			return nil
		})
	}
}

// Drivers and devices that cannot be used, each in a program of its own: the driver is
// opened when a program starts.
func TestUnusable(t *testing.T) {
	if os.Getenv("ENCBENCH_TEST_OPEN") == "1" {
		_, err := cuda.Open(0)
		fmt.Printf("state %+v\nerror %v\n", cuda.State(), err)
		return
	}
	cudatest.Set(t, "FAIL", "")
	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"no library", []string{"ENCBENCH_CUDA_DRIVER=/none/libcuda.so"}, []string{"Init:100", "error no CUDA driver: /none/libcuda.so: cannot open shared object file: No such file or directory"}},
		{"no driver in the library", []string{"ENCBENCH_CUDA_DRIVER=libm.so.6"}, []string{"error no CUDA driver: it has no function cuInit"}},
		{"driver without a device", []string{"ENCBENCH_FAKE_DEVICES=0"}, []string{"error cuda: open on device 0: 100 CUDA_ERROR_NO_DEVICE: the driver shows no device; is CUDA_VISIBLE_DEVICES set?"}},
		{"driver that does not start", []string{"ENCBENCH_FAKE_INIT=804"}, []string{"Init:804", "error cuda: start the driver ", ": 804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was attempted on non supported HW"}},
		{"old device", []string{"ENCBENCH_FAKE_CAPABILITY=7.5", "ENCBENCH_FAKE_NAME=Tesla T4"}, []string{"error cuda:0 is a Tesla T4 (sm_75): encbench needs sm_80 or later (A100, L4, L40S, H100, ...)"}},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnusable$")
		cmd.Env = append(append(os.Environ(), "ENCBENCH_TEST_OPEN=1"), c.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s:\n%s\nwant %s", c.name, out, want)
			}
		}
	}
	if err := func() error { _, err := cuda.Open(7); return err }(); err == nil || err.Error() != "cuda: device 7: the driver shows 1, numbered from 0" {
		t.Errorf("device 7: %v", err)
	}
}
