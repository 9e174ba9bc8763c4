//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
)

func TestMain(m *testing.M) {
	cudatest.Main(m, cudatest.Kernels{Sources: []string{"testdata/kernels.cc"}})
}

// ptx is what a compiler would make of testdata/kernels.cc.
const ptx = `// STAMP test
.version 7.0
.target sm_80
.address_size 64
.visible .entry encbench_test_add(
	.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .f64 p4
)
{ ret; }
.visible .entry encbench_test_stray()
{ ret; }
`

func floats(vs ...float32) []byte {
	var out []byte
	for _, v := range vs {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// do runs f on the device's thread and fails the test with its error.
func do(t testing.TB, w *cuda.Worker, f func(*cuda.Context) error) {
	t.Helper()
	if err := w.Do(f); err != nil {
		t.Fatal(err)
	}
}

// must gives a value whose error ends the test.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestDevices(t *testing.T) {
	devices, err := cuda.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(devices) == 0 {
		t.Fatal("no device")
	}
	d := devices[0]
	if d.Name == "" || d.Memory <= 0 || d.SMs <= 0 || d.Major < cuda.LeastMajor || !strings.HasPrefix(d.UUID, "GPU-") || d.PCI == "" || d.SharedPerBlock < 48<<10 {
		t.Errorf("device %+v", d)
	}
	if s := cuda.State(); !s.Built || s.Init != 0 || s.Version < 11000 || s.Error != "" {
		t.Errorf("driver %+v", s)
	}
}

// Copies of all kinds, from page-locked memory and from other, a kernel, and events.
func TestWork(t *testing.T) {
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		const n = 1000
		a, b, to := must[*cuda.Buffer](t)(c.Alloc(4*n)), must[*cuda.Buffer](t)(c.Alloc(4*n)), must[*cuda.Buffer](t)(c.Alloc(4*n))
		s := must[*cuda.Stream](t)(c.NewStream())
		host := must[*cuda.Pinned](t)(c.AllocHost(4 * n))
		begin, end := must[*cuda.Event](t)(c.NewEvent(true)), must[*cuda.Event](t)(c.NewEvent(true))
		m := must[*cuda.Module](t)(c.Load("test kernels", []byte(ptx)))
		add := must[*cuda.Function](t)(c.Function(m, "encbench_test_add"))
		for i := range n {
			binary.LittleEndian.PutUint32(host.Data[4*i:], math.Float32bits(float32(i)))
		}
		plain := bytes.Clone(host.Data)
		err := errors.Join(
			c.Record(begin, s),
			c.ToDevice(a, host.Data, s),
			c.ToDevice(b, plain, s),
			c.Launch(add, cuda.Geometry{Grid: [3]uint32{4}, Block: [3]uint32{256}}, s, cuda.Ptr(to), cuda.Ptr(a), cuda.Ptr(b), cuda.Int(n), cuda.Float(0.5)),
			c.Record(end, s),
			c.Sync(s),
		)
		if err != nil {
			return err
		}
		got := make([]byte, 4*n)
		if err := errors.Join(c.ToHost(got, to, s), c.Sync(s)); err != nil {
			return err
		}
		if !bytes.Equal(got, plain) { // (x + x) / 2
			t.Error("the kernel's result differs")
		}
		if took, err := c.Elapsed(begin, end); err != nil || took <= 0 {
			t.Errorf("between the events %v, %v", took, err)
		}
		if done, err := c.Done(end); !done || err != nil {
			t.Errorf("event done %v, %v", done, err)
		}
		part := to.Slice(4*10, 8)
		if err := errors.Join(c.Fill(part, 0, s), c.Move(to, to.Slice(4*20, 4), s), c.ToHost(got[:4*12], to, s), c.Sync(s)); err != nil {
			return err
		}
		if want := floats(20, 1); !bytes.Equal(got[:8], want) || !bytes.Equal(got[40:48], make([]byte, 8)) {
			t.Errorf("after a move and a fill % x, % x", got[:8], got[40:48])
		}
		return c.Free(a, b, to, s, host, begin, end, m)
	})
}

func TestGraph(t *testing.T) {
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		a, s := must[*cuda.Buffer](t)(c.Alloc(8)), must[*cuda.Stream](t)(c.NewStream())
		m := must[*cuda.Module](t)(c.Load("test kernels", []byte(ptx)))
		add := must[*cuda.Function](t)(c.Function(m, "encbench_test_add"))
		if err := errors.Join(c.ToDevice(a, floats(1, 3), s), c.Sync(s)); err != nil {
			return err
		}
		g := must[*cuda.Graph](t)(c.Capture(s, func() error { // doubles
			return c.Launch(add, cuda.Geometry{}, s, cuda.Ptr(a), cuda.Ptr(a), cuda.Ptr(a), cuda.Int(2), cuda.Float(1))
		}))
		got := make([]byte, 8)
		if err := errors.Join(c.Replay(g, s), c.Replay(g, s), c.Replay(g, s), c.ToHost(got, a, s), c.Sync(s)); err != nil {
			return err
		}
		if !bytes.Equal(got, floats(8, 24)) {
			t.Errorf("three times doubled % x", got)
		}
		failed := errors.New("no")
		if _, err := c.Capture(s, func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("a capture that fails: %v", err)
		}
		if err := c.Sync(s); err != nil {
			t.Errorf("the stream after that: %v", err)
		}
		return c.Free(g, a, s, m)
	})
}

// Objects are freed once, and what is not freed is told with its place.
func TestLive(t *testing.T) {
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		b := must[*cuda.Buffer](t)(c.Alloc(100))
		if n, bytes := cuda.Live(); n != 1 || bytes != 100 {
			t.Errorf("%d objects, %d bytes", n, bytes)
		}
		if leaks := cuda.Leaks(); len(leaks) != 1 || !strings.Contains(leaks[0], "cuda_test.go:") || !strings.HasSuffix(leaks[0], ": device memory of 100 bytes") {
			t.Errorf("leaks %q", leaks)
		}
		var none *cuda.Stream
		if err := c.Free(b, none, nil, b); err != nil {
			t.Errorf("freed twice: %v", err)
		}
		return nil
	})
}

func TestClosed(t *testing.T) {
	w, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := w.Do(func(*cuda.Context) error { return nil }); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

func TestBounds(t *testing.T) {
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		b, s := must[*cuda.Buffer](t)(c.Alloc(8)), must[*cuda.Stream](t)(c.NewStream())
		defer func() {
			if err := c.Free(b, s); err != nil {
				t.Error(err)
			}
		}()
		want := "cuda: a copy of 9 bytes and a buffer of 8"
		for _, err := range []error{c.ToDevice(b, make([]byte, 9), s), c.ToHost(make([]byte, 9), b, s), c.Move(b, cuda.View(b.Ptr, 9), s)} {
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		defer func() {
			if r := recover(); fmt.Sprint(r) != "cuda: bytes 4 to 12 of a buffer of 8" {
				t.Errorf("slice: %v", r)
			}
		}()
		b.Slice(4, 8)
		return nil
	})
}

// Copies on a stream of their own run beside a kernel: with two blocks the time is near
// the longer of the two, with one their sum. Events say the same from the inside. The fake
// driver sleeps and does not compute, so a machine with one processor shows it too.
func TestOverlap(t *testing.T) {
	const each = 60 * time.Millisecond
	cudatest.Set(t, "COPY", "100000000")
	cudatest.Set(t, "KERNEL", fmt.Sprint(each.Nanoseconds()))
	w := cudatest.Open(t)
	do(t, w, func(c *cuda.Context) error {
		const n, rounds = 6_000_000, 6 // bytes: as long as a kernel
		host := must[*cuda.Pinned](t)(c.AllocHost(n))
		copies, work := must[*cuda.Stream](t)(c.NewStream()), must[*cuda.Stream](t)(c.NewStream())
		m := must[*cuda.Module](t)(c.Load("test kernels", []byte(ptx)))
		add := must[*cuda.Function](t)(c.Function(m, "encbench_test_add"))
		event := func() *cuda.Event { return must[*cuda.Event](t)(c.NewEvent(true)) }
		// run gives the time of all rounds, and the sums of what copies and kernels took.
		run := func(slots int) (all, copying, computing time.Duration) {
			var blocks []*cuda.Buffer
			var free []*cuda.Event
			for range slots {
				blocks, free = append(blocks, must[*cuda.Buffer](t)(c.Alloc(n))), append(free, event())
			}
			var marks []*cuda.Event // of each round: copy from, to; kernel from, to
			for i := range rounds {
				k := i % slots
				a, b, x, y := event(), event(), event(), event()
				marks = append(marks, a, b, x, y)
				err := errors.Join(c.Wait(copies, free[k]), c.Record(a, copies), c.ToDevice(blocks[k], host.Data, copies), c.Record(b, copies),
					c.Wait(work, b), c.Record(x, work),
					c.Launch(add, cuda.Geometry{}, work, cuda.Ptr(blocks[k]), cuda.Ptr(blocks[k]), cuda.Ptr(blocks[k]), cuda.Int(1), cuda.Float(1)), c.Record(y, work), c.Record(free[k], work))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(c.Sync(copies), c.Sync(work)); err != nil {
				t.Fatal(err)
			}
			between := func(from, to *cuda.Event) time.Duration { return must[time.Duration](t)(c.Elapsed(from, to)) }
			for i := 0; i < len(marks); i += 4 {
				copying += between(marks[i], marks[i+1])
				computing += between(marks[i+2], marks[i+3])
			}
			all = between(marks[0], marks[len(marks)-1])
			for _, e := range append(marks, free...) {
				if err := c.Free(e); err != nil {
					t.Fatal(err)
				}
			}
			for _, b := range blocks {
				if err := c.Free(b); err != nil {
					t.Fatal(err)
				}
			}
			return all, copying, computing
		}
		for slots := 1; slots <= 2; slots++ {
			all, copying, computing := run(slots)
			if copying < rounds*each || computing < rounds*each {
				t.Errorf("%d blocks: events say %v of copies and %v of kernels, at least %v each", slots, copying, computing, rounds*each)
			}
			longer, sum := max(copying, computing)+each, copying+computing // one copy has nothing to hide under
			if ratio := float64(all) / float64(longer); slots == 2 && (ratio < 0.8 || ratio > 1.25) {
				t.Errorf("two blocks: %v in all, %v of copies, %v of kernels: %.2f of the longer", all, copying, computing, ratio)
			}
			if ratio := float64(all) / float64(sum); slots == 1 && (ratio < 0.95 || ratio > 1.25) {
				t.Errorf("one block: %v in all, %v of copies, %v of kernels: %.2f of the sum", all, copying, computing, ratio)
			}
		}
		return c.Free(host, copies, work, m)
	})
}
