package cpu

import "math"

// apply gives W·x + b for every token of x, [tokens, in] to [tokens, out].
func (l *linear) apply(x []float32) []float32 {
	n := len(x) / l.in
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	y := make([]float32, n*l.out)
	// Weights are widened a panel of rows at a time: the panel stays in the
	// nearest cache while all tokens pass over it.
	const panel = 16
	w := make([]float64, panel*l.in)
	part := make([]float64, n*panel)
	for o := 0; o < l.out; o += panel {
		rows := min(panel, l.out-o)
		for i, v := range l.weight[o*l.in:][:rows*l.in] {
			w[i] = float64(v)
		}
		mulTransposed(part[:n*rows], wide, w[:rows*l.in], n, rows, l.in)
		for i := range n {
			for j := range rows {
				y[i*l.out+o+j] = float32(part[i*rows+j] + float64(l.bias[o+j]))
			}
		}
	}
	return y
}

// mulTransposed sets dst[i][j] = Σ over c of a[i][c]·b[j][c], for a of m rows
// and b of n rows, k columns each; every sum runs in the order of c:
//
//	for i := range m {
//		for j := range n {
//			var s float64
//			for c := range k {
//				s += a[i*k+c] * b[j*k+c]
//			}
//			dst[i*n+j] = s
//		}
//	}
//
// Four sums run side by side, which keeps the adders busy and each value of a
// loaded once for four uses.
//
// Note: one core of a 2.6 GHz server, k = 384: 7.4 GFLOP/s. Blocks of 2 × 3 sums
// the same, 2 × 4 and 3 × 3 only 4.8 and 5.1 (the compiler spills the products),
// one sum alone 2.6.
func mulTransposed(dst, a, b []float64, m, n, k int) {
	for i := range m {
		x, d := a[i*k:][:k], dst[i*n:][:n]
		j := 0
		for ; j+4 <= n; j += 4 {
			b0, b1, b2, b3 := b[j*k:][:k], b[(j+1)*k:][:k], b[(j+2)*k:][:k], b[(j+3)*k:][:k]
			var s0, s1, s2, s3 float64
			for c, v := range x {
				s0 += v * b0[c]
				s1 += v * b1[c]
				s2 += v * b2[c]
				s3 += v * b3[c]
			}
			d[j], d[j+1], d[j+2], d[j+3] = s0, s1, s2, s3
		}
		for ; j < n; j++ {
			d[j] = dot(x, b[j*k:][:k])
		}
	}
}

func dot(a, b []float64) float64 {
	var s float64
	for c, x := range a {
		s += x * b[c]
	}
	return s
}

// softmax replaces x by exp(x)/Σexp(x), shifted by the maximum so that nothing
// overflows.
func softmax(x []float64) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// gelu replaces x by x·Φ(x), Φ the normal distribution function (Hendrycks and
// Gimpel, 2016).
func gelu(x []float32) {
	for i, v := range x {
		w := float64(v)
		x[i] = float32(w * 0.5 * (1 + math.Erf(w*(1/math.Sqrt2))))
	}
}

// apply normalises every token's state to mean 0 and variance 1, then scales
// and shifts it (Ba et al., 2016). The variance is the biased one.
func (n *norm) apply(x []float32) {
	d := len(n.weight)
	for ; len(x) > 0; x = x[d:] {
		row := x[:d]
		var sum, square float64
		for _, v := range row {
			sum += float64(v)
		}
		mean := sum / float64(d)
		for _, v := range row {
			square += (float64(v) - mean) * (float64(v) - mean)
		}
		scale := 1 / math.Sqrt(square/float64(d)+n.eps)
		for j, v := range row {
			row[j] = float32((float64(v)-mean)*scale*float64(n.weight[j]) + float64(n.bias[j]))
		}
	}
}

// add adds y to x.
func add(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}
