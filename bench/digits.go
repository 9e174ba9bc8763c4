package bench

import (
	"math"
	"strconv"
	"strings"
)

// Thousands writes n with a comma between groups of three digits: "20,027".
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Deviation writes a distance from a perfect result with two significant digits:
// "2.4e-13", "0.39". It rounds up, so that what is above a limit does not read as
// equal to it, and a distance below zero, which only rounding can make, is "0".
func Deviation(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x <= 0:
		return "0"
	case x < 1e-300: // too small to be scaled to whole digits
		return strconv.FormatFloat(x, 'e', 1, 64)
	}
	exp := math.Floor(math.Log10(x))
	// One minus a float64 near one is good to this, and 1-0.999999 is a hair above 1e-6.
	slack := max(1e-9*x, min(1.2e-16, 0.005*x))
	digits := max(10, math.Ceil((x-slack)/math.Pow(10, exp-1)))
	if digits >= 100 {
		digits, exp = 10, exp+1
	}
	if exp >= -2 {
		s := strconv.FormatFloat(digits*math.Pow(10, exp-1), 'f', max(0, int(1-exp)), 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	return strconv.FormatFloat(digits/10, 'f', -1, 64) + "e" + strconv.Itoa(int(exp))
}

// beside writes x with three significant digits, and with more where those would
// put it on, or beyond, a limit that it is not on.
func beside(x, limit float64) string {
	decimals := 0
	if x > 0 {
		decimals = min(12, max(0, 2-int(math.Floor(math.Log10(x)))))
	}
	for ; ; decimals++ {
		s := strconv.FormatFloat(x, 'f', decimals, 64)
		shown, err := strconv.ParseFloat(s, 64)
		if decimals >= 12 || err != nil || x == limit || (shown > limit) == (x > limit) && shown != limit {
			return s
		}
	}
}
