package metrics

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// mixed makes runs by number: queries rankings of depth documents out of a
// million, judged documents for each, half of them ranked, the better ones
// earlier.
func mixed(queries, depth, judged, levels int) (ranked, docs [][]int32, grades [][]float64) {
	r := rand.New(rand.NewPCG(uint64(queries), uint64(judged)))
	for range queries {
		n := 1 + r.IntN(2*judged-1)
		var d []int32
		var g []float64
		list := make([]int32, depth)
		for i := range list {
			list[i] = r.Int32N(1 << 20)
		}
		for i := range n {
			doc := 1<<20 + int32(i)
			d, g = append(d, doc), append(g, float64(r.IntN(levels)))
			if r.IntN(2) == 0 {
				list[min(int(r.ExpFloat64()*float64(depth)/10), depth-1)] = doc
			}
		}
		ranked, docs, grades = append(ranked, list), append(docs, d), append(grades, g)
	}
	return
}

func fill(b *testing.B, j *Judged, m *Matcher, ranked, docs [][]int32, grades [][]float64) {
	var rank, which []int32
	for q := range ranked {
		m.Set(docs[q])
		rank, which = m.Match(rank[:0], which[:0], ranked[q])
		if err := j.AppendSparse(len(ranked[q]), rank, which, grades[q]); err != nil {
			b.Fatal(err)
		}
	}
}

var shapes = []struct{ judged, levels int }{{1, 2}, {20, 2}, {20, 4}, {200, 4}}

// BenchmarkMatch matches rankings of 1,000 and fills the block.
func BenchmarkMatch(b *testing.B) {
	for _, s := range shapes {
		b.Run(fmt.Sprintf("judged=%d,levels=%d", s.judged, s.levels), func(b *testing.B) {
			ranked, docs, grades := mixed(500, 1000, s.judged, s.levels)
			var j Judged
			var m Matcher
			b.ReportAllocs()
			for b.Loop() {
				j.Reset()
				fill(b, &j, &m, ranked, docs, grades)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ranked)), "ns/query")
		})
	}
}

// BenchmarkScorer scores a block of filled queries.
func BenchmarkScorer(b *testing.B) {
	for _, s := range shapes {
		j := filled(b, s.judged, s.levels)
		for _, list := range []string{"default", "mteb", "official", "nDCG@10", "nDCG", "AP", "Bpref", "infAP"} {
			b.Run(fmt.Sprintf("judged=%d,levels=%d/%s", s.judged, s.levels, list), func(b *testing.B) {
				measures, err := ParseList(list)
				if err != nil {
					b.Fatal(err)
				}
				dst := rows(len(measures), j.Queries())
				scorer := NewScorer(measures)
				b.ReportAllocs()
				for b.Loop() {
					scorer.Score(dst, j)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*j.Queries()), "ns/query")
			})
		}
	}
}

func filled(b *testing.B, judged, levels int) *Judged {
	b.Helper()
	var j Judged
	ranked, docs, grades := mixed(500, 1000, judged, levels)
	fill(b, &j, new(Matcher), ranked, docs, grades)
	return &j
}
