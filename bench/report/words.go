package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Seconds writes a time of s seconds: "412 ms", "12.3 s", "3 min 20 s".
func Seconds(s float64) string { return strings.ReplaceAll(seconds(s), gap, " ") }

// Number writes x with four significant digits: 0.9876, 98.76, 9,876.
func Number(x float64) string { return strings.ReplaceAll(number(x), gap, " ") }

// Size writes n bytes with three significant digits and a decimal prefix: "75.0 MB".
func Size(n int64) string { return strings.ReplaceAll(size(n), gap, " ") }

// JSON writes v as indented JSON in one write, with a list of plain values on one line.
func JSON(w io.Writer, v any) error {
	var all, out bytes.Buffer
	enc := json.NewEncoder(&all)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	indentFlat(&out, all.Bytes())
	_, err := w.Write(out.Bytes())
	return err
}
