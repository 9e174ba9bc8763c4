package peers

import (
	"errors"
	"fmt"
	"io"
	"os"

	"encbench/engine"
	"encbench/engine/vectors"
)

// ReadMatrix reads a file of float32 rows, as a peer writes its vectors: the values
// end to end, the caller's, and their number in a row.
func ReadMatrix(path string) (values []float32, dim int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	r, err := vectors.NewReader(f, path, vectors.Options{})
	if err != nil {
		return nil, 0, err
	}
	if t := r.Info().Type; t != engine.F32 {
		return nil, 0, fmt.Errorf("read %s: elements are %s, want float32", path, vectors.TypeName(t))
	}
	for {
		var rows engine.Rows
		switch err := r.Next(&rows); {
		case errors.Is(err, io.EOF):
			return values, r.Info().Dim, nil
		case err != nil:
			return nil, 0, err
		}
		for i := range rows.N {
			values = append(values, rows.Float32(i)...)
		}
	}
}

// WriteMatrix writes rows of dim values in numpy's .npy format, which a peer loads.
func WriteMatrix(w io.Writer, values []float32, dim int) error {
	rows := engine.HostRows(values, dim)
	out, err := vectors.NewNPYWriter(w, int64(rows.N), dim, engine.F32)
	if err != nil {
		return err
	}
	if err := out.Write(rows); err != nil {
		return err
	}
	return out.Close()
}
