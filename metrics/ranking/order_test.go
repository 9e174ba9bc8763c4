package ranking

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive orders rows by comparing them one by one, as the rule reads.
func naive(b *Block, q int, o Order, dropped []bool) []int32 {
	from, to := b.Rows(q)
	var rows []int32
	for row := from; row < to; row++ {
		if dropped != nil && dropped[row-from] {
			continue
		}
		at := len(rows)
		for ; at > 0; at-- {
			before := int(rows[at-1])
			x, y := b.Score[before], b.Score[row]
			if o.Float32 {
				x, y = float64(float32(x)), float64(float32(y))
			}
			c := bytes.Compare(b.DocAt(before), b.DocAt(row))
			var stays bool
			switch {
			case o.Ties == ByRank:
				stays = b.Rank[before] <= b.Rank[row]
			case x != y:
				stays = x > y
			case o.Ties == File || c == 0:
				stays = true
			case o.Ties == Ascending:
				stays = c < 0
			default:
				stays = c > 0
			}
			if stays {
				break
			}
		}
		rows = slices.Insert(rows, at, int32(row))
	}
	return rows
}

// block makes one query from bytes: each gives a document, a score and a rank.
func block(data []byte, coded bool) *Block {
	b := &Block{Off: []int32{0, int32(len(data))}}
	b.Queries.Append([]byte("q"))
	scores := []float64{1, 1 + 1e-9, 2, -1, 0, math.Copysign(0, -1), 1e300, math.Inf(-1)}
	var ids []string
	for i, c := range data {
		ids = append(ids, fmt.Sprintf("%d%c", i%7, c))
		b.Score = append(b.Score, scores[c%8])
		b.Rank = append(b.Rank, int32(c>>4))
	}
	if !coded {
		for _, id := range ids {
			b.Docs.Append([]byte(id))
		}
		return b
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	for _, id := range sorted {
		b.Docs.Append([]byte(id))
	}
	for _, id := range ids {
		n, _ := slices.BinarySearch(sorted, id)
		b.Doc = append(b.Doc, int32(n))
	}
	b.Sorted = true
	return b
}

func checkOrder(t *testing.T, data []byte) {
	t.Helper()
	for _, coded := range []bool{false, true} {
		b := block(data, coded)
		for ties := Descending; ties <= Average; ties++ {
			for _, float32 := range []bool{false, true} {
				s := Sorter{Order: Order{ties, float32}}
				want := naive(b, 0, s.Order, nil)
				got := s.Rank(b, 0)
				if got == nil {
					for i := range data {
						got = append(got, int32(i))
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v, float32 %v, coded %v, %q: %v, want %v", ties, float32, coded, data, got, want)
				}
				dropped := make([]bool, len(data))
				for i := range data {
					dropped[i] = data[i]%3 == 0
				}
				if got, want := s.Choose(b, 0, dropped), naive(b, 0, s.Order, dropped); !slices.Equal(got, want) {
					t.Fatalf("%v, float32 %v, coded %v, %q without some: %v, want %v", ties, float32, coded, data, got, want)
				}
			}
		}
	}
}

func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			data[i] = byte(rng.IntN(1 + rng.IntN(255)))
		}
		checkOrder(t, data)
		slices.Sort(data)
		checkOrder(t, data)
	}
}

func FuzzOrder(f *testing.F) {
	for _, s := range []string{"", "a", "aab", "zyxw", "aaaaaaaa", "\x00\x01\x02\x03\x04\x05\x06\x07", "\xff\xef\xdf"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 50 {
			checkOrder(t, data)
		}
	})
}

func TestFalling(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		scores []float64
		want   bool
	}{
		{nil, true}, {[]float64{1}, true}, {[]float64{2, 1, -1}, true}, {[]float64{2, 2}, false}, {[]float64{1, 2}, false},
		{[]float64{2, nan, 1}, false}, {[]float64{nan, 1}, false}, {[]float64{1, nan}, false}, {[]float64{math.Inf(1), 1, math.Inf(-1)}, true},
	} {
		if got := (Order{}).Falling(c.scores); got != c.want {
			t.Errorf("%v: %v", c.scores, got)
		}
	}
	// Equal as float32, or by another column.
	if (Order{Float32: true}).Falling([]float64{1 + 1e-9, 1}) || (Order{Ties: ByRank}).Falling([]float64{2, 1}) {
		t.Error("falling by another rule")
	}
}

// A ranking that lies in order is told so, and costs no memory.
func TestOrderedRankingStays(t *testing.T) {
	b := &Block{Off: []int32{0, 3}, Score: []float64{3, 2, 2}}
	for _, id := range []string{"a", "z", "b"} {
		b.Docs.Append([]byte(id))
	}
	b.Queries.Append([]byte("q"))
	s := Sorter{}
	if n := testing.AllocsPerRun(10, func() {
		if s.Rank(b, 0) != nil {
			t.Error("not in order")
		}
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
	s.Order.Ties = Ascending
	if got := s.Rank(b, 0); !slices.Equal(got, []int32{0, 2, 1}) {
		t.Errorf("rows %v", got)
	}
}

func TestTieNames(t *testing.T) {
	for ties := Descending; ties <= Average; ties++ {
		if got, err := ParseTies(ties.String()); err != nil || got != ties {
			t.Errorf("%v: %v, %v", ties, got, err)
		}
	}
	if _, err := ParseTies("random"); err == nil || err.Error() != `unknown tie rule "random": desc, asc, file, rank, average` {
		t.Errorf("error %v", err)
	}
	if got := Ties(9).String(); got != "ties(9)" {
		t.Errorf("%s", got)
	}
}

func TestIDs(t *testing.T) {
	var ids IDs
	for _, id := range []string{"", "a", "\xff", "long enough"} {
		ids.Append([]byte(id))
	}
	if ids.Len() != 4 || string(ids.At(0)) != "" || string(ids.At(2)) != "\xff" || string(ids.At(3)) != "long enough" {
		t.Errorf("%+v", ids)
	}
	// A view cannot grow into its neighbour.
	if grown := append(ids.At(1), 'x'); string(ids.At(2)) != "\xff" || string(grown) != "ax" {
		t.Errorf("%q after %q", ids.At(2), grown)
	}
	if ids.Reset(); ids.Len() != 0 {
		t.Errorf("%d left", ids.Len())
	}
	b := Block{Sorted: true, Seq: 4, Doc: []int32{0}, Score: []float64{1}, Off: []int32{0}}
	if b.Reset(); b.Sorted || b.Seq != 0 || b.Doc != nil || len(b.Score) != 0 || len(b.Off) != 0 || b.Len() != 0 {
		t.Errorf("%+v", b)
	}
}
