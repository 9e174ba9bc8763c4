package trec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// pow10 are the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// ten are the powers of ten that a uint64 holds.
var ten = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// maxDigits is how many digits a uint64 always holds.
const maxDigits = 19

// scanFloat reads a decimal number at d[i], exactly rounded, and gives the place
// behind it. It reports false for what it does not read: no number, more than 19
// significant digits, exponents out of the range where it is exact. The plain twin
// is number. Eight bytes behind the number must be readable.
func scanFloat(d []byte, i int) (v float64, end int, ok bool) {
	negative := false
	if c := d[i]; c == '-' || c == '+' {
		negative = c == '-'
		i++
	}
	var m uint64
	start := i
	for ; d[i]-'0' <= 9; i++ {
		m = m*10 + uint64(d[i]-'0')
		if i-start >= maxDigits {
			return 0, i, false
		}
	}
	digits, exp := i-start, 0
	if d[i] == '.' {
		i++
		point := i
		for {
			w := binary.LittleEndian.Uint64(d[i:]) ^ zeros
			n := bits.TrailingZeros64(notDigits(w)) / 8
			// Zeros in front count here, so that a few more numbers than need be are
			// left to the slow way.
			if i += n; i-point+digits > maxDigits {
				return 0, i, false
			}
			// The digits move to the end of the eight, behind zeros.
			m = m*ten[n] + fromEight(w<<(64-8*n))
			if n < 8 {
				break
			}
		}
		digits += i - point
		exp = point - i
	}
	if digits == 0 {
		return 0, i, false
	}
	if d[i]|0x20 == 'e' {
		i++
		sign := 1
		if c := d[i]; c == '-' || c == '+' {
			if c == '-' {
				sign = -1
			}
			i++
		}
		e, from := 0, i
		for ; d[i]-'0' <= 9 && i-from < 4; i++ {
			e = e*10 + int(d[i]-'0')
		}
		if i == from || d[i]-'0' <= 9 {
			return 0, i, false
		}
		exp += sign * e
	}
	if v, ok = scale(m, exp); negative {
		v = -v
	}
	return v, i, ok
}

// scale gives m·10^exp, exactly rounded, where that is easy.
func scale(m uint64, exp int) (float64, bool) {
	switch {
	case m == 0:
		return 0, true
	case m <= 1<<53 && exp >= -22 && exp <= 22:
		// Both operands are exact, so the one operation rounds once (Clinger 1990).
		if exp < 0 {
			return float64(m) / pow10[-exp], true
		}
		return float64(m) * pow10[exp], true
	case exp == 0:
		return float64(m), true
	case exp < 0 && exp >= -maxDigits:
		return divide(m, ten[-exp]), true
	}
	return 0, false
}

// divide gives m/t, rounded to nearest, ties to even. Neither is zero, and the
// quotient is far from the ends of float64's range.
func divide(m, t uint64) float64 {
	shiftM, shiftT := bits.LeadingZeros64(m), bits.LeadingZeros64(t)
	// Both with their top bit set, then m halved, so that the quotient has 63 or 64 bits.
	quo, rem := bits.Div64(m<<shiftM>>1, m<<shiftM<<63, t<<shiftT)
	exp := shiftT - shiftM - 63
	if quo>>63 == 0 {
		quo <<= 1 // the bit that enters is settled by the remainder: only its being zero matters below
		exp--
	}
	mantissa, rest := quo>>11, quo&(1<<11-1)
	if rest > 1<<10 || rest == 1<<10 && (rem != 0 || mantissa&1 == 1) {
		mantissa++
	}
	return math.Ldexp(float64(mantissa), exp+11)
}

// zeros are eight digits 0; ^ with it turns digits into their values.
const zeros = 0x3030303030303030

// notDigits marks the bytes of w, values of digits or not, that are above 9. Only
// the lowest mark is right.
func notDigits(w uint64) uint64 { return (w + 0x7676767676767676 | w) & 0x8080808080808080 }

// fromEight gives the number that eight values of digits spell, the first in the
// low byte.
func fromEight(w uint64) uint64 {
	w = w*10 + w>>8
	return ((w&0x000000ff000000ff)*(100+1000000<<32) + (w>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

// number reads a decimal number: digits with at most one point, an exponent if
// any, nothing else. Hexadecimal, underscores and the words for infinity and NaN
// are not numbers here; words tells the latter apart. A number beyond the range of
// float64 is not ok.
func number[T string | []byte](field T) (v float64, ok bool) {
	digits, i := 0, 0
	next := func(c byte) bool { return i < len(field) && field[i]|0x20 == c|0x20 }
	run := func() (n int) {
		for ; i < len(field) && field[i]-'0' <= 9; i++ {
			n++
		}
		return n
	}
	sign := func() {
		if i < len(field) && (field[i] == '-' || field[i] == '+') {
			i++
		}
	}
	sign()
	digits = run()
	if i < len(field) && field[i] == '.' {
		i++
		digits += run()
	}
	if digits == 0 {
		return 0, false
	}
	if next('e') {
		i++
		sign()
		if run() == 0 {
			return 0, false
		}
	}
	if i != len(field) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(field), 64)
	return v, err == nil
}

// words reads the spellings of NaN and infinity that C's strtod knows.
func words[T string | []byte](field T) (v float64, ok bool) {
	v, err := strconv.ParseFloat(string(field), 64)
	return v, err == nil && (math.IsNaN(v) || math.IsInf(v, 0))
}
