package peers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
)

// Reference is an outside program's opinion of a model: ids and the unit vector
// it gives for each, as reference.py writes them.
type Reference struct {
	Rows, Dim int
	Vectors   []float32 // rows × dim
	IDs       [][]int32 // with special tokens
}

// Vector gives row r, a view.
func (r *Reference) Vector(row int) []float32 { return r.Vectors[row*r.Dim : (row+1)*r.Dim] }

// ReadReference reads NAME.npy and NAME.ids.json beside it. They must agree on
// the number of rows, hold at least one, and hold no empty row and no value that
// is not finite.
func ReadReference(path string) (*Reference, error) {
	stem, ok := strings.CutSuffix(path, ".npy")
	if !ok {
		return nil, fmt.Errorf("read reference %s: the name must end in .npy", path)
	}
	ref := &Reference{}
	var err error
	if ref.Vectors, ref.Dim, err = ReadMatrix(path); err != nil {
		return nil, fmt.Errorf("reference: %w (bench/peers/reference.py writes it)", err)
	}
	ref.Rows = len(ref.Vectors) / ref.Dim
	idsPath := stem + ".ids.json"
	raw, err := os.ReadFile(idsPath)
	if err != nil {
		return nil, fmt.Errorf("read reference ids: %w (bench/peers/reference.py writes it beside %s)", err, path)
	}
	// All of the file: what follows the list would be ids that nobody compares.
	if err := json.Unmarshal(raw, &ref.IDs); err != nil {
		return nil, fmt.Errorf("read reference ids %s: want a list of lists of integers: %w", idsPath, err)
	}
	if err := ref.validate(); err != nil {
		return nil, fmt.Errorf("read reference %s: %w", path, err)
	}
	return ref, nil
}

func (r *Reference) validate() error {
	if r.Rows == 0 || r.Dim == 0 {
		return fmt.Errorf("%d × %d values, want at least one row", r.Rows, r.Dim)
	}
	if len(r.IDs) != r.Rows {
		return fmt.Errorf("%d vectors, but ids of %d rows", r.Rows, len(r.IDs))
	}
	for i, ids := range r.IDs {
		if len(ids) == 0 {
			return fmt.Errorf("row %d has no ids", i)
		}
	}
	for i, v := range r.Vectors {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("row %d, value %d is %v", i/r.Dim, i%r.Dim, v)
		}
	}
	return nil
}

// Cosines compares two blocks of vectors of dim values row by row and gives the
// smallest and the mean cosine. A row of zeros or with a value that is not
// finite is an error, as are blocks of different or no size.
func Cosines(a, b []float32, dim int) (low, mean float64, err error) {
	if dim < 1 || len(a) != len(b) || len(a) == 0 || len(a)%dim != 0 {
		return 0, 0, fmt.Errorf("cosines: %d and %d values in rows of %d", len(a), len(b), dim)
	}
	low = math.Inf(1)
	for i := 0; i < len(a); i += dim {
		var ab, aa, bb float64
		for j := i; j < i+dim; j++ {
			x, y := float64(a[j]), float64(b[j])
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		c := ab / math.Sqrt(aa*bb)
		if math.IsNaN(c) || math.IsInf(aa, 0) || math.IsInf(bb, 0) {
			return 0, 0, fmt.Errorf("cosines: row %d is zero or not finite", i/dim)
		}
		low, mean = min(low, c), mean+c
	}
	return low, mean / float64(len(a)/dim), nil
}
