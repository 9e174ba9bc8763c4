//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/onnx"
)

// encodeOnce opens an encoder, runs three batches in two slots and closes it.
func encodeOnce(t *testing.T, rt *Runtime, g Graph, opt CUDAOptions) error {
	t.Helper()
	enc, err := OpenCUDA(rt, g, opt)
	if err != nil {
		return err
	}
	b := enginetest.MakeBatch(0, sample()...)
	left := 3
	_, err = engine.Pipeline(t.Context(), enc, engine.Flow{
		Next: func(context.Context) (*engine.Batch, error) {
			if left--; left < 0 {
				return nil, io.EOF
			}
			return b, nil
		},
		Done: func(*engine.Batch, engine.Rows, engine.Work) error { return nil },
	})
	return errors.Join(err, enc.Close())
}

// soon fails the test when f hangs.
func soon(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// Every call of ONNX Runtime and of the driver that can fail fails once, at each of its
// first times: the error says so, nothing is left, and nothing hangs.
func TestCUDAFaults(t *testing.T) {
	rt := provided(t)
	opt := onnx.Options{Mask: true}
	g := deviceGraph(t, "tiny-bert-mean", opt)
	for _, c := range []struct {
		setting, function, code, want string
		host                          bool
		least, most                   int // of the times that it fails; 0 = no limit
	}{
		{"FAKE_ORT_FAIL", "CreateCUDAProviderOptions", "", "ort: ONNX Runtime's CUDA provider on device 0: fault in CreateCUDAProviderOptions; `encbench doctor` names what is missing", false, 2, 0},
		{"FAKE_ORT_FAIL", "UpdateCUDAProviderOptions", "", "CUDA provider on device 0: fault in UpdateCUDAProviderOptions", false, 2, 0},
		{"FAKE_ORT_FAIL", "SessionOptionsAppendExecutionProvider_CUDA_V2", "", "CUDA provider on device 0: fault in SessionOptionsAppendExecutionProvider_CUDA_V2", false, 2, 0},
		{"FAKE_ORT_FAIL", "AddSessionConfigEntry", "", "ONNX Runtime session option session.", false, 6, 0},
		{"FAKE_ORT_FAIL", "CreateSessionFromArray", "", "ort: load the graph into ONNX Runtime on device 0: fault in CreateSessionFromArray", false, 2, 0},
		{"FAKE_ORT_FAIL", "Session_GetEpGraphAssignmentInfo", "", "ask ONNX Runtime where the graph's nodes run: fault in Session_GetEpGraphAssignmentInfo", false, 2, 0},
		{"FAKE_ORT_FAIL", "EpAssignedSubgraph_GetEpName", "", "ask ONNX Runtime where the graph's nodes run: fault in EpAssignedSubgraph_GetEpName", false, 2, 3},
		{"FAKE_ORT_FAIL", "CreateIoBinding", "", "bind the graph's inputs and output on device 0: fault in CreateIoBinding", false, 2, 0},
		{"FAKE_ORT_FAIL", "CreateMemoryInfo", "", "bind the graph's inputs and output on device 0: ", false, 4, 0},
		{"FAKE_ORT_FAIL", "CreateTensorWithDataAsOrtValue", "", "fault in CreateTensorWithDataAsOrtValue", false, 4, 0},
		{"FAKE_ORT_FAIL", "BindInput", "", "bind the graph's inputs and output on device 0: input_ids: fault in BindInput", false, 1, 1},
		{"FAKE_ORT_FAIL", "BindOutput", "", "bind the graph's inputs and output on device 0: embedding: fault in BindOutput", false, 2, 0},
		{"FAKE_ORT_FAIL", "CreateRunOptions", "", "fault in CreateRunOptions", false, 2, 0},
		{"FAKE_ORT_FAIL", "AddRunConfigEntry", "", "fault in AddRunConfigEntry", false, 2, 0},
		{"FAKE_ORT_FAIL", "RunWithBinding", "", "on device 0: fault in RunWithBinding", false, 2, 0},
		{"FAKE_FAIL", "cuDevicePrimaryCtxRetain", "2", "create the context on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY", false, 2, 0},
		{"FAKE_FAIL", "cuStreamCreate", "2", "create a stream on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY", false, 3, 0},
		{"FAKE_FAIL", "cuEventCreate", "2", "create an event on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY", false, 21, 0},
		{"FAKE_FAIL", "cuMemAlloc_v2", "2", "2 CUDA_ERROR_OUT_OF_MEMORY: out of memory", false, 10, 0},
		{"FAKE_FAIL", "cuMemHostAlloc", "719", "page-lock", true, 6, 0},
		{"FAKE_FAIL", "cuMemcpyHtoDAsync_v2", "1", "encode ", false, 4, 0},
		{"FAKE_FAIL", "cuEventRecord", "1", "record an event on device 0", false, 4, 0},
		{"FAKE_FAIL", "cuStreamWaitEvent", "1", "let a stream wait on device 0", false, 2, 0},
		{"FAKE_FAIL", "cuMemcpyDtoDAsync_v2", "1", "on the device on device 0: 1 CUDA_ERROR_INVALID_VALUE", false, 2, 0},
		{"FAKE_FAIL", "cuMemcpyDtoHAsync_v2", "1", "from the device on device 0: 1 CUDA_ERROR_INVALID_VALUE", true, 2, 0},
		{"FAKE_FAIL", "cuEventSynchronize", "719", " on device 0: 719 CUDA_ERROR_LAUNCH_FAILED", false, 2, 0},
		{"FAKE_FAIL", "cuEventElapsedTime", "1", "take the time between events on device 0: 1 CUDA_ERROR_INVALID_VALUE", false, 5, 0},
		{"FAKE_FAIL", "copy-in", "214", "214 CUDA_ERROR_ECC_UNCORRECTABLE", false, 1, 3},
		{"FAKE_FAIL", "copy", "700", "700 CUDA_ERROR_ILLEGAL_ADDRESS", false, 1, 3},
	} {
		t.Run(c.function, func(t *testing.T) {
			journal(t)
			times := 0
			for n := 1; n <= 400; n++ {
				value := fmt.Sprintf("%s:%d", c.function, n)
				if c.code != "" {
					value += ":" + c.code
				}
				// Another value each time, so that the count begins anew.
				os.Setenv("ENCBENCH_"+c.setting, value)
				err := soon(t, value, func() error {
					return encodeOnce(t, rt, g, CUDAOptions{Batch: 32, UBatch: 8, Slots: 2, Host: c.host})
				})
				os.Unsetenv("ENCBENCH_" + c.setting)
				cudatest.Clean(t)
				if t.Failed() {
					t.Fatalf("after %s: %v", value, err)
				}
				if err == nil {
					break
				}
				if !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%s: %v\nwant %q", value, err, c.want)
				}
				if times++; times == c.most {
					break
				}
			}
			if times < c.least {
				t.Errorf("it failed %d times, expected %d or more", times, c.least)
			}
			if err := encodeOnce(t, rt, g, CUDAOptions{Batch: 32, UBatch: 8}); err != nil {
				t.Errorf("after the faults: %v", err)
			}
		})
	}
	cudatest.Clean(t)
}

// The device's memory ends while the stations are made.
func TestCUDAOutOfMemory(t *testing.T) {
	rt := provided(t)
	journal(t)
	cudatest.Set(t, "MEMORY", "100000")
	err := encodeOnce(t, rt, deviceGraph(t, "tiny-bert-mean", onnx.Options{}), CUDAOptions{Batch: 32})
	want := "ort: cuda: allocate 65536 bytes on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY: out of memory (1696 of 100000 bytes are free)"
	if cuda.CodeOf(err) != cuda.CodeOutOfMemory || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	cudatest.Clean(t)
}

// Where no memory can be page-locked the encoder serves, more slowly, and says so.
func TestCUDAWithoutPinned(t *testing.T) {
	rt := provided(t)
	journal(t)
	g := deviceGraph(t, "tiny-bert-mean", onnx.Options{})
	before := Live()
	var rows [2][][]float32
	for i, fail := range []string{"", "cuMemHostAlloc:0+:2"} {
		cudatest.Set(t, "FAIL", fail)
		enc, err := OpenCUDA(rt, g, CUDAOptions{Batch: 32, Host: true})
		if err != nil {
			t.Fatal(err)
		}
		want := "[memory for copies is not page-locked, so that copies wait for the device and do not overlap its work: cuda: page-lock 1472 bytes of the host's memory on device 0: 2 CUDA_ERROR_OUT_OF_MEMORY: out of memory; raise the limit of locked memory (ulimit -l)]"
		if fail == "" {
			want = "[]"
		} else {
			want = strings.Replace(want, "1472", fmt.Sprint(32*g.Dim*4), 1)
		}
		if got := fmt.Sprint(enc.Warnings()); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if err := enc.Submit(0, enginetest.MakeBatch(0, sample()...)); err != nil {
			t.Fatal(err)
		}
		r, _, err := enc.Collect(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = onHost(t, r)
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
	}
	near(t, rows[1], rows[0], 0)
	if after := Live(); after != before {
		t.Errorf("%d blocks of the C heap are not freed", after-before)
	}
	cudatest.Clean(t)
}

// Batches are given up at every stage: before a group runs, while one does, and with
// nothing in flight; the encoder serves the next ones.
func TestCUDACancel(t *testing.T) {
	rt := provided(t)
	journal(t)
	cudatest.Set(t, "COPY", "200000") // bytes a second: a batch takes tens of milliseconds
	enc, err := OpenCUDA(rt, deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true}), CUDAOptions{Batch: 32, UBatch: 2, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.MakeBatch(0, sample()...)
	for _, wait := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		for slot := range 2 {
			if err := enc.Submit(slot, b); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		for slot := range 2 {
			err := soon(t, "collect", func() error { _, _, err := enc.Collect(ctx, slot); return err })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("given up after %v: %v", wait, err)
			}
		}
		cancel()
	}
	cudatest.Set(t, "COPY", "0")
	if err := enc.Submit(0, b); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err == nil || err.Error() != "ort: close with slot 0 in flight" {
		t.Errorf("close in flight: %v", err)
	}
	if r, _, err := enc.Collect(t.Context(), 0); err != nil || r.N != b.Rows() {
		t.Errorf("%d rows, %v", r.N, err)
	}
	if err := errors.Join(enc.Close(), enc.Close()); err != nil {
		t.Error(err)
	}
	if err := enc.Submit(0, b); err == nil || err.Error() != "ort: submit after close" {
		t.Errorf("submit after close: %v", err)
	}
	cudatest.Clean(t)
}

// A node that the provider leaves to the processor ends the opening, unless it computes
// sizes alone.
func TestCUDARefusesFallback(t *testing.T) {
	rt := provided(t)
	journal(t)
	g := deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true})
	fakeRuntime(t, "HOST", "Gelu,LpNormalization")
	_, err := OpenCUDA(rt, g, CUDAOptions{Batch: 4})
	want := "of the graph's 74 nodes would run on the processor with ONNX Runtime " + rt.Version + ": Gelu layer.0.act, Gelu layer.1.act, Gelu layer.2.act; use a runtime whose CUDA provider has these operators, another dtype, or --device cpu"
	if !errors.Is(err, ErrFallback) || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), "ort: the graph would not run on the device alone: 3 ") {
		t.Errorf("%v\nwant … %s", err, want)
	}
	fakeRuntime(t, "HOST", "Shape,Range")
	enc, err := OpenCUDA(rt, g, CUDAOptions{Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	if p := enc.Placement(); p.Shapes == 0 || p.CUDA == 0 || p.Host != nil {
		t.Errorf("placement %+v", p)
	}
	if err := enc.Close(); err != nil {
		t.Error(err)
	}
	cudatest.Clean(t)
}

// What the provider is told.
func TestCUDATold(t *testing.T) {
	rt := provided(t)
	for _, c := range []struct {
		opt    CUDAOptions
		option string
		graphs bool
	}{
		{CUDAOptions{Batch: 32, UBatch: 4, Sessions: 1}, "options device_id=0 has_user_compute_stream=1 user_compute_stream=STREAM do_copy_in_default_stream=1 use_tf32=0 enable_cuda_graph=0 arena_extend_strategy=kSameAsRequested enable_skip_layer_norm_strict_mode=1", false},
		{CUDAOptions{Batch: 32, UBatch: 4, Sessions: 1, TF32: true, Graphs: true, MemoryLimit: 1 << 30}, "options device_id=0 has_user_compute_stream=1 user_compute_stream=STREAM do_copy_in_default_stream=1 use_tf32=1 enable_cuda_graph=1 arena_extend_strategy=kSameAsRequested enable_skip_layer_norm_strict_mode=1 gpu_mem_limit=1073741824", true},
	} {
		t.Run(fmt.Sprint(c.graphs), func(t *testing.T) {
			read := journal(t)
			if err := encodeOnce(t, rt, deviceGraph(t, "tiny-bert-mean", onnx.Options{Mask: true}), c.opt); err != nil {
				t.Fatal(err)
			}
			log := read()
			if n := strings.Count(log, c.option+"\n"); n != 1 {
				t.Errorf("%q is there %d times in\n%.2000s", c.option, n, log)
			}
			runs := strings.Count(log, "+options\n")
			if got := strings.Count(log, "run option disable_synchronize_execution_providers=1\n"); got != runs || runs == 0 {
				t.Errorf("%d of %d runs do not wait", got, runs)
			}
			// Lengths of 1 to 37 tokens are in two buckets. The longer one has one group in a
			// batch of six, which is always on the first station.
			if got := strings.Count(log, "run option gpu_graph_id="); got != map[bool]int{true: 3}[c.graphs] || c.graphs && runs != 3 {
				t.Errorf("%d captured graphs in %d shapes", got, runs)
			}
		})
	}
}
