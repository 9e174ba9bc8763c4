package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzMatch holds Match to a look-up of every document.
func FuzzMatch(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed, uint16(seed*7), uint16(seed*91))
	}
	f.Fuzz(func(t *testing.T, seed uint64, judged, ranked uint16) {
		r := rand.New(rand.NewPCG(seed, 3))
		bound := []int{100, 3000, 1 << 31}[seed%3]
		var docs, ranking []int32
		index := map[int32]int32{}
		for range int(judged % 2000) {
			doc := int32(r.IntN(bound))
			if _, ok := index[doc]; !ok {
				index[doc] = int32(len(docs))
			}
			docs = append(docs, doc)
		}
		for range int(ranked % 2500) {
			doc := int32(r.IntN(bound))
			if len(docs) > 0 && r.IntN(20) == 0 {
				doc = docs[r.IntN(len(docs))]
			}
			ranking = append(ranking, doc)
		}
		var m Matcher
		m.Set([]int32{5, 6, 7}) // of a query before
		m.Set(docs)
		rank, which := m.Match(nil, nil, ranking)
		var wantRank, wantWhich []int32
		for i, doc := range ranking {
			if w, ok := index[doc]; ok {
				wantRank, wantWhich = append(wantRank, int32(i)), append(wantWhich, w)
			}
		}
		if !slices.Equal(rank, wantRank) || !slices.Equal(which, wantWhich) {
			t.Errorf("%d judged, %d ranked: got %v, %v, want %v, %v", len(docs), len(ranking), rank, which, wantRank, wantWhich)
		}
	})
}

func TestMatchNothing(t *testing.T) {
	var m Matcher
	if rank, which := m.Match(nil, nil, []int32{0, 1}); rank != nil || which != nil {
		t.Errorf("without judgements: %v, %v", rank, which)
	}
	m.Set(nil)
	if rank, which := m.Match(nil, nil, []int32{0, 1}); rank != nil || which != nil {
		t.Errorf("with no judgements: %v, %v", rank, which)
	}
}

// Documents by number, from two judged lists to one score.
func ExampleMatcher() {
	var m Matcher
	var j Judged
	m.Set([]int32{40, 10})                                  // judged documents,
	grades := []float64{2, 1}                               // their grades,
	ranked := []int32{7, 10, 8, 40}                         // and a ranking
	rank, which := m.Match(nil, nil, ranked)                // rank 2 and 4
	err := j.AppendSparse(len(ranked), rank, which, grades) // into the block
	ndcg, _ := Parse("nDCG@10")
	dst := make([]float64, j.Queries())
	ndcg.Score(dst, &j)
	fmt.Printf("%v %v %v %.4f\n", rank, which, err, dst[0])
	// Output: [1 3] [1 0] <nil> 0.5672
}
