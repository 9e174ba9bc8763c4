package engine

import (
	"math"
	"testing"
)

func TestMetric(t *testing.T) {
	q, x := []float32{3, 4, 0}, []float32{1, 2, 2}
	for m, want := range map[Metric]float32{InnerProduct: 11, Cosine: float32(11. / 15), L2: -12} {
		if got := m.Score(q, x); got != want {
			t.Errorf("%v: %v, want %v", m, got, want)
		}
	}
	if got := Cosine.Score(q, make([]float32, 3)); got != 0 || math.Signbit(float64(got)) {
		t.Errorf("cosine of a zero vector: %v", got)
	}
	if got := Metric(7).String() + Store(7).String(); got != "Metric(7)Store(7)" {
		t.Error(got)
	}
}

func TestRowsCheck(t *testing.T) {
	good := HostRows(make([]float32, 6), 3)
	if err := good.Check(3); err != nil {
		t.Error(err)
	}
	if err := (Rows{N: 2, Dim: 3, Stride: 3, Dev: 8}).Check(3); err != nil {
		t.Errorf("rows on a device: %v", err)
	}
	for want, r := range map[string]Rows{
		"expected 0 rows or more, found -1":                       {N: -1, Dim: 3},
		"expected 3 values a row, found 4":                        {Dim: 4},
		"expected a stride of at least 3 elements, found 2":       {N: 2, Dim: 3, Stride: 2},
		"expected rows of F32, F16 or BF16, found element type 3": {Dim: 3, Type: 3},
		"expected 24 bytes for 2 rows, found 23":                  {N: 2, Dim: 3, Stride: 3, Host: make([]byte, 23)},
	} {
		if err := r.Check(3); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
}
