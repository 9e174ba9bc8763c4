package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"encbench/bench"
)

// writeJSON writes one record as an object, so that the common case needs no
// index, and several as an array of the same objects. bench.ReadRecords reads
// both.
func writeJSON(buf *bytes.Buffer, recs []*bench.Record) error {
	if len(recs) == 1 {
		return encodeJSON(buf, recs[0])
	}
	return encodeJSON(buf, recs)
}

func compareJSON(buf *bytes.Buffer, c *bench.Comparison) error { return encodeJSON(buf, c) }

func encodeJSON(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return nil
}
