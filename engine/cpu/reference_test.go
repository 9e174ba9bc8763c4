package cpu

import (
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

const (
	tinyMean = "../model/testdata/tiny-bert-mean"
	tinyCLS  = "../model/testdata/tiny-bert-cls"
)

// Tolerances against vectors of other implementations in float32, which round
// in another order.
const (
	maxAbs    = 1e-5    // any value of a unit vector
	minCosine = 0.99999 // any vector
)

func load(t testing.TB, dir string) *Reference {
	t.Helper()
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t testing.TB, r *Reference, ids []int32) []float32 {
	t.Helper()
	v, err := r.Encode(ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != r.Dim() {
		t.Fatalf("a vector of %d values, Dim is %d", len(v), r.Dim())
	}
	return v
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func furthest(a, b []float32) float64 {
	var d float64
	for i := range a {
		d = max(d, math.Abs(float64(a[i])-float64(b[i])))
	}
	return d
}

// TestGoldens compares every checkpoint that has outputs of transformers, each row
// alone.
func TestGoldens(t *testing.T) {
	for _, dir := range modeltest.Goldens(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r, g := load(t, dir), modeltest.ReadGolden(t, dir)
			for i, want := range g.Outputs() {
				v, err := r.Encode(g.InputIDs[i], g.Types(i))
				if err != nil {
					t.Fatal(err)
				}
				if len(v) != len(want) || len(v) != r.Dim() {
					t.Fatalf("%d values, Dim is %d, the golden has %d", len(v), r.Dim(), len(want))
				}
				if d := furthest(v, want); !(d <= maxAbs) {
					t.Errorf("row %d of %d tokens is off by %v, limit %v", i, len(g.InputIDs[i]), d, maxAbs)
				}
			}
		})
	}
}

// TestGoldensOtherwiseStored encodes from checkpoints that hold the same model
// in another form.
func TestGoldensOtherwiseStored(t *testing.T) {
	g := modeltest.ReadGolden(t, tinyMean)
	for _, c := range []struct {
		name  string
		fault modeltest.Fault
		limit float64
	}{
		{"prefix", modeltest.Fault{Prefix: "bert."}, maxAbs},
		{"unaligned", modeltest.Fault{Pad: 5}, maxAbs},
		{"F16", modeltest.Fault{DType: model.F16}, 2e-3},   // 11 bits of mantissa
		{"BF16", modeltest.Fault{DType: model.BF16}, 1e-2}, // 8 bits
	} {
		r := load(t, modeltest.Damage(t, tinyMean, c.fault))
		for i, ids := range g.InputIDs {
			if d := furthest(encode(t, r, ids), g.Embeddings[i]); !(d <= c.limit) {
				t.Errorf("%s: row %d is off by %v, limit %v", c.name, i, d, c.limit)
			}
		}
	}
}

func TestUnnormalised(t *testing.T) {
	m, err := model.Open(tinyMean)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Normalize = false
	r, err := NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	g := modeltest.ReadGolden(t, tinyMean)
	for i, ids := range g.InputIDs {
		v := encode(t, r, ids)
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if c := cosine(v, g.Embeddings[i]); math.Abs(square-1) < 0.01 || c < 1-1e-9 {
			t.Errorf("row %d: squared norm %v, cosine %v", i, square, c)
		}
	}
}

// TestDamageShows makes sure that one changed weight and swapped pooling move
// the vectors beyond the gate, for each kind of tensor.
func TestDamageShows(t *testing.T) {
	for name, f := range map[string]modeltest.Fault{
		"pooling":    {Pooling: model.PoolCLS},
		"word":       {Tensor: "embeddings.word_embeddings.weight", Index: 101 * 64, Add: 1},
		"position":   {Tensor: "embeddings.position_embeddings.weight", Index: 1, Add: 1},
		"type":       {Tensor: "embeddings.token_type_embeddings.weight", Index: 5, Add: 1},
		"query":      {Tensor: "encoder.layer.0.attention.self.query.weight", Index: 70, Add: 4},
		"key":        {Tensor: "encoder.layer.1.attention.self.key.weight", Index: 70, Add: 4},
		"value bias": {Tensor: "encoder.layer.2.attention.self.value.bias", Index: 9, Add: 1},
		"output":     {Tensor: "encoder.layer.0.attention.output.dense.weight", Index: 3, Add: 4},
		"up":         {Tensor: "encoder.layer.1.intermediate.dense.weight", Index: 7, Add: 1},
		"down bias":  {Tensor: "encoder.layer.2.output.dense.bias", Index: 63, Add: 1},
		"norm":       {Tensor: "encoder.layer.2.output.LayerNorm.weight", Index: 8, Add: 1},
	} {
		r := load(t, modeltest.Damage(t, tinyMean, f))
		g := modeltest.ReadGolden(t, tinyMean)
		worst := 1.0
		for i, ids := range g.InputIDs {
			worst = min(worst, cosine(encode(t, r, ids), g.Embeddings[i]))
		}
		if worst >= minCosine {
			t.Errorf("%s: the worst cosine is %v, not below %v", name, worst, minCosine)
		}
	}
}

func TestTokenTypeOneIsUnused(t *testing.T) {
	r := load(t, modeltest.Damage(t, tinyMean, modeltest.Fault{Tensor: "embeddings.token_type_embeddings.weight", Index: 64, Add: 1}))
	g := modeltest.ReadGolden(t, tinyMean)
	if d := furthest(encode(t, r, g.InputIDs[0]), g.Embeddings[0]); d > maxAbs {
		t.Errorf("a change of token type 1 moves a vector by %v", d)
	}
}

func TestEncodeRefuses(t *testing.T) {
	r := load(t, tinyMean)
	for _, c := range []struct {
		ids   []int32
		types []uint8
		want  string
	}{
		{nil, nil, "encode with tiny-bert-mean: bad row: it has no tokens"},
		{make([]int32, 81), nil, "encode with tiny-bert-mean: bad row: it has 81 tokens, the model has 80 positions"},
		{[]int32{101, 500}, nil, "encode with tiny-bert-mean: bad row: token 1 is id 500, the vocabulary ends at 499"},
		{[]int32{-1}, nil, "encode with tiny-bert-mean: bad row: token 0 is id -1, the vocabulary ends at 499"},
		{[]int32{1, 2, 3}, []uint8{0, 1}, "encode with tiny-bert-mean: bad row: it has 3 tokens and 2 token types"},
		{[]int32{1, 2, 3}, []uint8{0, 1, 2}, "encode with tiny-bert-mean: bad row: token 2 is of type 2, the model's last is 1"},
	} {
		if _, err := r.Encode(c.ids, c.types); err == nil || err.Error() != c.want || !errors.Is(err, ErrRow) {
			t.Errorf("%d ids: got %v, want %s", len(c.ids), err, c.want)
		}
	}
	encode(t, r, make([]int32, 80))
}

func TestTypesMatter(t *testing.T) {
	r, ids := load(t, tinyMean), []int32{101, 7, 102, 9, 102}
	none := encode(t, r, ids)
	zero, err := r.Encode(ids, make([]uint8, 5))
	if err != nil || furthest(zero, none) != 0 {
		t.Errorf("types of 0 against none: %v, off by %v", err, furthest(zero, none))
	}
	pair, err := r.Encode(ids, []uint8{0, 0, 0, 1, 1})
	if err != nil || furthest(pair, none) < 1e-3 {
		t.Errorf("a pair against one text: %v, off by %v", err, furthest(pair, none))
	}
}

// TestNewReferenceRefuses changes a description so that it no longer fits.
func TestNewReferenceRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(m *model.Model)
	}{
		{`unsupported by the reference encoder: pooling "weighted"`, func(m *model.Model) { m.Pooling = "weighted" }},
		{`layer 1: unsupported by the reference encoder: activation "swish"`, func(m *model.Model) { m.Layers[1].FeedForward.Act = "swish" }},
		{`unsupported by the reference encoder: activation "swish"`, func(m *model.Model) { m.Head = []model.HeadLayer{{Act: "swish"}} }},
		{"bad description: no table of words", func(m *model.Model) { m.Embedding.Word = model.Table{} }},
		{"bad description: 80 positions from row 2 of a table of 80", func(m *model.Model) { m.Embedding.FirstPosition = 2 }},
		{"bad description: tensor embeddings.token_type_embeddings.weight has 128 values, described are 192", func(m *model.Model) { m.Embedding.Type.Rows = 3 }},
		{"bad description: table embeddings.token_type_embeddings.weight has rows of 32 values, expected are 64", func(m *model.Model) { m.Embedding.Type.Dim = 32 }},
		{"layer 2: bad description: map encoder.layer.2.output.dense.weight is 64 × 128, expected is 64 × 64", func(m *model.Model) {
			m.Layers[2].FeedForward.Up = m.Layers[2].Attention.Query
		}},
		{"layer 0: bad description: map encoder.layer.0.attention.self.key.weight has rows 64 to 128 of 64, 64 values each", func(m *model.Model) {
			m.Layers[0].Attention.Key.Row, m.Layers[0].Attention.Key.Rows = 64, 64
		}},
		{"layer 0: bad description: tensor encoder.layer.0.attention.self.key.bias has 64 values, described are 128", func(m *model.Model) {
			m.Layers[0].Attention.Key.Row, m.Layers[0].Attention.Key.Weight = 64, "encoder.layer.0.intermediate.dense.weight"
		}},
		{"layer 0: bad description: 4 heads of 16 values, 3 heads of keys", func(m *model.Model) { m.Layers[0].Attention.KVHeads = 3 }},
		{"layer 0: bad description: 17 values rotated in heads of 16", func(m *model.Model) { m.Layers[0].Attention.Rope.Dim = 17 }},
		{"bad description: 2 buckets of distances up to 128", func(m *model.Model) {
			m.RelativeBias = model.RelativeBias{Table: model.Table{Weight: "embeddings.token_type_embeddings.weight", Rows: 2, Dim: 4}, MaxDistance: 128}
		}},
		{"bad description: table embeddings.token_type_embeddings.weight is for 8 heads, a layer has 4", func(m *model.Model) {
			m.RelativeBias = model.RelativeBias{Table: model.Table{Weight: "embeddings.token_type_embeddings.weight", Rows: 16, Dim: 8}, MaxDistance: 128}
		}},
		{"bad description: map encoder.layer.0.output.dense.weight is 64 × 128, expected is 64 × 64", func(m *model.Model) {
			m.Head = []model.HeadLayer{{Linear: m.Layers[0].FeedForward.Down}}
		}},
	} {
		m, err := model.Open(tinyMean)
		if err != nil {
			t.Fatal(err)
		}
		c.change(m)
		if _, err := NewReference(m); err == nil || err.Error() != "load reference encoder of tiny-bert-mean: "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := NewReference(m); err == nil {
			t.Error("weights of a closed model were read")
		}
	}
}

// TestProcessorsDoNotMatter encodes rows of made-up models with other numbers of
// processors: every bit stays.
func TestProcessorsDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(8) {
		c := makeUp(t, 1000+seed)
		ids, types := c.row(1 + int(80*seed))
		r, err := NewReference(c.Model)
		if err != nil {
			t.Fatal(err)
		}
		var first []float32
		for _, procs := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(procs)
			v, err := r.Encode(ids, types)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = v
			}
			if !slices.Equal(v, first) {
				t.Errorf("model %d: %d processors give another output than one", seed, procs)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	r, g := load(t, tinyCLS), modeltest.ReadGolden(t, tinyCLS)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, ids := range g.InputIDs {
				v, err := r.Encode(ids, nil)
				if err != nil || furthest(v, g.Embeddings[i]) > maxAbs {
					t.Errorf("row %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkReference(b *testing.B) {
	r := load(b, tinyMean)
	ids := make([]int32, 80)
	for b.Loop() {
		encode(b, r, ids)
	}
	b.ReportMetric(80*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
