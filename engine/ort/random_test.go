//go:build cgo

package ort

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// maker makes descriptions at random, with weights for them.
type maker struct {
	*rand.Rand
	tensors []modeltest.Tensor
}

// tensor makes a tensor of values around centre and gives its name.
func (r *maker) tensor(centre, spread float64, shape ...int) string {
	t := modeltest.Tensor{
		Name: fmt.Sprintf("t%d", len(r.tensors)), Shape: shape,
		DType: []model.DType{model.F32, model.F32, model.F32, model.BF16}[r.IntN(4)],
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for range n {
		bits := math.Float32bits(float32(centre + spread*r.NormFloat64()))
		if t.DType == model.BF16 {
			t.Data = binary.LittleEndian.AppendUint16(t.Data, uint16(bits>>16))
		} else {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, bits)
		}
	}
	r.tensors = append(r.tensors, t)
	return t.Name
}

// either is true as often as false.
func (r *maker) either() bool { return r.IntN(2) == 0 }

// pick gives one of the values.
func pick[T any](r *maker, of ...T) T { return of[r.IntN(len(of))] }

// linears makes maps of in values that are rows of one tensor, or tensors of their own.
func (r *maker) linears(in int, outs ...int) []model.Linear {
	fused, biased := r.either(), r.either()
	rows := 0
	for _, out := range outs {
		rows += out
	}
	ls := make([]model.Linear, len(outs))
	spread := 0.7 / math.Sqrt(float64(in))
	at, whole := 0, model.Linear{}
	if fused {
		whole.Weight = r.tensor(0, spread, rows, in)
		if biased {
			whole.Bias = r.tensor(0, 0.3, rows)
		}
	}
	for i, out := range outs {
		l := whole
		l.In, l.Out = in, out
		if fused {
			l.Row, l.Rows = at, rows
		} else {
			l.Weight = r.tensor(0, spread, out, in)
			if biased {
				l.Bias = r.tensor(0, 0.3, out)
			}
		}
		at += out
		ls[i] = l
	}
	return ls
}

func (r *maker) norm(dim int, rms bool) model.Norm {
	n := model.Norm{Weight: r.tensor(1, 0.2, dim), Dim: dim, Eps: 1e-5, RMS: rms}
	if !rms && r.either() {
		n.Bias = r.tensor(0, 0.2, dim)
	}
	return n
}

func (r *maker) table(rows, dim int) model.Table {
	return model.Table{Weight: r.tensor(0, 1, rows, dim), Rows: rows, Dim: dim}
}

// Sizes of the descriptions.
const (
	madeVocab     = 60
	madePositions = 300
)

// attention makes the attention of a layer. Models with a relative bias have neither
// windows nor causal layers.
func (r *maker) attention(hidden, heads, dim int, relative bool) model.Attention {
	a := model.Attention{Heads: heads, KVHeads: heads, HeadDim: dim}
	for a.KVHeads > 1 && r.IntN(3) == 0 {
		if a.KVHeads--; heads%a.KVHeads != 0 {
			a.KVHeads = 1
		}
	}
	q := r.linears(hidden, heads*dim, a.KVHeads*dim, a.KVHeads*dim)
	a.Query, a.Key, a.Value = q[0], q[1], q[2]
	a.Output = r.linears(heads*dim, hidden)[0]
	if r.IntN(3) == 0 {
		a.QueryNorm, a.KeyNorm = r.norm(dim, true), r.norm(dim, true)
	}
	if r.either() {
		a.Rope = model.Rope{Theta: pick(r, 100., 10000, 1e6), Dim: pick(r, dim, dim/4*2)}
	}
	if !relative {
		a.Window, a.Causal = pick(r, 0, 0, 1, 7, 20, 64), r.IntN(3) == 0
	}
	return a
}

// model makes a description and writes its weights into dir.
func (r *maker) model(t *testing.T, dir string) *model.Model {
	t.Helper()
	heads, dim := pick(r, 1, 2, 3, 4, 5, 6, 8), pick(r, 4, 6, 8, 10, 12, 16, 24)
	hidden := pick(r, heads*dim, 32)
	relative, rms := r.IntN(5) == 0, r.either()
	m := &model.Model{
		Name: "made", Kind: model.Embedder, Pooling: pick(r, model.Poolings()...), Normalize: r.either(),
		Config: model.Config{Vocab: madeVocab, Positions: madePositions, Hidden: hidden},
	}
	e := &m.Embedding
	e.Word = r.table(madeVocab, hidden)
	if r.either() {
		e.FirstPosition = r.IntN(3)
		e.Position = r.table(madePositions+e.FirstPosition, hidden)
	}
	if r.either() {
		e.Type = r.table(2, hidden)
	}
	if r.either() {
		e.Norm = r.norm(hidden, rms)
	}
	if relative {
		m.RelativeBias = model.RelativeBias{Table: r.table(pick(r, 8, 32), heads), MaxDistance: pick(r, 20, 128)}
	}
	pre := r.either()
	for i := range 1 + r.IntN(4) {
		l := model.Layer{PreNorm: pre, Attention: r.attention(hidden, heads, dim, relative)}
		if !pre || i > 0 {
			l.AttentionNorm = r.norm(hidden, rms)
		}
		ffn := pick(r, 8, 40)
		up := r.linears(hidden, ffn, ffn)
		l.FeedForward.Up, l.FeedForward.Down = up[0], r.linears(ffn, hidden)[0]
		if r.either() {
			l.FeedForward.Gate = up[1]
		}
		l.FeedForward.Act = pick(r, model.GELU, model.GELUTanh, model.SiLU, model.ReLU)
		l.OutputNorm = r.norm(hidden, rms)
		m.Layers = append(m.Layers, l)
	}
	if pre {
		m.FinalNorm = r.norm(hidden, rms)
	}
	out := hidden
	for range r.IntN(3) {
		h := model.HeadLayer{Act: pick(r, "", model.Tanh, model.GELU)}
		next := pick(r, 1, 12)
		h.Linear, out = r.linears(out, next)[0], next
		if out > 1 && r.either() {
			h.Norm = r.norm(out, false)
		}
		m.Head = append(m.Head, h)
	}
	r.open(t, m, dir)
	return m
}

// open writes the tensors that were made into dir and gives them to m.
func (r *maker) open(t *testing.T, m *model.Model, dir string) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	modeltest.WriteTensors(t, path, r.tensors, 0)
	var err error
	if m.Weights, err = model.OpenWeights(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
}

// rows makes rows of the given lengths.
func (r *maker) rows(lengths []int, types int) []typed {
	rows := make([]typed, len(lengths))
	for i, n := range lengths {
		for range n {
			rows[i].ids = append(rows[i].ids, r.Int32N(madeVocab))
			rows[i].types = append(rows[i].types, uint8(r.IntN(types)))
		}
		if types == 1 {
			rows[i].types = nil
		}
	}
	return rows
}

// TestDescriptions compares encoders that are described at random with the reference
// encoder: parts that no checkpoint combines, and lengths around those where blocks
// and windows end.
func TestDescriptions(t *testing.T) {
	load(t)
	edges := []int{1, 2, 8, 9, 63, 64, 65, 78, 85, 104, 127, 128, 129, 191, 192, 193, 194, 255, 257, 300}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &maker{Rand: rand.New(rand.NewPCG(seed, 5))}
			m := r.model(t, t.TempDir())
			ref, err := cpu.NewReference(m)
			if err != nil {
				t.Fatal(err)
			}
			lengths := []int{pick(r, edges...), pick(r, edges...), pick(r, edges...), pick(r, edges...), 1 + r.IntN(madePositions)}
			rows := r.rows(append(lengths, lengths[0]), m.Types())
			want := make([][]float32, len(rows))
			for i, row := range rows {
				if want[i], err = ref.Encode(row.ids, row.types); err != nil {
					t.Fatal(err)
				}
			}
			everyWay(t, m, rows, want, 2e-5)
		})
	}
}

// TestLongRows compares rows of more than a thousand tokens, whose windows are many
// blocks, of the shape of ModernBERT: layers with a window and without, two rotary
// bases, gates. Alone, and beside a short row with padding.
func TestLongRows(t *testing.T) {
	load(t)
	for _, pooling := range []model.Pooling{model.PoolMean, model.PoolCLS} {
		r := &maker{Rand: rand.New(rand.NewPCG(9, 9))}
		const hidden, heads, dim, ffn, positions = 24, 3, 8, 40, 2048
		m := &model.Model{
			Name: "long", Kind: model.Embedder, Pooling: pooling, Normalize: true,
			Config: model.Config{Vocab: madeVocab, Positions: positions, Hidden: hidden},
		}
		m.Embedding.Word, m.Embedding.Norm = r.table(madeVocab, hidden), r.norm(hidden, false)
		for i := range 6 {
			q := r.linears(hidden, heads*dim, heads*dim, heads*dim)
			up := r.linears(hidden, ffn, ffn)
			l := model.Layer{
				PreNorm: true,
				Attention: model.Attention{
					Query: q[0], Key: q[1], Value: q[2], Output: r.linears(heads*dim, hidden)[0],
					Heads: heads, KVHeads: heads, HeadDim: dim, Rope: model.Rope{Theta: 160000, Dim: dim},
				},
				FeedForward: model.FeedForward{Up: up[0], Gate: up[1], Down: r.linears(ffn, hidden)[0], Act: model.GELU},
				OutputNorm:  r.norm(hidden, false),
			}
			if i > 0 {
				l.AttentionNorm = r.norm(hidden, false)
			}
			if i%3 != 0 {
				l.Attention.Window, l.Attention.Rope.Theta = 64, 10000
			}
			m.Layers = append(m.Layers, l)
		}
		m.FinalNorm = r.norm(hidden, false)
		r.open(t, m, t.TempDir())
		ref, err := cpu.NewReference(m)
		if err != nil {
			t.Fatal(err)
		}
		rows := r.rows([]int{1030, 60, 700}, 1)
		want := make([][]float32, len(rows))
		for i, row := range rows {
			if want[i], err = ref.Encode(row.ids, row.types); err != nil {
				t.Fatal(err)
			}
		}
		everyWay(t, m, rows, want, 1e-5)
	}
}
