package peers

import (
	"math"
	"slices"
	"testing"
)

func dot(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func TestVectors(t *testing.T) {
	const rows, queries, dim = 3000, 12, 16
	for _, shape := range []Shape{Gaussian, Clustered, Duplicated, Sorted} {
		t.Run(string(shape), func(t *testing.T) {
			r, q, err := Vectors(shape, rows, queries, dim, 7)
			if err != nil {
				t.Fatal(err)
			}
			if len(r) != rows*dim || len(q) != queries*dim {
				t.Fatalf("%d and %d values", len(r), len(q))
			}
			for _, all := range [][]float32{r, q} {
				for i := 0; i < len(all); i += dim {
					if n := math.Sqrt(dot(all[i:i+dim], all[i:i+dim])); math.Abs(n-1) > 1e-6 {
						t.Fatalf("vector %d has length %v", i/dim, n)
					}
				}
			}
			r2, q2, err := Vectors(shape, rows, queries, dim, 7)
			if err != nil || !slices.Equal(r, r2) || !slices.Equal(q, q2) {
				t.Errorf("a second making differs (%v)", err)
			}
			other, _, err := Vectors(shape, rows, queries, dim, 8)
			if err != nil || slices.Equal(r, other) {
				t.Errorf("another seed makes the same rows (%v)", err)
			}
		})
	}
}

func TestShapes(t *testing.T) {
	const rows, dim = 2100, 8
	row := func(v []float32, i int) []float32 { return v[i*dim : (i+1)*dim] }
	dup, _, err := Vectors(Duplicated, rows, 1, dim, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(row(dup, 3), row(dup, 3+20*distinctRows)) || slices.Equal(row(dup, 3), row(dup, 4)) {
		t.Errorf("rows are not %d in turns", distinctRows)
	}
	near, _, err := Vectors(Clustered, rows, 1, dim, 1)
	if err != nil {
		t.Fatal(err)
	}
	var same, other float64
	for i := range 1000 {
		same += dot(row(near, i), row(near, i+clusters))
		other += dot(row(near, i), row(near, i+1))
	}
	if same < 600 || math.Abs(other) > 100 {
		t.Errorf("mean cosine within a cluster %v, between clusters %v", same/1000, other/1000)
	}
	up, q, err := Vectors(Sorted, rows, 1, dim, 1)
	if err != nil {
		t.Fatal(err)
	}
	if first, last := dot(q, row(up, 0)), dot(q, row(up, rows-1)); last < first+1 {
		t.Errorf("the query's product goes from %v to %v, expected it to rise", first, last)
	}
}

func TestVectorsRefuses(t *testing.T) {
	for _, c := range []struct {
		shape     Shape
		rows, dim int
		want      string
	}{
		{Gaussian, 0, 4, "make vectors: 0 rows, 1 queries, 4 dimensions, want at least 1 of each"},
		{"square", 1, 4, `make vectors: unknown shape "square"`},
	} {
		if _, _, err := Vectors(c.shape, c.rows, 1, c.dim, 0); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
