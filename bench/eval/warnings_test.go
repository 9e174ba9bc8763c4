package eval

import (
	"fmt"
	"testing"

	"encbench/metrics/stat"
)

// A difference whose interval is wider gets a warning, whatever it is from; two
// systems that are the same get none.
func TestWideDifferences(t *testing.T) {
	a := []float64{.5, .25, 1, 0, .75, .5, 0, 1}
	b := []float64{.25, .5, 1, 0, .5, .75, 0, .5}
	compare := func(x, y []float64) []Difference {
		return []Difference{{Measure: "RR", Paired: stat.Compare(x, y, stat.Options{Seed: 1})}, {Measure: "AP", Paired: stat.Compare(x, x, stat.Options{Seed: 1})}}
	}
	first := compare(a, b)
	c := Collection{Documents: 8, OfDocuments: 8, BM25: &Baseline{Differences: first}, Stores: []StoreValue{{Store: StoreFloat32}, {Store: StoreInt8, Differences: compare(b, a)}, {Store: StoreBinary, Differences: compare(a, a)}}}
	var got []string
	collectionWarnings(&c, &Record{}, func(code, advice, format string, args ...any) {
		got = append(got, code+": "+fmt.Sprintf(format, args...)+" / "+advice)
	})
	width := fmt.Sprintf("%.4f", first[0].CI.Width())
	want := []string{
		"wide-difference: the model against BM25: the interval is wider than the difference in RR (+0.0625, " + width + " wide) / more queries",
		"wide-difference: store int8 against float32: the interval is wider than the difference in RR (-0.0625, " + fmt.Sprintf("%.4f", c.Stores[1].Differences[0].CI.Width()) + " wide) / more queries",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
