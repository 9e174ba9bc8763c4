package cpu

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// checkpoint is a made-up model: a description and the tensors that it names.
type checkpoint struct {
	*model.Model
	tensors []modeltest.Tensor
	values  map[string][]float64 // as stored
	rng     *rand.Rand
}

// add makes a tensor of random values, centred on mean, and gives its name.
func (c *checkpoint) add(kind string, dtype model.DType, mean, spread float64, shape ...int) string {
	name := kind + "." + strconv.Itoa(len(c.tensors))
	n := 1
	for _, s := range shape {
		n *= s
	}
	t := modeltest.Tensor{Name: name, DType: dtype, Shape: shape}
	for range n {
		var v float64
		if dtype == model.I8 {
			code := c.rng.IntN(256) - 128
			v, t.Data = float64(code), append(t.Data, byte(code))
		} else {
			f := float32(mean + spread*c.rng.NormFloat64())
			v, t.Data = float64(f), binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(f))
		}
		c.values[name] = append(c.values[name], v)
	}
	c.tensors = append(c.tensors, t)
	return name
}

func (c *checkpoint) chance() bool { return c.rng.IntN(2) == 0 }

func (c *checkpoint) table(rows, dim int) model.Table {
	return model.Table{Weight: c.add("table", model.F32, 0, 1, rows, dim), Rows: rows, Dim: dim}
}

func (c *checkpoint) norm(dim int) model.Norm {
	n := model.Norm{Weight: c.add("norm", model.F32, 1, 0.3, dim), Dim: dim, Eps: 1e-5, RMS: c.chance()}
	if c.chance() {
		n.Bias = c.add("shift", model.F32, 0, 0.3, dim)
	}
	return n
}

// linears makes maps of the same input, sometimes rows of one tensor.
func (c *checkpoint) linears(in int, outs ...int) []model.Linear {
	rows := 0
	for _, out := range outs {
		rows += out
	}
	if c.chance() {
		all := c.linear(in, rows)
		maps := make([]model.Linear, len(outs))
		row := 0
		for i, out := range outs {
			maps[i] = all
			maps[i].Out, maps[i].Row, maps[i].Rows = out, row, rows
			row += out
		}
		return maps
	}
	var maps []model.Linear
	for _, out := range outs {
		maps = append(maps, c.linear(in, out))
	}
	return maps
}

func (c *checkpoint) linear(in, out int) model.Linear {
	l := model.Linear{In: in, Out: out}
	if c.rng.IntN(3) == 0 {
		l.Weight = c.add("codes", model.I8, 0, 0, out, in)
		l.Scale = c.add("scale", model.F32, 1/(60*math.Sqrt(float64(in))), 1e-3/math.Sqrt(float64(in)), out)
	} else {
		l.Weight = c.add("map", model.F32, 0, 1/math.Sqrt(float64(in)), out, in)
	}
	if c.chance() {
		l.Bias = c.add("bias", model.F32, 0, 0.2, out)
	}
	return l
}

var activations = []model.Activation{model.GELU, model.GELUTanh, model.SiLU, model.ReLU, model.Tanh, ""}

func (c *checkpoint) layer(dim, heads, kvHeads, headDim int) model.Layer {
	qkv := c.linears(dim, heads*headDim, kvHeads*headDim, kvHeads*headDim)
	l := model.Layer{
		PreNorm: c.chance(),
		Attention: model.Attention{
			Query: qkv[0], Key: qkv[1], Value: qkv[2], Output: c.linear(heads*headDim, dim),
			Heads: heads, KVHeads: kvHeads, HeadDim: headDim, Causal: c.chance(),
		},
		FeedForward: model.FeedForward{Act: activations[c.rng.IntN(len(activations))]},
	}
	if c.chance() {
		l.Attention.QueryNorm, l.Attention.KeyNorm = c.norm(headDim), c.norm(headDim)
	}
	if c.chance() {
		l.Attention.Window = 1 + c.rng.IntN(80)
	}
	if c.chance() {
		l.Attention.Rope = model.Rope{Theta: math.Exp(3 + 8*c.rng.Float64()), Dim: 2 * (1 + c.rng.IntN(headDim/2))}
	}
	wide := 1 + c.rng.IntN(30)
	if c.chance() {
		both := c.linears(dim, wide, wide)
		l.FeedForward.Up, l.FeedForward.Gate = both[0], both[1]
	} else {
		l.FeedForward.Up = c.linear(dim, wide)
	}
	l.FeedForward.Down = c.linear(wide, dim)
	if c.rng.IntN(4) > 0 {
		l.AttentionNorm = c.norm(dim)
	}
	if c.rng.IntN(4) > 0 {
		l.OutputNorm = c.norm(dim)
	}
	return l
}

const (
	madeVocab     = 50
	madePositions = 580
)

// makeUp describes a model of random sizes and parts, and makes its weights.
func makeUp(tb testing.TB, seed uint64) *checkpoint {
	tb.Helper()
	c := &checkpoint{Model: &model.Model{Name: "made-up"}, values: map[string][]float64{}, rng: rand.New(rand.NewPCG(seed, 3))}
	c.Config.Positions = madePositions
	dim, headDim, kvHeads := 1+c.rng.IntN(24), 2+c.rng.IntN(15), 1+c.rng.IntN(3)
	heads := kvHeads * (1 + c.rng.IntN(3))
	c.Config.Hidden = dim
	c.Embedding.Word = c.table(madeVocab, dim)
	if c.chance() {
		c.Embedding.FirstPosition = c.rng.IntN(3)
		c.Embedding.Position = c.table(madePositions+c.Embedding.FirstPosition, dim)
	}
	if c.chance() {
		c.Embedding.Type = c.table(1+c.rng.IntN(3), dim)
	}
	if c.chance() {
		c.Embedding.Norm = c.norm(dim)
	}
	if c.chance() {
		c.RelativeBias = model.RelativeBias{Table: c.table(8+4*c.rng.IntN(8), heads), MaxDistance: 20 + c.rng.IntN(200)}
	}
	for range 1 + c.rng.IntN(3) {
		c.Layers = append(c.Layers, c.layer(dim, heads, kvHeads, headDim))
	}
	if c.chance() {
		c.FinalNorm = c.norm(dim)
	}
	c.Pooling = []model.Pooling{model.PoolMean, model.PoolCLS, model.PoolLast, model.PoolMax}[c.rng.IntN(4)]
	for in := dim; c.chance(); {
		out := 1 + c.rng.IntN(20)
		h := model.HeadLayer{Linear: c.linear(in, out), Act: activations[c.rng.IntN(len(activations))]}
		if c.chance() {
			h.Norm = c.norm(out)
			// Equal values, as saturated ones are, would leave nothing but rounding.
			h.Norm.Bias = c.add("shift", model.F32, 0, 0.3, out)
		}
		c.Head, in = append(c.Head, h), out
	}
	c.Normalize = c.chance()
	c.write(tb)
	return c
}

// write stores the tensors and opens them as the model's weights.
func (c *checkpoint) write(tb testing.TB) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "model.safetensors")
	modeltest.WriteTensors(tb, path, c.tensors, 0)
	w, err := model.OpenWeights(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	c.Weights = w
}

// row makes a random row of n tokens for the model.
func (c *checkpoint) row(n int) (ids []int32, types []uint8) {
	for range n {
		ids = append(ids, c.rng.Int32N(madeVocab))
		types = append(types, uint8(c.rng.IntN(c.Types())))
	}
	if c.chance() {
		return ids, nil
	}
	return ids, types
}

// What follows is the encoder as its formulas stand in the papers, one value at a
// time, with a mask in place of spans and complex numbers in place of rotations. It
// shares nothing with the code that it checks.

func (c *checkpoint) encode(ids []int32, types []uint8) []float64 {
	dim := c.Embedding.Word.Dim
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, dim)
		for j := range dim {
			x[i][j] = c.values[c.Embedding.Word.Weight][int(id)*dim+j]
			if name := c.Embedding.Position.Weight; name != "" {
				x[i][j] += c.values[name][(c.Embedding.FirstPosition+i)*dim+j]
			}
			if name := c.Embedding.Type.Weight; name != "" {
				row := 0
				if types != nil {
					row = int(types[i])
				}
				x[i][j] += c.values[name][row*dim+j]
			}
		}
		x[i] = c.normed(c.Embedding.Norm, x[i])
	}
	for _, l := range c.Layers {
		x = c.block(x, l.PreNorm, l.AttentionNorm, func(s [][]float64) [][]float64 { return c.attend(l.Attention, s) })
		x = c.block(x, l.PreNorm, l.OutputNorm, func(s [][]float64) [][]float64 { return c.feed(l.FeedForward, s) })
	}
	for i := range x {
		x[i] = c.normed(c.FinalNorm, x[i])
	}
	v := make([]float64, dim)
	for j := range dim {
		var sum float64
		top := math.Inf(-1)
		for i := range x {
			sum, top = sum+x[i][j], math.Max(top, x[i][j])
		}
		v[j] = map[model.Pooling]float64{
			model.PoolMean: sum / float64(len(x)), model.PoolMax: top, model.PoolCLS: x[0][j], model.PoolLast: x[len(x)-1][j],
		}[c.Pooling]
	}
	for _, h := range c.Head {
		y := c.mapped(h.Linear, v)
		for j := range y {
			y[j] = plainActivation(h.Act, y[j])
		}
		v = c.normed(h.Norm, y)
	}
	if c.Normalize {
		length := 0.
		for _, s := range v {
			length = math.Hypot(length, s)
		}
		for j := range v {
			v[j] /= math.Max(length, 1e-12)
		}
	}
	return v
}

// block is a residual step around f, normalised before or after.
func (c *checkpoint) block(x [][]float64, pre bool, n model.Norm, f func([][]float64) [][]float64) [][]float64 {
	in := make([][]float64, len(x))
	for i := range x {
		in[i] = x[i]
		if pre {
			in[i] = c.normed(n, x[i])
		}
	}
	y := f(in)
	for i := range y {
		for j := range y[i] {
			y[i][j] += x[i][j]
		}
		if !pre {
			y[i] = c.normed(n, y[i])
		}
	}
	return y
}

func (c *checkpoint) normed(n model.Norm, x []float64) []float64 {
	y := append([]float64{}, x...)
	if n.Weight == "" {
		return y
	}
	d := float64(len(x))
	var mean, variance float64
	for _, v := range x {
		mean += v / d
	}
	if n.RMS {
		mean = 0
	}
	for _, v := range x {
		variance += math.Pow(v-mean, 2) / d
	}
	for j := range y {
		y[j] = (x[j] - mean) / math.Sqrt(variance+n.Eps) * c.values[n.Weight][j]
		if n.Bias != "" {
			y[j] += c.values[n.Bias][j]
		}
	}
	return y
}

func (c *checkpoint) mapped(l model.Linear, x []float64) []float64 {
	y := make([]float64, l.Out)
	weight, bias, scale := c.values[l.Weight], c.values[l.Bias], c.values[l.Scale]
	for o := range y {
		if l.Bias != "" {
			y[o] = bias[l.Row+o]
		}
		for i, v := range x {
			w := weight[(l.Row+o)*l.In+i]
			if l.Scale != "" {
				w *= scale[l.Row+o]
			}
			y[o] += w * v
		}
	}
	return y
}

func (c *checkpoint) feed(f model.FeedForward, x [][]float64) [][]float64 {
	y := make([][]float64, len(x))
	for i, s := range x {
		h := c.mapped(f.Up, s)
		for j := range h {
			h[j] = plainActivation(f.Act, h[j])
		}
		if f.Gate.Weight != "" {
			for j, g := range c.mapped(f.Gate, s) {
				h[j] *= g
			}
		}
		y[i] = c.mapped(f.Down, h)
	}
	return y
}

func (c *checkpoint) attend(a model.Attention, x [][]float64) [][]float64 {
	n := len(x)
	// heads gives map l of every token, cut into heads, normalised and rotated.
	heads := func(l model.Linear, norm model.Norm, count int, rope bool) [][][]float64 {
		out := make([][][]float64, count)
		for h := range out {
			for i := range n {
				s := c.normed(norm, c.mapped(l, x[i])[h*a.HeadDim:(h+1)*a.HeadDim])
				for j := 0; rope && j < a.Rope.Dim/2; j++ {
					angle := float64(i) / math.Exp(math.Log(a.Rope.Theta)*float64(2*j)/float64(a.Rope.Dim))
					z := complex(s[j], s[j+a.Rope.Dim/2]) * cmplx.Exp(complex(0, angle))
					s[j], s[j+a.Rope.Dim/2] = real(z), imag(z)
				}
				out[h] = append(out[h], s)
			}
		}
		return out
	}
	q := heads(a.Query, a.QueryNorm, a.Heads, true)
	k := heads(a.Key, a.KeyNorm, a.KVHeads, true)
	v := heads(a.Value, model.Norm{}, a.KVHeads, false)
	y := make([][]float64, n)
	for i := range n {
		var all []float64
		for h := range a.Heads {
			kv := h * a.KVHeads / a.Heads
			scores := make([]float64, n)
			for j := range n {
				scores[j] = math.Inf(-1)
				far := int(math.Abs(float64(i - j)))
				if a.Window != 0 && far > a.Window || a.Causal && j > i {
					continue
				}
				var dot float64
				for e := range a.HeadDim {
					dot += q[h][i][e] * k[kv][j][e]
				}
				scores[j] = dot / math.Sqrt(float64(a.HeadDim))
				if t := c.RelativeBias.Table; t.Weight != "" {
					scores[j] += c.values[t.Weight][plainBucket(j-i, t.Rows, c.RelativeBias.MaxDistance)*t.Dim+h]
				}
			}
			// Weights can overflow: the largest becomes 1.
			mix, sum, top := make([]float64, a.HeadDim), 0., slices.Max(scores)
			for j, s := range scores {
				weight := math.Exp(s - top)
				sum += weight
				for e := range mix {
					mix[e] += weight * v[kv][j][e]
				}
			}
			for _, m := range mix {
				all = append(all, m/sum)
			}
		}
		y[i] = c.mapped(a.Output, all)
	}
	return y
}

// plainBucket finds the bucket of a distance by where the buckets begin.
func plainBucket(distance, buckets, most int) int {
	half, far := buckets/2, math.Abs(float64(distance))
	exact := half / 2
	bucket := 0
	for b := 1; b < half; b++ {
		begins := float64(b)
		if b >= exact {
			begins = float64(exact) * math.Pow(float64(most)/float64(exact), float64(b-exact)/float64(half-exact))
		}
		if far >= begins*(1-1e-9) {
			bucket = b
		}
	}
	if distance > 0 {
		bucket += half
	}
	return bucket
}

func plainActivation(a model.Activation, x float64) float64 {
	switch a {
	case model.GELU:
		return x * (1 - 0.5*math.Erfc(x/math.Sqrt2))
	case model.GELUTanh: // 0.5·(1 + tanh z) is σ(2z)
		return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*math.Pow(x, 3))))
	case model.SiLU: // σ(z) is 0.5·(1 + tanh(z/2))
		return x * 0.5 * (1 + math.Tanh(x/2))
	case model.ReLU:
		return math.Max(x, 0)
	case model.Tanh:
		return 1 - 2/(math.Exp(2*x)+1)
	}
	return x
}

// FuzzReference compares the encoder with the formulas on made-up models.
func FuzzReference(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint16(7*seed*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, length uint16) { compareMadeUp(t, seed, 1+int(length)%190) })
}

// TestReferenceBeyondOneBlock compares rows that are cut into blocks of tokens.
func TestReferenceBeyondOneBlock(t *testing.T) {
	compareMadeUp(t, 100, blockTokens+1)
	compareMadeUp(t, 109, madePositions)
}

// compareMadeUp compares a row of n tokens of a made-up model.
func compareMadeUp(t *testing.T, seed uint64, n int) {
	t.Helper()
	c := makeUp(t, seed)
	ids, types := c.row(n)
	r, err := NewReference(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Encode(ids, types)
	if err != nil {
		t.Fatal(err)
	}
	want := c.encode(ids, types)
	if len(got) != len(want) || len(got) != r.Dim() || len(got) != c.Dim() {
		t.Fatalf("%d values, want %d; Dim says %d, of the model %d", len(got), len(want), r.Dim(), c.Dim())
	}
	var scale float64
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for j, v := range want {
		if d := math.Abs(float64(got[j]) - v); !(d <= 1e-6*scale) {
			t.Fatalf("value %d of %d is %v, want %v", j, len(want), got[j], v)
		}
	}
}
