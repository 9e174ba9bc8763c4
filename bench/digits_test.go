package bench

import (
	"math"
	"testing"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 20_027: "20,027", 1_234_567: "1,234,567", -1: "-1", -999: "-999", -1234: "-1,234",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDeviation(t *testing.T) {
	one := 1.0 // not a constant: what is taken from it must be rounded
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {-2.2e-16, "0"}, {one - 0.99999999999976, "2.4e-13"}, {one - 0.999999, "1e-6"}, {one - 0.999, "1e-3"}, {one - 0.99, "0.01"}, {1.2e-7, "1.2e-7"},
		{one - math.Nextafter(1, 0), "1.2e-16"},
		{1.0004e-6, "1.1e-6"}, {9.99e-7, "1e-6"}, {2e-6, "2e-6"}, {2.01e-6, "2.1e-6"}, {one - 0.613, "0.39"}, {0.991, "1"}, {1, "1"}, {2, "2"}, {1e-320, "1.0e-320"},
		{100, "100"}, {0.05, "0.05"}, {0.1, "0.1"}, {math.NaN(), "NaN"},
	} {
		if got := Deviation(c.x); got != c.want {
			t.Errorf("Deviation(%g) = %q, want %q", c.x, got, c.want)
		}
	}
}

func TestBeside(t *testing.T) {
	for _, c := range []struct {
		x, limit float64
		want     string
	}{
		{1.004, 1, "1.004"}, {1.04, 1, "1.04"}, {1.00002, 1, "1.00002"}, {12.5, 1, "12.5"}, {125.04, 1, "125"}, {59.97, 60, "59.97"}, {59.9, 60, "59.9"},
		{0.0031234, 60, "0.00312"}, {0, 60, "0"}, {60, 60, "60.0"}, {1e-20, 60, "0.000000000000"}, {math.NaN(), 1, "NaN"},
	} {
		if got := beside(c.x, c.limit); got != c.want {
			t.Errorf("beside(%g, %g) = %q, want %q", c.x, c.limit, got, c.want)
		}
	}
}
