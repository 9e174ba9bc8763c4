package onnx

import (
	"slices"
	"testing"

	"encbench/engine/model/modeltest"
)

// TestEveryNodeHasAKernel goes through every node of every form for CUDA of every family:
// what runs on the host works on a few integers, everything else has a kernel for its
// types, nothing is copied, and so every form can be captured; in one of a fixed shape
// nothing is left to the host at all.
func TestEveryNodeHasAKernel(t *testing.T) {
	bookkeeping := []string{"Add", "Cast", "Concat", "Min", "Mul", "Squeeze", "Sub", "Unsqueeze"}
	used := map[string]bool{}
	for _, dir := range modeltest.Goldens(t) {
		m := open(t, dir)
		for _, opt := range deviceForms() {
			if opt.Types && m.Types() < 2 {
				continue
			}
			nodes, err := Place(build(t, m, opt))
			if err != nil {
				t.Fatal(err)
			}
			if err := Capturable(nodes); err != nil {
				t.Errorf("%s, %+v: %v", dir, opt, err)
			}
			for i := range nodes {
				n := &nodes[i]
				used[n.Op] = used[n.Op] || n.Provider == OnDevice || n.Provider == OnHost
				if n.Provider == OnHost && (!slices.Contains(bookkeeping, n.Op) || n.Domain != "") {
					t.Errorf("%s, %+v: %s runs on the host", dir, opt, n)
				}
				for _, e := range append(slices.Clone(n.In), n.Out...) {
					if n.Provider == OnHost && e != Int64 && e != Int32 {
						t.Errorf("%s, %+v: %s, on the host, is no work on integers", dir, opt, n)
					}
				}
				if opt.Rows > 0 && (n.Provider == OnHost || n.Op == "Shape") {
					t.Errorf("%s, %+v: %s is left of a fixed shape", dir, opt, n)
				}
			}
		}
	}
	for _, k := range Kernels {
		if !used[k.Op] && !slices.Contains([]string{"Abs", "FastGelu", "Clip", "QuickGelu", "ReduceMax", "Relu"}, k.Op) {
			t.Errorf("no graph of a checkpoint uses %s", k.Op)
		}
	}
}

// TestPlaceFindsFaults writes graphs by hand that are not as they should be.
func TestPlaceFindsFaults(t *testing.T) {
	for _, c := range []struct {
		write func(g *graph)
		want  string
	}{
		{func(g *graph) { g.op(Output, "LpNormalization", []string{InputIDs}) }, "capture: embedding LpNormalization(int32) has no kernel on CUDA"},
		{func(g *graph) {
			wide := g.op("wide", "Cast", []string{InputIDs}, attrInt("to", int64(BFloat16)))
			g.op(Output, "ReduceMean", []string{wide, g.list(1)})
		}, "capture: embedding ReduceMean(bfloat16, int64) has no kernel on CUDA"},
		{func(g *graph) {
			end := g.op("end", "Shape", []string{InputIDs})
			ids := g.op("ids", "Cast", []string{InputIDs}, attrInt("to", int64(Int64)))
			g.op(Output, "Add", []string{ids, end})
		}, "capture: embedding Add(int64, int64) copies end to the device"},
		{func(g *graph) {
			wide := g.op("wide", "Cast", []string{InputIDs}, attrInt("to", int64(Int64)))
			g.op(Output, "Expand", []string{g.list(1), g.op("double", "Mul", []string{wide, g.number(2)})})
		}, "capture: embedding Expand(int64, int64) copies double to the host"},
		{func(g *graph) {
			yes := func() string { return g.op("yes", "Identity", []string{InputIDs}) }
			g.either(Output, InputIDs, 2, yes, yes)
		}, "capture: embedding If(int32) has no kernel on CUDA"},
	} {
		g := &graph{seen: map[string]bool{}, compute: Float32}
		c.write(g)
		nodes, err := Place(g.bytes([]message{valueInfo(InputIDs, Int32, Dim{Name: "rows"}, Dim{Name: "len"})}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := Capturable(nodes); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	if _, err := Place([]byte{7<<3 | 2, 9}); err == nil || err.Error() != "place the nodes of a graph: malformed ONNX file: byte 2: field 7 of 9 bytes does not fit in the 0 bytes left" {
		t.Error(err)
	}
}

func TestOperators(t *testing.T) {
	nodes, err := Place(build(t, open(t, tinyMean), Options{Target: CUDA, Compute: Float16, Mask: true}))
	if err != nil {
		t.Fatal(err)
	}
	count := map[Provider]int{}
	attention := 0
	for _, o := range Operators(nodes) {
		count[o.Provider] += o.Count
		if o.Op == "MultiHeadAttention" && o.Provider == OnDevice && o.Domain == microsoft {
			attention = o.Count
		}
	}
	if layers := len(open(t, tinyMean).Layers); attention != layers || count[Nowhere] != 0 || count[OnHost] == 0 || count[AtLoad] < 16*layers {
		t.Errorf("%d layers have %d nodes of attention; by provider %v", layers, attention, count)
	}
}

// TestSizeNodes: the nodes that compute sizes hold those that the host is expected to
// compute, and none that reads a value of an input or gives anything but whole numbers.
func TestSizeNodes(t *testing.T) {
	for _, dir := range modeltest.Goldens(t) {
		m := open(t, dir)
		for _, opt := range deviceForms() {
			if opt.Types && m.Types() < 2 {
				continue
			}
			graph := build(t, m, opt)
			sizes, err := SizeNodes(graph)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Place(graph)
			if err != nil {
				t.Fatal(err)
			}
			if len(sizes) > len(all)/2 || len(sizes) == 0 && opt.Rows == 0 && opt.Mask {
				t.Errorf("%s, %+v: %d of %d nodes compute sizes", dir, opt, len(sizes), len(all))
			}
			for i := range all {
				n := &all[i]
				named := slices.Contains(sizes, n.Name)
				switch {
				case n.Provider == OnHost && !named:
					t.Errorf("%s, %+v: %s is the host's and computes no sizes", dir, opt, n)
				case named && slices.ContainsFunc(n.Out, func(e ElemType) bool { return e != Int32 && e != Int64 }):
					t.Errorf("%s, %+v: %s gives no whole numbers", dir, opt, n)
				case named && n.Op != "Shape" && slices.ContainsFunc(n.inputs, func(in string) bool { return in == InputIDs || in == InputLengths || in == InputTypes }):
					t.Errorf("%s, %+v: %s reads values of the inputs", dir, opt, n)
				}
			}
		}
	}
}
