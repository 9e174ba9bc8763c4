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
	m, err = metrics.Parse("recall_at_5")
	fmt.Println(m, err)
	_, err = metrics.Parse("P")
	fmt.Println(err)
	// Output:
	// nDCG@10 <nil>
	// R@5 <nil>
	// measure "P" needs a cut-off, such as P@10
}

// A document may be ranked once: counting it twice is how recall comes out
// above 1.
func ExampleJudged_Append() {
	var j metrics.Judged
	fmt.Println(j.Append([]int32{0, 0}, []float64{1}))
	// Output: query 0 of the block: rank 2 names judgement 0, which stands at an earlier rank: a document may be ranked once
}

// Several measures in one pass: values by measure and query, and what they come to
// for all queries.
func ExampleScorer() {
	measures, err := metrics.ParseList("nDCG@5,10 AP(rel=2) NumRelRet")
	if err != nil {
		fmt.Println(err)
		return
	}
	var j metrics.Judged
	// Two judged documents, of grades 2 and 1, at places 0 and 7 of 100.
	if err := j.AppendSparse(100, []int32{0, 7}, []int32{0, 1}, []float64{2, 1, 2}); err != nil {
		fmt.Println(err)
		return
	}
	values := make([][]float64, len(measures))
	for i := range values {
		values[i] = make([]float64, j.Queries())
	}
	metrics.NewScorer(measures).Score(values, &j)
	for i, m := range measures {
		fmt.Printf("%s %.4f\n", m, m.Aggregate(values[i]))
	}
	// Output:
	// nDCG@5 0.5317
	// nDCG@10 0.6155
	// AP(rel=2) 0.5000
	// NumRelRet 2.0000
}
