package engine

import (
	"fmt"
	"math"
)

// Metric says how a query and a row are scored. Products and sums follow Dot64:
// float64, eight lanes by index mod 8, one fixed tree. Kernels know the metrics by their
// numbers.
type Metric uint8

const (
	// InnerProduct is Dot of the two. It may overflow to an infinity, which is a number
	// like others.
	InnerProduct Metric = iota
	// Cosine is Dot64(q, x) / (|q|·|x|), with |v| = √Dot64(v, v), rounded to float32
	// once; 0 where either is a zero vector.
	Cosine
	// L2 is the negative squared distance: d = float64(q) − float64(x), rounded,
	// d·d, rounded, added as Dot64 adds, the sum subtracted from 0 and rounded to
	// float32. Multiply and add stay apart, as the products are not exact.
	L2
)

// String gives the metric's name as a flag spells it.
func (m Metric) String() string {
	switch m {
	case InnerProduct:
		return "ip"
	case Cosine:
		return "cosine"
	case L2:
		return "l2"
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Score is the rule of the metric. Every backend gives its bits.
func (m Metric) Score(q, x []float32) float32 {
	switch m {
	case Cosine:
		norms := math.Sqrt(Dot64(q, q)) * math.Sqrt(Dot64(x, x))
		if norms == 0 {
			return 0
		}
		return float32(Dot64(q, x) / norms)
	case L2:
		return float32(0 - SquaredDistance(q, x))
	}
	return Dot(q, x)
}

// SquaredDistance adds (q−x)² as Dot64 adds. The conversions forbid fusing.
func SquaredDistance(q, x []float32) float64 {
	var lane [8]float64
	x = x[:len(q)]
	for i, v := range q {
		d := float64(float64(v) - float64(x[i]))
		lane[i%8] += float64(d * d)
	}
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}

// Store says how a search keeps rows. What a row is afterwards, is what it is widened to:
// scores are those of the stored values, exactly.
type Store uint8

const (
	// StoreGiven keeps rows in the type of the first block; later blocks must have
	// the same type.
	StoreGiven Store = iota
	// StoreF32 widens, exactly.
	StoreF32
	// StoreF16 rounds to the nearest, ties to even; a value that becomes infinite is
	// refused.
	StoreF16
	// StoreBF16 rounds likewise.
	StoreBF16
	// StoreInt8 keeps whole numbers from −127 to 127 and one float32 scale a row,
	// its greatest magnitude / 127: value = float32(code) · scale, rounded to
	// float32.
	StoreInt8
)

// String gives the name of the storage as a flag spells it.
func (s Store) String() string {
	switch s {
	case StoreGiven:
		return "given"
	case StoreF32:
		return "float32"
	case StoreF16:
		return "float16"
	case StoreBF16:
		return "bfloat16"
	case StoreInt8:
		return "int8"
	}
	return fmt.Sprintf("Store(%d)", uint8(s))
}

// Check refuses rows that are not what they say they are, dim values each; they may be on
// the host or on a device.
func (r Rows) Check(dim int) error {
	switch {
	case r.N < 0:
		return fmt.Errorf("expected 0 rows or more, found %d", r.N)
	case r.Dim != dim:
		return fmt.Errorf("expected %d values a row, found %d", dim, r.Dim)
	case r.Stride < r.Dim && r.N > 1:
		return fmt.Errorf("expected a stride of at least %d elements, found %d", r.Dim, r.Stride)
	case r.Type > BF16:
		return fmt.Errorf("expected rows of F32, F16 or BF16, found element type %d", r.Type)
	case r.N == 0 || r.Host == nil:
		return nil
	}
	if need := ((r.N-1)*r.Stride + r.Dim) * r.Type.Size(); len(r.Host) < need {
		return fmt.Errorf("expected %d bytes for %d rows, found %d", need, r.N, len(r.Host))
	}
	return nil
}
