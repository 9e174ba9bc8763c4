package cpu

import (
	"fmt"
	"math"

	"encbench/engine"
)

// maxRows is what a row number within a search has room for.
const maxRows = 1<<32 - 1

// checkShape refuses rows that are not what they say they are, or not on the host.
func checkShape(dim int, r engine.Rows) error {
	if err := r.Check(dim); err != nil {
		return err
	}
	if r.N > 0 && r.Host == nil {
		return fmt.Errorf("expected rows in host memory, found rows on device %d; copy them first", r.Device)
	}
	return nil
}

// checkBlock refuses a block that Append cannot add, naming the row. Whether the
// block follows those before it is the caller's to check.
func checkBlock(k *kernels, dim int, base int64, owner []int32, r engine.Rows) error {
	err := checkShape(dim, r)
	switch {
	case err != nil:
	case base < 0:
		err = fmt.Errorf("expected a first row of 0 or more, found %d", base)
	case owner != nil && len(owner) != r.N:
		err = fmt.Errorf("expected one document for each of %d rows, found %d", r.N, len(owner))
	default:
		if i, j, v := firstNotFinite(k, r); i >= 0 {
			err = fmt.Errorf("row %d: value %d is %v; rows must be finite: leave this one out, or correct its encoder", base+int64(i), j, v)
		}
	}
	if err != nil {
		return fmt.Errorf("append rows to a search: %w", err)
	}
	return nil
}

// checkQueries refuses what Search cannot look for, naming the query.
func checkQueries(k *kernels, dim int, q engine.Rows, hits int) error {
	err := checkShape(dim, q)
	switch {
	case err != nil:
	case hits < 1:
		err = fmt.Errorf("expected k of 1 or more, found %d", hits)
	default:
		if i, j, v := firstNotFinite(k, q); i >= 0 {
			err = fmt.Errorf("query %d: value %d is %v; queries must be finite", i, j, v)
		}
	}
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// firstNotFinite gives the place and value of the first NaN or infinity, row −1
// where there is none.
func firstNotFinite(k *kernels, r engine.Rows) (row, at int, v float32) {
	buf := make([]float32, r.Dim)
	for i := range r.N {
		if k.finite(r, i) {
			continue
		}
		for j, v := range r.Widen(buf, i) {
			if !finite(v) {
				return i, j, v
			}
		}
	}
	return -1, 0, 0
}

// rowFinite is the twin of kernels.finite. It looks at the exponents alone: those of all ones are NaN and infinity.
func rowFinite(r engine.Rows, row int) bool {
	if r.Type == engine.F32 {
		var top uint32
		for _, v := range r.Float32(row) {
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		return top < 0xff<<23
	}
	limit := uint16(0x7c00)
	if r.Type == engine.BF16 {
		limit = 0x7f80
	}
	b := r.Bytes(row)
	var top uint16
	for i := 0; i < len(b); i += 2 {
		top = max(top, (uint16(b[i])|uint16(b[i+1])<<8)&0x7fff)
	}
	return top < limit
}
