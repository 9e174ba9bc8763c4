package onnx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/engine/model"
)

// shape describes an encoder without its weights, as far as memory depends on it.
type shape struct {
	layers, dim, heads, kvHeads, ffn int
	gated, preNorm                   bool
	pooling                          model.Pooling
	// windows, by layer: to each side, 0 = all. nil = no rotation either.
	windows []int
	causal  bool
}

func (s shape) model() *model.Model {
	m := &model.Model{Pooling: s.pooling, Weights: &model.Weights{}}
	m.Embedding.Word = model.Table{Weight: "words", Rows: 1000, Dim: s.dim}
	linear := func(in, out int, bias bool) model.Linear {
		l := model.Linear{Weight: "w", In: in, Out: out}
		if bias {
			l.Bias = "b"
		}
		return l
	}
	size := s.dim / s.heads
	if s.causal {
		size = 128
	}
	for i := range s.layers {
		var l model.Layer
		bias := s.windows == nil && !s.causal
		l.Attention = model.Attention{
			Query: linear(s.dim, s.heads*size, bias), Key: linear(s.dim, s.kvHeads*size, bias), Value: linear(s.dim, s.kvHeads*size, bias), Output: linear(s.heads*size, s.dim, bias),
			Heads: s.heads, KVHeads: s.kvHeads, HeadDim: size, Causal: s.causal,
		}
		if !bias {
			l.Attention.Rope = model.Rope{Theta: 10000, Dim: size}
		}
		if s.windows != nil {
			l.Attention.Window = s.windows[i%len(s.windows)]
		}
		l.AttentionNorm, l.OutputNorm = model.Norm{Weight: "n", Dim: s.dim}, model.Norm{Weight: "n", Dim: s.dim}
		l.FeedForward = model.FeedForward{Up: linear(s.dim, s.ffn, bias), Down: linear(s.ffn, s.dim, bias), Act: model.GELU}
		if s.gated {
			l.FeedForward.Gate = linear(s.dim, s.ffn, bias)
		}
		l.PreNorm = s.preNorm
		m.Layers = append(m.Layers, l)
	}
	return m
}

var (
	miniLM       = shape{layers: 6, dim: 384, heads: 12, kvHeads: 12, ffn: 1536, pooling: model.PoolMean}
	bertBase     = shape{layers: 12, dim: 768, heads: 12, kvHeads: 12, ffn: 3072, pooling: model.PoolCLS}
	graniteSmall = shape{layers: 12, dim: 384, heads: 12, kvHeads: 12, ffn: 1536, gated: true, preNorm: true, pooling: model.PoolCLS, windows: []int{0, 64, 64}}
	modernBERT   = shape{layers: 22, dim: 768, heads: 12, kvHeads: 12, ffn: 1152, gated: true, preNorm: true, pooling: model.PoolMean, windows: []int{0, 64, 64}}
	qwen3        = shape{layers: 28, dim: 1024, heads: 16, kvHeads: 8, ffn: 3072, gated: true, preNorm: true, pooling: model.PoolLast, causal: true}
)

// What a run was predicted to take beside what it took: the growth of anonymous memory
// by one run of a fresh process, ONNX Runtime 1.32 on a core with AVX-512, in MB. The
// prediction is never below, and above by no more than a little constant and 90 %.
func TestRunMemoryBesideMeasured(t *testing.T) {
	for _, c := range []struct {
		name         string
		shape        shape
		masked       bool
		rows, length int
		measured     float64
	}{
		{"MiniLM", miniLM, false, 1, 512, 13.2},
		{"MiniLM", miniLM, true, 4, 512, 57.0},
		{"MiniLM", miniLM, true, 8, 512, 113.2},
		{"MiniLM", miniLM, true, 32, 512, 450.7},
		{"MiniLM", miniLM, true, 16, 128, 56.6},
		{"MiniLM", miniLM, true, 32, 64, 56.7},
		{"bge-base", bertBase, true, 4, 512, 114.4},
		{"bge-base", bertBase, false, 1, 512, 26.6},
		{"granite-small", graniteSmall, false, 1, 512, 18.3},
		{"granite-small", graniteSmall, false, 1, 2048, 73.0},
		{"granite-small", graniteSmall, false, 1, 4096, 145.0},
		{"granite-small", graniteSmall, false, 1, 8192, 290.5},
		{"granite-small", graniteSmall, true, 8, 512, 146.2},
		{"granite-small", graniteSmall, true, 32, 32, 29.7},
		{"granite-small", graniteSmall, true, 2, 1024, 75.7},
		{"granite-small", graniteSmall, true, 2, 4096, 302.7},
		{"ModernBERT-base", modernBERT, false, 1, 512, 16.8},
		{"ModernBERT-base", modernBERT, false, 1, 2048, 69.7},
		{"ModernBERT-base", modernBERT, false, 1, 8192, 280.8},
		{"ModernBERT-base", modernBERT, true, 4, 512, 67.1},
		{"ModernBERT-base", modernBERT, true, 16, 128, 66.7},
		{"ModernBERT-base", modernBERT, true, 2, 2048, 163.1},
		{"Qwen3-0.6B", qwen3, false, 1, 256, 73.6},
		{"Qwen3-0.6B", qwen3, true, 4, 128, 153.3},
	} {
		got := float64(Memory(c.shape.model(), Options{Mask: c.masked}, c.rows, c.length).Run) / 1e6
		t.Logf("%-15s masked %-5t %2d × %4d: predicted %6.1f, measured %6.1f MB, %.2f", c.name, c.masked, c.rows, c.length, got, c.measured, got/c.measured)
		if got < c.measured || got > 1.9*c.measured+8 {
			t.Errorf("%s, masked %t, %d rows of %d: predicted %.1f MB, measured %.1f", c.name, c.masked, c.rows, c.length, got, c.measured)
		}
	}
}

// The parts that follow from the weights, by hand.
func TestMemoryOfWeights(t *testing.T) {
	s := shape{layers: 2, dim: 32, heads: 4, kvHeads: 4, ffn: 64, gated: true, pooling: model.PoolMean, windows: []int{0, 4}}
	m := s.model()
	m.Config.Positions = 100
	m.Embedding.Position = model.Table{Weight: "p", Rows: 128, Dim: 32}
	f := Memory(m, Options{}, 1, 10)
	if want := int64(2 * 4 * (4*32*32 + 3*32*64)); f.Packed != want {
		t.Errorf("matrices take %d bytes, want %d", f.Packed, want)
	}
	rope := int64(40 * m.MaxPositions() * 8 / 2)
	if want := int64(4<<20 + 2*(1<<18) + 2*4*128*32 + rope); f.Computed != want {
		t.Errorf("what is computed takes %d bytes, want %d", f.Computed, want)
	}
	for i := range m.Layers {
		m.Layers[i].FeedForward.Gate = model.Linear{}
	}
	m.Layers[0].FeedForward.Up.Scale = "s" // int8
	g := Memory(m, Options{}, 1, 10)
	if want := f.Packed - 2*4*32*64 - 3*32*64; g.Packed != want {
		t.Errorf("with a matrix of int8 and no gates the matrices take %d bytes, want %d", g.Packed, want)
	}
}

// Memory of a run grows with rows and lengths in proportion, also where a row has 8,192
// tokens: nothing is kept for every pair of tokens.
func TestRunMemoryIsLinear(t *testing.T) {
	for name, s := range map[string]shape{"MiniLM": miniLM, "granite-small": graniteSmall, "ModernBERT-base": modernBERT} {
		for _, masked := range []bool{false, true} {
			one := float64(Memory(s.model(), Options{Mask: masked}, 1, 1024).Run)
			eight := float64(Memory(s.model(), Options{Mask: masked}, 1, 8192).Run)
			rows := float64(Memory(s.model(), Options{Mask: masked}, 8, 1024).Run)
			if eight < 6*one || eight > 10*one || rows < 6*one || rows > 10*one {
				t.Errorf("%s, masked %t: a row of 1,024 tokens takes %.1f MB, of 8,192 %.1f, 8 rows of 1,024 %.1f", name, masked, one/1e6, eight/1e6, rows/1e6)
			}
		}
	}
}

// A relative bias keeps scores of all pairs of tokens for every row and head.
func TestRunMemoryOfRelativeBias(t *testing.T) {
	m := bertBase.model()
	plain := Memory(m, Options{Mask: true}, 8, 512).Run
	m.RelativeBias = model.RelativeBias{Table: model.Table{Weight: "r", Rows: 32, Dim: 12}, MaxDistance: 128}
	scores := int64(4 * 8 * 12 * 512 * 512)
	if more := Memory(m, Options{Mask: true}, 8, 512).Run - plain; more < scores {
		t.Errorf("a relative bias takes %d bytes more, its scores are %d", more, scores)
	}
}

func TestTouchedBytes(t *testing.T) {
	m, err := model.Open("../model/testdata/tiny-bert-mean")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	words, _ := m.Weights.Tensor(m.Embedding.Word.Weight)
	all := func(yield func([]int32) bool) {
		ids := make([]int32, m.Embedding.Word.Rows)
		for i := range ids {
			ids[i] = int32(i)
		}
		yield(ids)
	}
	if got := TouchedBytes(m, all); got < words.Bytes || got > words.Bytes+2*around {
		t.Errorf("all ids touch %d bytes of a table of %d", got, words.Bytes)
	}
	if got := TouchedBytes(m, slices.Values([][]int32{{0, 0}, {0}})); got != around && got != min(2*around, words.Bytes+around) {
		t.Errorf("one id touches %d bytes", got)
	}
	if got := TouchedBytes(m, slices.Values([][]int32{})); got != 0 {
		t.Errorf("no id touches %d bytes", got)
	}
	if f := Memory(m, Options{}, 1, 8); f.Mapped != words.Bytes {
		t.Errorf("the table takes %d bytes, want %d", f.Mapped, words.Bytes)
	}
}

// The laws of the arena: what is alive never overlaps, resident memory is no less than
// what is alive and no more than the regions, and once all is given back every region
// is one free place again.
func FuzzArena(f *testing.F) {
	f.Add(uint64(1), 200, 1<<20)
	f.Add(uint64(2), 1000, 3000)
	f.Add(uint64(3), 50, 1<<28)
	f.Fuzz(func(t *testing.T, seed uint64, steps, largest int) {
		if steps < 0 || steps > 2000 || largest < 1 || largest > 1<<30 {
			t.Skip("longer than a graph")
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		a := newArena()
		type held struct{ at, size int64 }
		var alive []held
		var live, peak int64
		for range steps {
			if len(alive) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(alive))
				a.drop(alive[i].at)
				live -= alive[i].size
				alive = slices.Delete(alive, i, i+1)
				continue
			}
			size := 1 + rng.Int64N(int64(largest))
			h := held{a.take(size), size}
			for _, o := range alive {
				if h.at < o.at+o.size && o.at < h.at+h.size {
					t.Fatalf("%d bytes at %d overlap %d at %d", h.size, h.at, o.size, o.at)
				}
			}
			alive = append(alive, h)
			live += size
			peak = max(peak, live)
			var used, all int64
			for _, p := range a.places {
				if p.used > p.size {
					t.Fatalf("place %+v", p)
				}
				used, all = used+p.used, all+p.size
			}
			if used != a.resident || a.resident < peak || a.resident > all {
				t.Fatalf("%d bytes are resident, %d were used of %d; %d were alive at once", a.resident, used, all, peak)
			}
		}
		for _, h := range alive {
			a.drop(h.at)
		}
		for _, p := range a.places {
			if !p.free || !p.first {
				t.Fatalf("after all was given back there is a place %+v", p)
			}
		}
	})
}

func TestArenaRefusesWhatItDidNotGive(t *testing.T) {
	a := newArena()
	at := a.take(1000)
	a.drop(at)
	defer func() {
		if r := fmt.Sprint(recover()); r != "onnx: arena gets back what it did not give" {
			t.Errorf("panic %q", r)
		}
	}()
	a.drop(at)
}
