package cpu

import (
	"errors"
	"math"
	"math/rand/v2"
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
	v, err := r.Encode(ids)
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

func TestGoldens(t *testing.T) {
	for _, dir := range []string{tinyMean, tinyCLS} {
		r, g := load(t, dir), modeltest.ReadGolden(t, dir)
		for i, ids := range g.InputIDs {
			if d := furthest(encode(t, r, ids), g.Embeddings[i]); !(d <= maxAbs) {
				t.Errorf("%s: row %d of %d tokens is off by %v, limit %v", dir, i, len(ids), d, maxAbs)
			}
		}
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
		ids  []int32
		want string
	}{
		{nil, "encode with tiny-bert-mean: bad row: it has no tokens"},
		{make([]int32, 81), "encode with tiny-bert-mean: bad row: it has 81 tokens, the model has 80 positions"},
		{[]int32{101, 500}, "encode with tiny-bert-mean: bad row: token 1 is id 500, the vocabulary ends at 499"},
		{[]int32{-1}, "encode with tiny-bert-mean: bad row: token 0 is id -1, the vocabulary ends at 499"},
	} {
		if _, err := r.Encode(c.ids); err == nil || err.Error() != c.want || !errors.Is(err, ErrRow) {
			t.Errorf("%d ids: got %v, want %s", len(c.ids), err, c.want)
		}
	}
	encode(t, r, make([]int32, 80))
}

func TestNewReferenceRefuses(t *testing.T) {
	m, err := model.Open(tinyMean)
	if err != nil {
		t.Fatal(err)
	}
	m.Pooling = "max"
	if _, err := NewReference(m); !errors.Is(err, ErrUnsupported) {
		t.Errorf("pooling max: %v", err)
	}
	m.Pooling = model.PoolMean
	m.Layers[1].FeedForward.Act = "relu"
	if _, err := NewReference(m); !errors.Is(err, ErrUnsupported) {
		t.Errorf("activation relu: %v", err)
	}
	m.Layers[1].FeedForward.Act = model.GELU
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReference(m); err == nil {
		t.Error("weights of a closed model were read")
	}
}

func TestConcurrentUse(t *testing.T) {
	r, g := load(t, tinyCLS), modeltest.ReadGolden(t, tinyCLS)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, ids := range g.InputIDs {
				v, err := r.Encode(ids)
				if err != nil || furthest(v, g.Embeddings[i]) > maxAbs {
					t.Errorf("row %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

// naiveMul is mulTransposed's comment.
func naiveMul(dst, a, b []float64, m, n, k int) {
	for i := range m {
		for j := range n {
			var s float64
			for c := range k {
				s += a[i*k+c] * b[j*k+c]
			}
			dst[i*n+j] = s
		}
	}
}

func FuzzMulTransposed(f *testing.F) {
	for _, s := range [][4]uint64{{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 8, 4, 64}, {4, 0, 3, 2}, {5, 5, 9, 0}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, seed, m0, n0, k0 uint64) {
		m, n, k := int(m0%20), int(n0%20), int(k0%70)
		rng := rand.New(rand.NewPCG(seed, 0))
		fill := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = float64(rng.IntN(201) - 100) // sums are exact in any order, fused or not
			}
			return v
		}
		a, b := fill(m*k), fill(n*k)
		const guard = 12345
		got, want := append(fill(m*n), guard), append(fill(m*n), guard)
		mulTransposed(got[:m*n], a, b, m, n, k)
		naiveMul(want, a, b, m, n, k)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("m %d, n %d, k %d: element %d is %v, want %v", m, n, k, i, got[i], want[i])
			}
		}
	})
}

func TestSoftmaxAndGELU(t *testing.T) {
	x := []float64{1000, 1000, 1000 - math.Ln2}
	softmax(x)
	for i, want := range []float64{0.4, 0.4, 0.2} {
		if math.Abs(x[i]-want) > 1e-12 {
			t.Errorf("softmax %v, want %v at %d", x, want, i)
		}
	}
	// x·Φ(x), Φ(1) = 0.841344746…; the tanh approximation gives 0.841192 at 1.
	y := []float32{0, 1, -1, 10, -20}
	gelu(y)
	for i, want := range []float32{0, 0.8413447, -0.15865526, 10, 0} {
		if math.Abs(float64(y[i]-want)) > 1e-7 {
			t.Errorf("gelu %v, want %v at %d", y, want, i)
		}
	}
}

func BenchmarkReference(b *testing.B) {
	r := load(b, tinyMean)
	ids := make([]int32, 80)
	for b.Loop() {
		encode(b, r, ids)
	}
	b.ReportMetric(80*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
