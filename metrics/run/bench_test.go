package run

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"encbench/metrics/ranking"
)

// marco makes queries × depth rows in the manner of MS MARCO passage runs: integer
// identifiers up to 8.8 million, scores falling as those of BM25 do, with the
// decimals that tools print, or cosines in the shortest form of a float32. It
// gives the run in blocks and the bytes of its TREC text.
func marco(queries, depth int, cosine bool) (blocks []*ranking.Block, text int) {
	rng := rand.New(rand.NewPCG(1, 2))
	scores := make([]float64, depth)
	for q := 0; q < queries; {
		b := &ranking.Block{Off: []int32{0}}
		for range min(64, queries-q) {
			query := strconv.Itoa(1000000 + q*37%90000)
			b.Queries.Append([]byte(query))
			for i := range scores {
				u := rng.Float64() * 0.01
				if cosine {
					f := float32(0.9 - 0.04*math.Log(u*1e4+1) + 0.02*rng.Float64())
					scores[i], _ = strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
				} else {
					scores[i] = math.Round(1e6*(9-2.2*math.Log(u*100+0.01))) / 1e6
				}
			}
			slices.SortFunc(scores, func(x, y float64) int {
				if x > y {
					return -1
				}
				return 1
			})
			seen := map[uint64]bool{}
			for i, s := range scores {
				id := rng.Uint64N(8841823)
				for seen[id] {
					id = rng.Uint64N(8841823)
				}
				seen[id] = true
				b.Docs.Append(strconv.AppendUint(nil, id, 10))
				b.Score = append(b.Score, s)
				text += len(query) + len(b.Docs.At(b.Docs.Len()-1)) + len(strconv.Itoa(i+1)) + len(strconv.FormatFloat(s, 'g', -1, 64)) + len(" Q0    bm25\n")
			}
			b.Off = append(b.Off, int32(len(b.Score)))
			q++
		}
		blocks = append(blocks, b)
	}
	return blocks, text
}

// BenchmarkWriter writes 640 × 1,000 rows; MB/s are of their TREC text.
func BenchmarkWriter(b *testing.B) {
	for _, cosine := range []bool{false, true} {
		b.Run(map[bool]string{false: "bm25", true: "cosine"}[cosine], func(b *testing.B) {
			blocks, text := marco(640, 1000, cosine)
			b.SetBytes(int64(text))
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				var count counting
				w, err := NewWriter(&count, Header{K: 1000})
				if err != nil {
					b.Fatal(err)
				}
				for _, block := range blocks {
					if err := w.Write(block); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				size = int(count)
			}
			b.ReportMetric(float64(size)/640000, "B/row")
			b.ReportMetric(float64(text)/640000, "text-B/row")
		})
	}
}

type counting int

func (c *counting) Write(b []byte) (int, error) {
	*c += counting(len(b))
	return len(b), nil
}

// BenchmarkReader decodes 640 × 1,000 rows on one goroutine.
func BenchmarkReader(b *testing.B) {
	for _, cosine := range []bool{false, true} {
		for _, opt := range []Options{{Workers: 1}, {Workers: 2}, {Workers: 1, Unspelled: true}, {Workers: 2, Unspelled: true}} {
			name := fmt.Sprintf("%s/%d", map[bool]string{false: "bm25", true: "cosine"}[cosine], opt.Workers)
			if opt.Unspelled {
				name += "/unspelled"
			}
			b.Run(name, func(b *testing.B) {
				blocks, text := marco(640, 1000, cosine)
				file := write(b, Header{K: 1000}, frameRows, blocks...)
				b.SetBytes(int64(text))
				b.ReportAllocs()
				var block ranking.Block
				for b.Loop() {
					r, err := NewReader(bytes.NewReader(file), "x", opt)
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						err = r.Next(&block)
					}
					if err != io.EOF {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/640000, "ns/row")
			})
		}
	}
}
