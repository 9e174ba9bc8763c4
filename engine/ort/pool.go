package ort

import "math"

// poolings are those that pool knows.
var poolings = []string{"mean", "cls", "last", "max"}

// pool reduces one row's token states, [length × dim] without padding, to a
// vector: the first or the last token's state, the largest of each value over all
// tokens, or else the mean over all, summed in float64.
func pool(dst, states []float32, length int, pooling string) {
	dim := len(dst)
	switch pooling {
	case "cls":
		copy(dst, states[:dim])
	case "last":
		copy(dst, states[(length-1)*dim:length*dim])
	case "max":
		copy(dst, states[:dim])
		for i, v := range states[:length*dim] {
			dst[i%dim] = max(dst[i%dim], v)
		}
	default:
		for i := range dst {
			var sum float64
			for t := range length {
				sum += float64(states[t*dim+i])
			}
			dst[i] = float32(sum / float64(length))
		}
	}
}

// normalize divides v by its L2 norm; a zero vector stays zero. The floor is
// that of torch.nn.functional.normalize.
func normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	norm := max(math.Sqrt(sum), 1e-12)
	for i := range v {
		v[i] = float32(float64(v[i]) / norm)
	}
}

func finite(v []float32) bool {
	for _, x := range v {
		// The exponent of NaN and of infinity is all ones.
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}
