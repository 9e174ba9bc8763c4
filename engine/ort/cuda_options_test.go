package ort

import (
	"errors"
	"testing"
)

func TestPlacement(t *testing.T) {
	const cuda, cpu = "CUDAExecutionProvider\t", "CPUExecutionProvider\t"
	shapes := []string{"length", "positions"}
	for _, c := range []struct{ lines, want string }{
		{cuda + "MatMul\ta\n" + cpu + "Shape\tlength\n" + cpu + "Range\tpositions\n", ""},
		{cuda + "MatMul\ta\n" + cpu + "Gelu\tb\n" + cpu + "Shape\tlength\n",
			"the graph would not run on the device alone: 1 of the graph's 3 nodes would run on the processor with ONNX Runtime 1.2: Gelu b; use a runtime whose CUDA provider has these operators, another dtype, or --device cpu"},
		{cuda + "MatMul\ta\n" + cpu + "A\t1\n" + cpu + "A\t2\n" + cpu + "A\t3\n" + cpu + "A\t4\n" + cpu + "A\t5\n" + cpu + "A\t6\n" + cpu + "A\t7\n",
			"the graph would not run on the device alone: 7 of the graph's 8 nodes would run on the processor with ONNX Runtime 1.2: A 1, A 2, A 3, A 4, A 5 and 2 more; use a runtime whose CUDA provider has these operators, another dtype, or --device cpu"},
		{cpu + "MatMul\ta\n" + cpu + "Shape\tlength\n", "the graph would not run on the device alone: none of the graph's 2 nodes would run on the device with ONNX Runtime 1.2"},
		{"", "the graph would not run on the device alone: none of the graph's 0 nodes would run on the device with ONNX Runtime 1.2"},
	} {
		err := place(c.lines, shapes).refuse("1.2")
		if got := ""; err != nil {
			if got = err.Error(); got != c.want || !errors.Is(err, ErrFallback) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("no error, want %q", c.want)
		}
	}
}

func TestCUDAOptionFaults(t *testing.T) {
	plain := Graph{Inputs: []Input{{Name: "ids"}}}
	states := Graph{Inputs: []Input{{Name: "ids"}, {Name: "mask", Role: Mask}}, States: true}
	for _, c := range []struct {
		g    Graph
		o    CUDAOptions
		want string
	}{
		{plain, CUDAOptions{Batch: 1}, ""},
		{plain, CUDAOptions{}, "batch 0, micro-batch 0, group of 16384 tokens, 3 slots, 2 sessions, memory limit 0: expected 1 or more, micro-batch and limit 0 or more"},
		{plain, CUDAOptions{Batch: 4, UBatch: 2}, "groups of 2 rows need padding, and the graph has no mask input"},
		{plain, CUDAOptions{Batch: 4, Graphs: true}, "captured graphs have fixed shapes: give a micro-batch of 1 row or more and a graph with a mask input"},
		{states, CUDAOptions{Batch: 4}, "the graph leaves pooling or normalising to the host: on a device both are part of the graph; use the model's directory in place of the .onnx file, or the processor"},
	} {
		got := ""
		if err := c.o.withDefaults().validate(&c.g); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}
