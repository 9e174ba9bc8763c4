package report

import "strings"

// Seconds writes a time of s seconds: "412 ms", "12.3 s", "3 min 20 s".
func Seconds(s float64) string { return strings.ReplaceAll(seconds(s), gap, " ") }

// Number writes x with four significant digits: 0.9876, 98.76, 9,876.
func Number(x float64) string { return strings.ReplaceAll(number(x), gap, " ") }

// Size writes n bytes with three significant digits and a decimal prefix: "75.0 MB".
func Size(n int64) string { return strings.ReplaceAll(size(n), gap, " ") }
