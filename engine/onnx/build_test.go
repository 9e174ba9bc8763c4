package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does now")

const (
	tinyMean = "../model/testdata/tiny-bert-mean"
	tinyCLS  = "../model/testdata/tiny-bert-cls"
)

func open(t testing.TB, dir string) *model.Model {
	t.Helper()
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func build(t testing.TB, m *model.Model, opt Options) []byte {
	t.Helper()
	b, err := Build(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outline is what a test wants to know of a graph.
type outline struct {
	nodes    []node
	elems    map[string]ElemType
	external map[string]map[string]string // location, offset, length by initializer
}

type node struct {
	op, domain     string
	inputs, output []string
	branches       []branch
}

// branch is a graph inside a node.
type branch struct {
	name  string
	nodes []node
	gives []string
}

func (n node) String() string {
	op := n.op
	if n.domain != "" {
		op = n.domain + ":" + op
	}
	return fmt.Sprintf("%s = %s(%s)", strings.Join(n.output, ", "), op, strings.Join(n.inputs, ", "))
}

// read parses a graph with the package's own reader.
func read(t testing.TB, graph []byte) outline {
	t.Helper()
	d := newDecoder(bytes.NewReader(graph), int64(len(graph)))
	o := outline{elems: map[string]ElemType{}, external: map[string]map[string]string{}}
	err := d.message(int64(len(graph)), func(f field) (bool, error) {
		if f.number != modelGraph {
			return false, nil
		}
		return true, d.nested(f, func(in field) (bool, error) {
			switch in.number {
			case graphNode:
				n, err := d.node(in)
				o.nodes = append(o.nodes, n)
				return true, err
			case graphInitializer:
				return true, d.initializer(in, &o)
			}
			return false, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (d *decoder) node(f field) (n node, err error) {
	err = d.nested(f, func(in field) (bool, error) {
		switch in.number {
		case nodeName:
			return false, nil
		case nodeAttribute:
			return true, d.nested(in, func(a field) (bool, error) {
				if a.number != attributeGraph || a.wire != wireBytes {
					return false, nil
				}
				b, err := d.branch(a)
				n.branches = append(n.branches, b)
				return true, err
			})
		}
		s, err := d.text(in)
		switch in.number {
		case nodeInput:
			n.inputs = append(n.inputs, s)
		case nodeOutput:
			n.output = append(n.output, s)
		case nodeOp:
			n.op = s
		case nodeDomain:
			n.domain = s
		}
		return true, err
	})
	return n, err
}

func (d *decoder) branch(f field) (b branch, err error) {
	err = d.nested(f, func(in field) (bool, error) {
		switch in.number {
		case graphNode:
			n, err := d.node(in)
			b.nodes = append(b.nodes, n)
			return true, err
		case graphName:
			b.name, err = d.text(in)
			return true, err
		case graphOutput:
			return true, d.nested(in, func(v field) (bool, error) {
				if v.number != valueName {
					return false, nil
				}
				name, err := d.text(v)
				b.gives = append(b.gives, name)
				return true, err
			})
		}
		return false, nil
	})
	return b, err
}

func (d *decoder) initializer(f field, o *outline) error {
	name, entries := "", map[string]string{}
	var elem int64
	err := d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case tensorName:
			name, err = d.text(in)
		case tensorType:
			elem, err = d.number(in, f.end)
		case tensorExternal:
			var kv [2]string
			err = d.nested(in, func(e field) (bool, error) {
				s, err := d.text(e)
				kv[e.number-entryKey] = s
				return true, err
			})
			entries[kv[0]] = kv[1]
		default:
			return false, nil
		}
		return true, err
	})
	o.elems[name] = ElemType(elem)
	if len(entries) > 0 {
		o.external[name] = entries
	}
	return err
}

// listing writes the nodes one a line, those of branches indented.
func listing(b *strings.Builder, indent string, nodes []node) {
	for _, n := range nodes {
		fmt.Fprintf(b, "%s%s\n", indent, n)
		for _, br := range n.branches {
			fmt.Fprintf(b, "%s  %s gives %s\n", indent, br.name, strings.Join(br.gives, ", "))
			listing(b, indent+"    ", br.nodes)
		}
	}
}

// TestBuildListing compares the nodes with a listing that a reader can check.
func TestBuildListing(t *testing.T) {
	for _, c := range []struct {
		name, dir string
		opt       Options
	}{
		{"mean", tinyMean, Options{}}, {"mean-mask", tinyMean, Options{Mask: true}},
		{"cls", tinyCLS, Options{}}, {"cls-mask", tinyCLS, Options{Mask: true}},
		{"window-mask", "../model/testdata/micro-modernbert-reranker", Options{Mask: true}},
		{"last", "../model/testdata/micro-qwen3-last", Options{}},
		{"relative", "../model/testdata/micro-mpnet-reranker", Options{}},
		{"plain", "../model/testdata/micro-modernbert-reranker", Options{Plain: true}},
		{"cuda-mean-mask", tinyMean, Options{Target: CUDA, Compute: Float16, Result: Float16, Mask: true}},
		{"cuda-window-mask", "../model/testdata/micro-modernbert-reranker", Options{Target: CUDA, Compute: BFloat16, Mask: true}},
		{"cuda-last-fixed", "../model/testdata/micro-qwen3-last", Options{Target: CUDA, Compute: Float16, Rows: 2, Length: 16}},
	} {
		var b strings.Builder
		listing(&b, "", read(t, build(t, open(t, c.dir), c.opt)).nodes)
		path := filepath.Join("testdata", c.name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("the graph of %s differs from %s; run with -update and read the difference", c.name, path)
		}
	}
}

// values checks that every value of a graph is made before it is used, and once.
type values struct {
	t          *testing.T
	graph      string
	have, used map[string]bool
}

func (v *values) walk(nodes []node) {
	for _, n := range nodes {
		for _, in := range n.inputs {
			if in != "" && !v.have[in] {
				v.t.Errorf("%s: %s uses %s before it exists", v.graph, n, in)
			}
			v.used[in] = true
		}
		for _, b := range n.branches {
			v.walk(b.nodes)
			for _, out := range b.gives {
				if !v.have[out] {
					v.t.Errorf("%s: %s gives %s, which nothing makes", v.graph, b.name, out)
				}
				v.used[out] = true
			}
		}
		for i, out := range n.output {
			if v.have[out] {
				v.t.Errorf("%s: %s makes %s again", v.graph, n, out)
			}
			v.have[out] = true
			// The first output is what a node is there for.
			v.used[out] = v.used[out] || i > 0
		}
	}
}

// TestBuildIsWhole checks every form of every family, and that nothing is made in
// vain; two builds give the same bytes.
func TestBuildIsWhole(t *testing.T) {
	dirs := append(modeltest.Goldens(t), modeltest.Damage(t, tinyMean, modeltest.Fault{DType: model.F16}))
	for _, dir := range dirs {
		m := open(t, dir)
		for _, opt := range append([]Options{{}, {Mask: true}, {Types: true}, {Mask: true, Types: true}, {Plain: true}, {Mask: true, Plain: true}, {DenseWindows: true}, {Mask: true, DenseWindows: true}}, deviceForms()...) {
			if opt.Types && m.Types() < 2 {
				continue
			}
			g := build(t, m, opt)
			if !bytes.Equal(g, build(t, m, opt)) {
				t.Errorf("%s, %+v: two builds differ", dir, opt)
			}
			o := read(t, g)
			v := values{t, fmt.Sprintf("%s, %+v", dir, opt), map[string]bool{InputIDs: true}, map[string]bool{Output: true}}
			if opt.Mask {
				v.have[InputLengths] = true
			}
			if opt.Types {
				v.have[InputTypes] = true
			}
			for name := range o.elems {
				v.have[name] = true
			}
			v.walk(o.nodes)
			for name := range v.have {
				if !v.used[name] {
					t.Errorf("%s: nothing uses %s", v.graph, name)
				}
			}
		}
	}
}

// TestBuildPointsAtWeights reads the bytes that the initializers point at.
func TestBuildPointsAtWeights(t *testing.T) {
	m := open(t, tinyCLS)
	g := build(t, m, Options{})
	file, err := os.ReadFile(filepath.Join(Folder(m), filepath.Base(m.Weights.RealPath)))
	if err != nil {
		t.Fatal(err)
	}
	o := read(t, g)
	// 5 tables and norms of the embedding, 16 tensors a layer.
	if len(o.external) != 5+3*16 {
		t.Errorf("%d external initializers, want %d", len(o.external), 5+3*16)
	}
	for name, e := range o.external {
		var offset, length int
		fmt.Sscan(e["offset"], &offset)
		fmt.Sscan(e["length"], &length)
		want, err := m.Weights.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		if e["location"] != "model.safetensors" || length != 4*len(want) || o.elems[name] != Float32 {
			t.Fatalf("%s: %v of type %s for %d values", name, e, o.elems[name], len(want))
		}
		for i, v := range want {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(file[offset+4*i:])); got != v {
				t.Fatalf("%s: value %d is %v in the file and %v by the model", name, i, got, v)
			}
		}
	}
	if len(g) > 20_000 {
		t.Errorf("the graph has %d bytes: it should hold no weights", len(g))
	}
}

// TestBuildInHub builds from a cache of links: location and folder must be those
// of the file behind the link.
func TestBuildInHub(t *testing.T) {
	const commit = "aaaa567890123456789012345678901234567890"
	t.Setenv("HF_HUB_CACHE", modeltest.Hub(t, "", tinyMean, "org/tiny", commit, "main"))
	dir, _, err := model.ResolveHub("org/tiny")
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, dir)
	for name, e := range read(t, build(t, m, Options{})).external {
		path := filepath.Join(Folder(m), e["location"])
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			t.Fatalf("%s lies in %s, which is no plain file (%v)", name, path, err)
		}
	}
	if filepath.Base(Folder(m)) != "blobs" {
		t.Errorf("folder %s, want the cache's blobs", Folder(m))
	}
}

func TestBuildWidens(t *testing.T) {
	for dtype, elem := range map[model.DType]ElemType{model.F16: Float16, model.BF16: BFloat16} {
		m := open(t, modeltest.Damage(t, tinyMean, modeltest.Fault{DType: dtype}))
		o := read(t, build(t, m, Options{}))
		casts := 0
		for _, n := range o.nodes {
			if n.op == "Cast" {
				casts++
			}
		}
		if casts != len(o.external) {
			t.Errorf("%s: %d casts of %d weights", dtype, casts, len(o.external))
		}
		if got := o.elems[m.Embedding.Word.Weight]; got != elem {
			t.Errorf("%s: the word table has type %s", dtype, got)
		}
	}
}

func TestBuildInspected(t *testing.T) {
	for _, mask := range []bool{false, true} {
		info, err := InspectBytes(build(t, open(t, tinyMean), Options{Mask: mask}))
		if err != nil {
			t.Fatal(err)
		}
		want := "input_ids int32 [rows, len]"
		if mask {
			want += "; lengths int32 [rows]"
		}
		if got := list(info.Inputs); got != want {
			t.Errorf("inputs %s, want %s", got, want)
		}
		if got := list(info.Outputs); got != "embedding float32 [rows, 64]" {
			t.Errorf("outputs %s", got)
		}
		if info.IR != 9 || info.Producer != "encbench" || info.Opsets[""] != 18 || info.Opsets[microsoft] != 1 || len(info.Opsets) != 2 {
			t.Errorf("IR %d, producer %s, opsets %v", info.IR, info.Producer, info.Opsets)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	m := open(t, tinyMean)
	for _, c := range []struct {
		fault func(*model.Model)
		opt   Options
		want  string
	}{
		{func(m *model.Model) { m.Pooling = "median" }, Options{}, `pooling "median"`},
		{func(m *model.Model) { m.Layers[1].FeedForward.Act = "elu" }, Options{}, `activation "elu"`},
		{func(m *model.Model) { m.Layers[0].OutputNorm.Bias = "gone" }, Options{}, "tensor gone is not in " + m.Weights.Path},
		{func(m *model.Model) { m.Layers = nil }, Options{}, "a model without layers"},
		{func(m *model.Model) { m.Embedding.Type = model.Table{} }, Options{Types: true}, "token types: the model has no table of them"},
		{func(m *model.Model) { m.Layers[0].AttentionNorm.RMS = true }, Options{}, "normalisation encoder.layer.0.attention.output.LayerNorm.weight by the root of the mean square with a bias"},
		{func(m *model.Model) {
			m.RelativeBias.Table, m.Layers[0].Attention.Window = m.Embedding.Word, 3
		}, Options{}, "a relative bias together with a window or a causal layer"},
	} {
		bad := *m
		bad.Layers = slices.Clone(m.Layers)
		c.fault(&bad)
		want := "build graph of tiny-bert-mean: unsupported by the ONNX graph writer: " + c.want
		if _, err := Build(&bad, c.opt); !errors.Is(err, ErrUnsupported) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
