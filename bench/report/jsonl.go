package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"encbench/bench"
)

// writeJSONLines writes one record a line, ready to be appended to a file of many
// runs.
func writeJSONLines(buf *bytes.Buffer, recs []*bench.Record) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	for i, r := range recs {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("encode record %d: %w", i+1, err)
		}
	}
	return nil
}
