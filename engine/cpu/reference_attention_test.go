package cpu

import (
	"runtime"
	"slices"
	"testing"

	"encbench/engine/model"
)

// TestBuckets compares with where the buckets of transformers' MPNet begin: its
// function, called with these numbers of buckets and largest distances.
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		buckets, most int
		begins        []int // distance at which each bucket of one side begins
	}{
		{32, 128, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}},
		{32, 2048, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512}},
		{16, 64, []int{0, 1, 2, 3, 4, 8, 16, 32}},
		{12, 100, []int{0, 1, 2, 3, 10, 32}},
		{8, 32, []int{0, 1, 2, 8}},
		{64, 256, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216}},
	} {
		r := relativeBias{buckets: c.buckets, maxDistance: c.most}
		for distance := range 601 {
			bucket := 0
			for bucket+1 < len(c.begins) && distance >= c.begins[bucket+1] {
				bucket++
			}
			if got := r.bucket(-distance); got != bucket {
				t.Errorf("%d buckets up to %d: a key %d before the query is in bucket %d, want %d", c.buckets, c.most, distance, got, bucket)
			}
			if got := r.bucket(distance); distance > 0 && got != c.buckets/2+bucket {
				t.Errorf("%d buckets up to %d: a key %d after the query is in bucket %d, want %d", c.buckets, c.most, distance, got, c.buckets/2+bucket)
			}
		}
	}
}

// longModel makes a model of one layer whose tokens see window tokens to each side.
func longModel(t *testing.T, window int) *checkpoint {
	t.Helper()
	c := makeUp(t, 7)
	c.Config.Positions = 8192
	c.Embedding.Position, c.Embedding.Type, c.RelativeBias, c.Head = model.Table{}, model.Table{}, model.RelativeBias{}, nil
	c.Pooling = model.PoolCLS
	c.Layers = c.Layers[:1]
	c.Layers[0].Attention.Window, c.Layers[0].Attention.Causal = window, false
	return c
}

// TestWindowEnds makes sure that nothing outside the window of the first token
// reaches it, and that what is at its edge does.
func TestWindowEnds(t *testing.T) {
	c := longModel(t, 64)
	r, err := NewReference(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, 8192)
	for i := range ids {
		ids[i] = int32(i*i) % madeVocab
	}
	all := encode(t, r, ids)
	if inside := encode(t, r, ids[:65]); !slices.Equal(all, inside) {
		t.Errorf("8,192 tokens: %v, the 65 that count: %v", all, inside)
	}
	if fewer := encode(t, r, ids[:64]); slices.Equal(all, fewer) {
		t.Error("the token at the window's edge does not count")
	}
}

// TestLongRowsStaySmall bounds what a row of 2,048 tokens allocates: nothing grows
// with the square of its length (one float64 for each pair would be 33 MB).
func TestLongRowsStaySmall(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	ids := make([]int32, 2048)
	for _, c := range []struct {
		window int
		limit  uint64 // bytes
	}{
		{64, 3 << 20},
		{0, 5 << 20},
	} {
		m := longModel(t, c.window)
		r, err := NewReference(m.Model)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		encode(t, r, ids)
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		if n > c.limit {
			t.Errorf("window %d: %d bytes, limit %d", c.window, n, c.limit)
		}
	}
}
