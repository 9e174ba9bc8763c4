package metrics_test

import (
	"fmt"

	"encbench/metrics"
)

// Two queries. The first has two relevant documents, which the system ranked
// first and third, with a document between them that nobody judged. The second
// has one relevant document, and the system found nothing.
func Example() {
	var j metrics.Judged
	if err := j.Append([]int32{0, metrics.Unjudged, 1}, []float64{1, 1}); err != nil {
		fmt.Println(err)
	}
	if err := j.Append(nil, []float64{1}); err != nil {
		fmt.Println(err)
	}
	values := make([]float64, j.Queries())
	for _, name := range []string{"nDCG@10", "R@1", "AP", "RR@10", "Judged@10"} {
		m, err := metrics.Parse(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		m.Score(values, &j)
		fmt.Printf("%-9s  %.4f  %.4f  mean %.4f over %d queries\n", m, values[0], values[1], metrics.Mean(values), len(values))
	}
	// Output:
	// nDCG@10    0.9197  0.0000  mean 0.4599 over 2 queries
	// R@1        0.5000  0.0000  mean 0.2500 over 2 queries
	// AP         0.8333  0.0000  mean 0.4167 over 2 queries
	// RR@10      1.0000  0.0000  mean 0.5000 over 2 queries
	// Judged@10  0.6667  0.0000  mean 0.3333 over 2 queries
}

func ExampleParse() {
	m, err := metrics.Parse("nDCG@10")
	fmt.Println(m, err)
	_, err = metrics.Parse("accuracy")
	fmt.Println(err)
	// Output:
	// nDCG@10 <nil>
	// unknown measure "accuracy": known are nDCG, nDCG@k, R@k, P@k, RR, RR@k, AP, AP@k, Success@k, Judged@k
}

// A document may be ranked once: counting it twice is how recall comes out
// above 1.
func ExampleJudged_Append() {
	var j metrics.Judged
	fmt.Println(j.Append([]int32{0, 0}, []float64{1}))
	// Output: query 0 of the block: rank 2 names judgement 0, which stands at an earlier rank: a document may be ranked once
}
