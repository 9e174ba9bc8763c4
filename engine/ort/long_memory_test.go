//go:build cgo && linux

package ort

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"encbench/engine/model"
	"encbench/engine/onnx"
)

// peakBytes is the most memory that the process has had.
func peakBytes(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss << 10
}

// Rows of 4,096 tokens, padded, and of 8,192 alone: nothing is kept for every pair of
// tokens and each head, which would be 0.5 and 2.1 GB a row and layer.
func TestLongRowsFitInMemory(t *testing.T) {
	load(t)
	r := &maker{Rand: rand.New(rand.NewPCG(8, 192))}
	const hidden, heads, dim, ffn, positions = 16, 8, 8, 16, 8192
	m := &model.Model{
		Name: "long", Kind: model.Embedder, Pooling: model.PoolMean,
		Config: model.Config{Vocab: madeVocab, Positions: positions, Hidden: hidden},
	}
	m.Embedding.Word = r.table(madeVocab, hidden)
	for _, a := range []model.Attention{{Window: 64}, {}, {Causal: true}} {
		q := r.linears(hidden, heads*dim, heads*dim, heads*dim)
		a.Query, a.Key, a.Value, a.Output = q[0], q[1], q[2], r.linears(heads*dim, hidden)[0]
		a.Heads, a.KVHeads, a.HeadDim = heads, heads, dim
		a.Rope = model.Rope{Theta: 10000, Dim: dim}
		m.Layers = append(m.Layers, model.Layer{
			PreNorm: true, Attention: a, AttentionNorm: r.norm(hidden, false), OutputNorm: r.norm(hidden, false),
			FeedForward: model.FeedForward{Up: r.linears(hidden, ffn)[0], Down: r.linears(ffn, hidden)[0], Act: model.GELU},
		})
	}
	r.open(t, m, t.TempDir())
	for _, c := range []struct {
		lengths []int
		ubatch  int
		limit   int64 // bytes
	}{
		{[]int{4096, 2500}, 2, 250 << 20},
		{[]int{8192}, 0, 400 << 20},
	} {
		enc := open(t, built(t, m, onnx.Options{Mask: c.ubatch > 0}), Layout{Workers: 1, Intra: 2, Batch: 2, UBatch: c.ubatch})
		before := peakBytes(t)
		encodeTyped(t, enc, r.rows(c.lengths, 1))
		if grown := peakBytes(t) - before; grown > c.limit {
			t.Errorf("rows of %d tokens took %d MB more than what was there", c.lengths, grown>>20)
		}
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
	}
}
