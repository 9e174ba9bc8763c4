package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"encbench/bench"
	"encbench/metrics"
)

// IsRecord says whether data is a record of this package: an object whose kind says
// so. Broken JSON is not.
func IsRecord(data []byte) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(data, &head) == nil && head.Kind == Kind
}

// ReadRecord reads the record of the file at path. It is strict about the schema
// number and lets unknown fields pass; a value that is not the mean of its queries
// is an error. Its errors name the file and the field or, for broken JSON, line and
// column.
func ReadRecord(path string) (*Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read record %w", bench.JSONError(path, data, err))
	}
	switch {
	case r.Kind != Kind:
		return nil, fmt.Errorf("read record %s: field \"kind\" is %q, expected %q: this is not a record of encbench eval", path, r.Kind, Kind)
	case r.Schema > SchemaVersion:
		return nil, fmt.Errorf("read record %s: schema %d is newer than %d, the newest this encbench knows; use the encbench that wrote it, or a later one", path, r.Schema, SchemaVersion)
	case r.Schema < 1:
		return nil, fmt.Errorf("read record %s: schema %d, expected 1 to %d", path, r.Schema, SchemaVersion)
	}
	for i := range r.Collections {
		if err := r.Collections[i].check(); err != nil {
			return nil, fmt.Errorf("read record %s: collections[%d]: %w; the record was changed, measure again", path, i, err)
		}
	}
	return r, nil
}

// check reports the first value that no run writes.
func (c *Collection) check() error {
	for i := range c.Values {
		v := &c.Values[i]
		if len(v.PerQuery) != len(c.QueryIDs) || v.N != len(c.QueryIDs) {
			return fmt.Errorf("%s has %d values for n = %d, and there are %d query ids", v.Measure, len(v.PerQuery), v.N, len(c.QueryIDs))
		}
		if want := metrics.Mean(v.PerQuery); !(math.Abs(v.Mean-want) <= 1e-12) {
			return fmt.Errorf("%s is %v, the mean of its queries %v", v.Measure, v.Mean, want)
		}
	}
	if n := len(c.Clusters); n != 0 && n != len(c.QueryIDs) {
		return fmt.Errorf("%d query groups for %d query ids", n, len(c.QueryIDs))
	}
	return nil
}
