//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/onnx"
)

// slow makes copies and runs of the fake take so long that what else goes on in the
// machine counts little: bytes a second, and the least time of a run.
func slow(t *testing.T, rate int, run time.Duration) {
	t.Helper()
	cudatest.Set(t, "COPY", fmt.Sprint(rate))
	cudatest.Set(t, "KERNEL", fmt.Sprint(run.Nanoseconds()))
}

// used encodes a sample several times and gives what the encoder then says of itself, with
// the work in all. Use is asked all the while and never goes back.
func used(t *testing.T, rt *Runtime, opt CUDAOptions, batches int) (DeviceUse, engine.Work) {
	t.Helper()
	enc, err := OpenCUDA(rt, deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true}), opt)
	if err != nil {
		t.Fatal(err)
	}
	if u := enc.Use(); u != (DeviceUse{}) {
		t.Errorf("use before the first batch: %+v", u)
	}
	var work engine.Work
	b := enginetest.MakeBatch(0, sample()...)
	left := batches
	end := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		var last DeviceUse
		for ended := false; !ended; {
			select {
			case <-end:
				ended = true
			case <-time.After(time.Millisecond):
			}
			u := enc.Use()
			if u.Batches < last.Batches || u.Rows < last.Rows || u.Tokens < last.Tokens || u.Busy < last.Busy || u.Compute < last.Compute || u.In.Bytes < last.In.Bytes || u.In.Time < last.In.Time || u.Out.Bytes < last.Out.Bytes || u.Out.Time < last.Out.Time {
				t.Errorf("use %+v after %+v", u, last)
				return
			}
			last = u
		}
	})
	_, err = engine.Pipeline(t.Context(), enc, engine.Flow{
		Next: func(context.Context) (*engine.Batch, error) {
			if left--; left < 0 {
				return nil, io.EOF
			}
			return b, nil
		},
		Done: func(_ *engine.Batch, _ engine.Rows, w engine.Work) error {
			work.Add(w)
			return nil
		},
	})
	close(end)
	watch.Wait()
	u := enc.Use()
	if err := errors.Join(err, enc.Close()); err != nil {
		t.Fatal(err)
	}
	cudatest.Clean(t)
	return u, work
}

// What was done is counted to the byte, in both places of the rows and with captured
// shapes, which are padded.
func TestCUDAUseCounts(t *testing.T) {
	rt := provided(t)
	b := enginetest.MakeBatch(0, sample()...)
	dim := deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true}).Dim
	for _, c := range []struct {
		opt    CUDAOptions
		padded int64 // rows of a batch, with those of padding alone
	}{
		{CUDAOptions{Batch: 32, UBatch: 8, Slots: 2, Host: true}, 23},
		{CUDAOptions{Batch: 32, UBatch: 8, Slots: 2}, 23},
		{CUDAOptions{Batch: 32, UBatch: 5, Slots: 2, Host: true, Graphs: true}, 25},
	} {
		opt := c.opt
		journal(t)
		u, w := used(t, rt, opt, 3)
		if u.Batches != 3 || u.Rows != int64(3*b.Rows()) || u.Tokens != int64(3*len(b.IDs)) || u.Tokens != w.Real {
			t.Errorf("%+v: %+v for 3 batches of %d rows and %d tokens", opt, u, b.Rows(), len(b.IDs))
		}
		// An id of 4 bytes for each token, a length of 4 bytes for each row.
		if want := 4*w.Padded + 4*3*c.padded; u.In.Bytes != want {
			t.Errorf("%+v: %d bytes came for %d tokens, expected %d", opt, u.In.Bytes, w.Padded, want)
		}
		want := int64(0)
		if opt.Host {
			want = int64(3 * b.Rows() * dim * 4)
		}
		if u.Out.Bytes != want || (u.Out.Time > 0) != opt.Host {
			t.Errorf("%+v: rows %+v, expected %d bytes", opt, u.Out, want)
		}
		if !(u.In.Time > 0 && u.Compute > 0) || u.Busy < max(u.In.Time, u.Compute, u.Out.Time) {
			t.Errorf("%+v: times %+v", opt, u)
		}
	}
}

// Copies of a quarter of the speed take about four times as long, in both directions, and
// a rate is never above the real one.
func TestCUDAUseRates(t *testing.T) {
	rt := provided(t)
	const rate = 400_000
	opt := CUDAOptions{Batch: 32, UBatch: 8, Slots: 2, Host: true, Sessions: 1}
	slow(t, rate, 0)
	fast, _ := used(t, rt, opt, 3)
	slow(t, rate/4, 0)
	late, _ := used(t, rt, opt, 3)
	for _, c := range []struct {
		what       string
		fast, late Transfer
	}{{"to the device", fast.In, late.In}, {"to the host", fast.Out, late.Out}} {
		for _, r := range []struct {
			t    Transfer
			most float64
		}{{c.fast, rate}, {c.late, rate / 4}} {
			if got := float64(r.t.Bytes) / r.t.Time.Seconds(); !(got <= 1.001*r.most && got >= r.most/3) {
				t.Errorf("%s: %.0f bytes a second, of %.0f", c.what, got, r.most)
			}
		}
		if more := c.late.Time.Seconds() / c.fast.Time.Seconds(); !(more > 2 && more < 6) {
			t.Errorf("%s: a quarter of the speed takes %.2f times as long", c.what, more)
		}
	}
}

// Copies run beside runs, so that all of it takes less time than one after the other; and
// what runs beside its like counts once.
func TestCUDAUseOverlap(t *testing.T) {
	rt := provided(t)
	slow(t, 100_000, 20*time.Millisecond)
	one, w := used(t, rt, CUDAOptions{Batch: 32, UBatch: 4, Slots: 3, Sessions: 1}, 4)
	if hidden := one.In.Time + one.Compute - one.Busy; hidden < min(one.In.Time, one.Compute)/3 {
		t.Errorf("of %v of copies and %v of runs in %v only %v are beside each other", one.In.Time, one.Compute, one.Busy, hidden)
	}
	if least := time.Duration(w.Groups) * 20 * time.Millisecond; one.Compute < least || one.Busy < one.Compute {
		t.Errorf("%d runs of 20 ms or more took %v, busy %v", w.Groups, one.Compute, one.Busy)
	}
	slow(t, 0, 20*time.Millisecond)
	two, w := used(t, rt, CUDAOptions{Batch: 32, UBatch: 4, Slots: 3, Sessions: 2}, 4)
	var lanes time.Duration
	for _, ns := range w.BucketNS {
		lanes += time.Duration(ns)
	}
	if two.Compute > two.Busy || float64(lanes) < 1.3*float64(two.Compute) {
		t.Errorf("two sessions: %v of runs in %v, %v in all lanes", two.Compute, two.Busy, lanes)
	}
}

// The time of buckets is that of the device: of all groups together what the one session
// was busy, and of each bucket its rows' share of their groups.
func TestCUDABuckets(t *testing.T) {
	rt := provided(t)
	const run = 20 * time.Millisecond
	slow(t, 0, run)
	const ubatch = 4
	u, w := used(t, rt, CUDAOptions{Batch: 32, UBatch: ubatch, Slots: 3, Sessions: 1}, 4)
	rows := sample()
	groups := 4 * ((len(rows) + ubatch - 1) / ubatch)
	if w.Groups != groups {
		t.Fatalf("%d groups, expected %d", w.Groups, groups)
	}
	var sum time.Duration
	for _, ns := range w.BucketNS {
		sum += time.Duration(ns)
	}
	if ratio := float64(sum) / float64(u.Busy); !(ratio > 0.98 && ratio < 1.02) {
		t.Errorf("buckets hold %v, the device was busy for %v", sum, u.Busy)
	}
	// Rows longest first are cut into groups that all take the same time.
	var sorter sorter
	b := enginetest.MakeBatch(0, rows...)
	order, cut := sorter.split(b.Off, ubatch, nil, nil)
	var want [engine.Buckets]float64
	for _, g := range cut {
		for _, row := range order[g.from : g.from+g.n] {
			want[engine.Bucket(b.Len(int(row)))] += 1 / float64(g.n) / float64(len(cut))
		}
	}
	for i, ns := range w.BucketNS {
		if got := float64(ns) / float64(sum); !(got > 0.7*want[i] && got < 1.3*want[i]) && want[i]+got > 0 {
			t.Errorf("bucket %d has %.3f of the time, expected %.3f", i, got, want[i])
		}
	}
}

// A batch that is given up or fails is none that was done; groups of it that came back are.
func TestCUDAUseFailed(t *testing.T) {
	rt := provided(t)
	enc, err := OpenCUDA(rt, deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true}), CUDAOptions{Batch: 32, UBatch: 4, Sessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.MakeBatch(0, sample()...)
	cudatest.Set(t, "FAIL", "cuEventElapsedTime:11:1")
	if err := enc.Submit(0, b); err != nil {
		t.Fatal(err)
	}
	_, _, err = enc.Collect(t.Context(), 0)
	want := "encode 4 rows of 28 tokens on device 0: cuda: take the time between events on device 0: 1 CUDA_ERROR_INVALID_VALUE: invalid argument"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if u := enc.Use(); u.Batches != 0 || u.Rows < 8 || u.Rows >= int64(b.Rows()) || u.Compute <= 0 {
		t.Errorf("use after a fault: %+v", u)
	}
	if err := enc.Close(); err != nil {
		t.Error(err)
	}
	cudatest.Clean(t)
}
