package stat

import "math"

// z975 is NormalQuantile(0.975).
const z975 = 1.959963984540054

// Normal is the standard normal distribution function.
func Normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// NormalQuantile is the inverse of Normal: −Inf at 0, +Inf at 1, NaN outside. It is
// good to 1e-14 relative for p from 1e-15 to 1−1e-15, where replicates can be.
func NormalQuantile(p float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	if math.IsInf(z, 0) || math.IsNaN(z) || z == 0 {
		return z
	}
	// 2p−1 has lost digits of a small p: Newton steps bring them back.
	for range 3 {
		if z < 0 {
			z -= (Normal(z) - p) / density(z)
		} else {
			z += (Normal(-z) - (1 - p)) / density(z)
		}
	}
	return z
}

func density(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// T is the distribution function of Student's t with df degrees of freedom, df > 0
// and not necessarily whole. It is good to 1e-10 relative up to a million of them,
// and to 1e-6 up to a thousand million.
func T(t, df float64) float64 {
	tail := tTwoSided(t, df) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// tTwoSided is P(|T| >= |t|).
func tTwoSided(t, df float64) float64 {
	if math.IsNaN(t) || !(df > 0) {
		return math.NaN()
	}
	t2 := t * t
	if math.IsInf(t2, 1) {
		return 0
	}
	return incompleteBeta(df/2, 0.5, df/(df+t2), t2/(df+t2))
}

// TQuantile is the inverse of T in its first argument: NaN for p outside 0 to 1.
func TQuantile(p, df float64) float64 {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1 || !(df > 0):
		return math.NaN()
	case p == 0.5:
		return 0
	case p > 0.5:
		return -TQuantile(1-p, df)
	case p == 0:
		return math.Inf(-1)
	}
	// The tail grows strictly from −∞ to 0: enclose, then halve until no float64
	// lies between.
	low, high := -1.0, 0.0
	for tTwoSided(low, df)/2 > p {
		low, high = 2*low, low
		if math.IsInf(low, 0) {
			return low
		}
	}
	for range 2000 {
		mid := low/2 + high/2
		if mid <= low || mid >= high {
			break
		}
		if tTwoSided(mid, df)/2 > p {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b), y being
// 1−x with the digits that a subtraction would lose, by its continued fraction with
// Lentz's method (DLMF 8.17.22; Lentz, Generating Bessel Functions in Mie Scattering
// Calculations Using Continued Fractions, 1976).
func incompleteBeta(a, b, x, y float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - incompleteBeta(b, a, y, x) // where the fraction converges fast
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log(y)) / a
	const tiny = 1e-300
	c, d := 1.0, 0.0
	f := 1.0
	for i := 0; i < 10_000; i++ {
		m := float64(i / 2)
		var num float64
		switch {
		case i == 0:
			num = 1
		case i%2 == 0:
			num = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			num = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 + num*d
		if math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		c = 1 + num/c
		if math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if i > 0 && math.Abs(c*d-1) < 1e-16 {
			break
		}
	}
	return front * (f - 1)
}
