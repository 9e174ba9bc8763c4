package bench

import (
	"fmt"
	"math"
)

// ResultMean is a mean over queries kept in a Result: a measured quality with its
// interval, beside another system's on the same queries where there is one.
type ResultMean struct {
	Name    string  `json:"name"`    // collection and what was done with it
	Measure string  `json:"measure"` // in ir_measures syntax
	Value   float64 `json:"value"`
	Low     float64 `json:"low"` // 95 % interval over queries
	High    float64 `json:"high"`
	Queries int     `json:"queries"`
	Method  string  `json:"method"` // of the interval

	Reference     *float64 `json:"reference,omitempty"` // the other system's value
	ReferenceName string   `json:"reference_name,omitempty"`
	Within        *float64 `json:"within,omitempty"` // most that the two may differ by
	Note          string   `json:"note,omitempty"`
}

// Validate reports what is wrong with the mean: no name, a value outside its
// interval, or a bound on the difference from a reference that is not there.
func (m *ResultMean) Validate() error {
	switch {
	case m.Name == "" || m.Measure == "" || m.Method == "":
		return fmt.Errorf("mean %q: name, measure and method are required", m.Name)
	case m.Queries < 1:
		return fmt.Errorf("mean %q: over %d queries, expected at least 1", m.Name, m.Queries)
	case !(m.Low <= m.Value && m.Value <= m.High) || math.IsInf(m.Low, 0) || math.IsInf(m.High, 0):
		return fmt.Errorf("mean %q: %v is not within its interval %v to %v", m.Name, m.Value, m.Low, m.High)
	case m.Within != nil && (m.Reference == nil || !(*m.Within > 0)):
		return fmt.Errorf("mean %q: \"within\" needs a \"reference\" and a positive number", m.Name)
	}
	return nil
}

// Met says whether the value is as near the reference as Within asks. The slack is
// for decimal figures whose difference is not exact.
func (m *ResultMean) Met() bool {
	const slack = 1e-12
	return m.Within == nil || math.Abs(m.Value-*m.Reference) <= *m.Within+slack
}
