package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"encbench/bench"
)

// gap keeps a number and its unit on one line; plainSpaces turns it into a space
// when a page is done.
const gap = "\u00a0"

func plainSpaces(buf *bytes.Buffer) {
	s := bytes.ReplaceAll(buf.Bytes(), []byte(gap), []byte(" "))
	buf.Reset()
	buf.Write(s)
}

// none stands for a value that is absent or not a finite number.
const none = "–"

func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// places gives the decimals that show x with four significant digits, at most six.
func places(x float64) int {
	x = math.Abs(x)
	if !isNumber(x) || x == 0 || x >= 999.95 {
		return 0
	}
	return max(0, min(6, 3-int(math.Floor(math.Log10(x)))))
}

// fixed writes x with the given decimals and a comma between groups of three
// digits.
func fixed(x float64, decimals int) string {
	if !isNumber(x) {
		return none
	}
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil { // beyond it nobody reads digits
		whole = bench.Thousands(n)
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if x < 0 && strings.Trim(whole, "0.,") != "" {
		whole = "-" + whole
	}
	return whole
}

// number writes x with four significant digits: 0.9876, 98.76, 9,876.
func number(x float64) string { return fixed(x, places(x)) }

// brief writes x with three significant digits, for figures beside a rate.
func brief(x float64) string { return fixed(x, max(0, min(2, places(x)-1))) }

// percent writes a share with three significant digits: "0.412 %", "41.2 %".
func percent(share float64) string {
	if !isNumber(share) {
		return none
	}
	if share > 0 && share < 0.00005 {
		return "<0.01" + gap + "%"
	}
	return brief(100*share) + gap + "%"
}

// interval writes low and high with as many decimals as the median has.
func interval(median, low, high float64) string {
	d := places(median)
	return fixed(low, d) + " – " + fixed(high, d)
}

// ratio writes a ratio with its interval, "1.083× (1.071 – 1.096)", and without
// one where there are too few samples for it.
func ratio(r bench.Ratio) string {
	switch {
	case r.N == 0:
		return none
	case bench.Coverage(r.N) < 0.95:
		return ratioValue(r)
	}
	return ratioValue(r) + " (" + ratioInterval(r) + ")"
}

// decimals of a ratio: bars near one are judged to 0.01, so three.
func ratioPlaces(r bench.Ratio) int {
	if r.Value >= 999.95 {
		return 0
	}
	return min(3, max(places(r.Value), 1))
}

func ratioValue(r bench.Ratio) string { return fixed(r.Value, ratioPlaces(r)) + "×" }

func ratioInterval(r bench.Ratio) string {
	d := ratioPlaces(r)
	return fixed(r.Low, d) + " – " + fixed(r.High, d)
}

// pvalue writes a p-value: two digits, or "<0.001".
func pvalue(p float64) string {
	if !isNumber(p) {
		return none
	}
	if p < 0.001 {
		return "<" + gap + "0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// seconds writes a time: "412 ms", "12.3 s", "3 min 20 s".
func seconds(s float64) string {
	switch {
	case !isNumber(s):
		return none
	case s == 0:
		return "0" + gap + "s"
	case s < 0.001:
		return fixed(s*1e6, 0) + gap + "µs"
	case s < 0.9995:
		return fixed(s*1e3, max(0, min(1, places(s*1e3)-1))) + gap + "ms"
	case s < 119.5:
		return fixed(s, max(1, min(2, places(s)-1))) + gap + "s"
	case s < 7170:
		whole := int64(math.Round(s))
		return fmt.Sprintf("%d"+gap+"min"+gap+"%d"+gap+"s", whole/60, whole%60)
	}
	minutes := int64(math.Round(s / 60))
	return fmt.Sprintf("%s"+gap+"h"+gap+"%d"+gap+"min", bench.Thousands(minutes/60), minutes%60)
}

// scaled writes x with three significant digits and a decimal prefix: "75.0 MB",
// "181 GFLOP/s".
func scaled(x float64, unit string) string {
	if !isNumber(x) {
		return none
	}
	prefixes := []string{"", "k", "M", "G", "T", "P"}
	i := 0
	for math.Abs(x) >= 999.5 && i < len(prefixes)-1 {
		x /= 1000
		i++
	}
	decimals := max(0, min(2, places(x)-1))
	if i == 0 && x == math.Trunc(x) {
		decimals = 0
	}
	return strings.TrimSuffix(fixed(x, decimals)+gap+prefixes[i]+unit, gap)
}

func size(n int64) string { return scaled(float64(n), "B") }

// memorySize writes bytes in GB, in which memory is compared, with three
// significant digits and at least three decimals below one.
func memorySize(n int64) string {
	gb := float64(n) / 1e9
	decimals := 3
	if gb >= 1 {
		decimals = max(0, places(gb)-1)
	}
	return fixed(gb, decimals) + gap + "GB"
}

// imprecision writes 1 − cosine: cosines near one differ in digits that nobody
// counts.
func imprecision(cosine float64) string { return deviation(1 - cosine) }

func deviation(x float64) string {
	if !isNumber(x) {
		return none
	}
	return bench.Deviation(x)
}

// shortHash gives the start of a hash, or none.
func shortHash(h string) string {
	if h == "" {
		return none
	}
	return h[:min(len(h), 12)]
}

// revision gives a model's revision: a hash is cut, a version is not.
func revision(s string) string {
	if len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return shortHash(s)
	}
	return s
}

// plural writes n with its noun: "1 sample", "12 samples".
func plural(n int64, noun string) string { return bench.Thousands(n) + gap + noun + ending(n) }

// scaledPlural is plural with a decimal prefix: "16.6 M tokens".
func scaledPlural(n int64, noun string) string {
	return scaled(float64(n), "") + gap + noun + ending(n)
}

func ending(n int64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// orNone gives s, or the sign for an absent value.
func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}
