package stat

import (
	"math"
	"testing"
)

func near(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol*max(math.Abs(want), math.Abs(got))
}

// Known answers of SciPy 1.17.1; the expression stands above each table.
func TestDistributionsAgainstSciPy(t *testing.T) {
	// stats.t.ppf(.975, df), stats.t.ppf(1e-4, df), stats.t.ppf(.6, df)
	for _, c := range [][4]float64{
		{1.0, 12.706204736174694, -3183.0987571181513, 0.32491969623290634},
		{2.0, 4.3026527297494619, -70.700071074964285, 0.28867513459481281},
		{2.5, 3.5746548420036817, -34.867969321114771, 0.28145951274854769},
		{5.0, 2.5705818356363146, -9.6775663008825923, 0.26718086570414512},
		{10.0, 2.2281388519862739, -5.6938201014575132, 0.26018482949208033},
		{49.0, 2.0095752371292392, -4.0204900587826042, 0.25472702559919108},
		{299.0, 1.9679296690656698, -3.7656503819844538, 0.25357264712755972},
		{6979.0, 1.9603039581337129, -3.7209932468721227, 0.25335676119018435},
		{1000000.0, 1.959966356814107, -3.7190302747625434, 0.25334717053784184},
	} {
		for i, p := range []float64{0.975, 1e-4, 0.6} {
			if got := TQuantile(p, c[0]); !near(got, c[1+i], 1e-9) {
				t.Errorf("TQuantile(%v, %v) = %.17g, want %.17g", p, c[0], got, c[1+i])
			}
		}
	}
	// stats.t.cdf(t, df)
	for _, c := range [][3]float64{
		{0.5, 1.0, 0.64758361765043326},
		{-2.0, 3.0, 0.069662984279421525},
		{2.5, 12.0, 0.98604230021433736},
		{-6.0, 50.0, 1.0944697425399989e-07},
		{1.96, 6979.0, 0.97498223782546367},
		{-9.0, 7.3, 1.6496810907892659e-05},
		{0.001, 20.0, 0.50039398851676342},
		{-30.0, 1000.0, 7.6873437220215473e-142},
	} {
		if got := T(c[0], c[1]); !near(got, c[2], 1e-11) {
			t.Errorf("T(%v, %v) = %.17g, want %.17g", c[0], c[1], got, c[2])
		}
	}
	// stats.norm.ppf(p)
	for _, c := range [][2]float64{
		{1e-15, -7.941345326170998},
		{1e-10, -6.3613409024040557},
		{0.0001, -3.7190164854556804},
		{0.025, -1.9599639845400545},
		{0.3, -0.52440051270804089},
		{0.5, 0},
		{0.6, 0.25334710313579972},
		{0.975, 1.959963984540054},
		{0.9999, 3.7190164854557088},
		{0.9999999999, 6.3613408896974217},
	} {
		if got := NormalQuantile(c[0]); !near(got, c[1], 1e-13) {
			t.Errorf("NormalQuantile(%v) = %.17g, want %.17g", c[0], got, c[1])
		}
		if got := Normal(c[1]); !near(got, c[0], 1e-13) {
			t.Errorf("Normal(%v) = %.17g, want %.17g", c[1], got, c[0])
		}
	}
	if !near(NormalQuantile(0.975), z975, 4e-16) {
		t.Errorf("z975 is %v, want %v", z975, NormalQuantile(0.975))
	}
}

func TestDistributionEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"NormalQuantile(0)", NormalQuantile(0), -inf},
		{"NormalQuantile(1)", NormalQuantile(1), inf},
		{"NormalQuantile(2)", NormalQuantile(2), nan},
		{"TQuantile(0, 3)", TQuantile(0, 3), -inf},
		{"TQuantile(1, 3)", TQuantile(1, 3), inf},
		{"TQuantile(.5, 3)", TQuantile(0.5, 3), 0},
		{"TQuantile(2, 3)", TQuantile(2, 3), nan},
		{"TQuantile(.9, 0)", TQuantile(0.9, 0), nan},
		{"T(inf, 3)", T(inf, 3), 1},
		{"T(-inf, 3)", T(-inf, 3), 0},
		{"T(0, 3)", T(0, 3), 0.5},
		{"T(1, -1)", T(1, -1), nan},
		{"T(nan, 3)", T(nan, 3), nan},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestTQuantileInvertsT(t *testing.T) {
	for _, df := range []float64{1, 3, 7.5, 40, 5000} {
		for p := 0.001; p < 1; p += 0.0125 {
			if got := T(TQuantile(p, df), df); math.Abs(got-p) > 1e-12 {
				t.Errorf("df %v: T(TQuantile(%v)) = %v", df, p, got)
			}
		}
	}
}
