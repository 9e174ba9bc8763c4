package bench

import (
	"fmt"
	"math"
	"slices"
)

// Result is one comparison kept in docs/results as JSON: the raw samples of both
// arms and what is needed to run it again. Ratios, intervals and verdicts are
// not stored; they are computed from the samples when the file is rendered.
type Result struct {
	Title    string            `json:"title"`
	Command  string            `json:"command"`            // that made the file
	Commit   string            `json:"commit"`             // of the tree measured
	Date     string            `json:"date,omitempty"`     // year-month-day
	Machine  string            `json:"machine"`            // processor, cores used, memory, kernel: one line
	Versions map[string]string `json:"versions,omitempty"` // of everything measured
	Notes    []string          `json:"notes,omitempty"`    // a paragraph each
	Rows     []ResultRow       `json:"rows,omitempty"`
	Means    []ResultMean      `json:"means,omitempty"` // of quality, in a table of their own
}

// ResultRow is one quantity measured on our side and, where there is one, on a
// peer's. Sample i of both arms is pair i of an interleaved ABBA run.
type ResultRow struct {
	Name     string    `json:"name"`
	Unit     string    `json:"unit"`                // of the samples; a rate unless bar_is_ceiling
	Ours     []float64 `json:"ours"`                // raw samples in the order taken
	Peer     []float64 `json:"peer,omitempty"`      // raw samples of the peer; none when the bar is absolute
	PeerName string    `json:"peer_name,omitempty"` // what the peer is, at which setting
	Unpaired bool      `json:"unpaired,omitempty"`  // the arms were not interleaved: independent samples
	Bar      *float64  `json:"bar,omitempty"`       // ours ÷ peer, or ours in Unit without a peer, to reach
	Ceiling  bool      `json:"bar_is_ceiling,omitempty"`
	// Counted says that each sample is the count of another case, which does not
	// vary: the worst is judged, and it has no interval.
	Counted bool   `json:"counted,omitempty"`
	Note    string `json:"note,omitempty"` // for a missed bar: why
}

// The rule by which a bar counts as met.
const (
	barPairs    = 12   // ABBA pairs at least, for a bar on a paired ratio
	barSamples  = 6    // samples an arm at least otherwise: fewer have no 95 % interval
	barDistance = 0.01 // how far the median may stay from the bar
)

// Judged says what a row came to.
type Judged struct {
	Value  Ratio   // ours ÷ peer, or the median of ours without a peer
	HasBar bool    // the row names a bar
	Enough bool    // there are samples enough to judge it by
	Need   int     // samples (pairs) an arm that the rule asks for
	Met    bool    // the bar is met
	By     float64 // distance of the median from the bar, positive on the good side
}

// Validate reports what is wrong with the row: no samples, a sample that is not
// a positive finite number, or arms of different length that claim to be pairs.
func (r *ResultRow) Validate() error {
	if r.Name == "" || r.Unit == "" {
		return fmt.Errorf("row %q: name and unit are required", r.Name)
	}
	if len(r.Ours) == 0 {
		return fmt.Errorf("row %q: no samples in \"ours\"", r.Name)
	}
	for _, arm := range []struct {
		key string
		xs  []float64
	}{{"ours", r.Ours}, {"peer", r.Peer}} {
		for i, x := range arm.xs {
			if r.Counted && x == 0 {
				continue
			}
			if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
				return fmt.Errorf("row %q: %s[%d] is %v, expected a positive number", r.Name, arm.key, i, x)
			}
		}
	}
	if len(r.Peer) > 0 && r.Counted {
		return fmt.Errorf("row %q: \"counted\" samples have no \"peer\"", r.Name)
	}
	if len(r.Peer) > 0 && !r.Unpaired && len(r.Ours) != len(r.Peer) {
		return fmt.Errorf("row %q: %d samples in \"ours\" and %d in \"peer\" are no pairs; set \"unpaired\" if the arms were not interleaved",
			r.Name, len(r.Ours), len(r.Peer))
	}
	return nil
}

// Judge computes the row's ratio with its interval and holds it against the bar.
// A bar is met when the better end of the 95 % interval reaches it and the median
// is within 0.01 of it or beyond, on at least 12 ABBA pairs (6 samples an arm
// where the samples are no pairs). A counted row meets it when its worst sample
// reaches it. The row must be valid.
func (r *ResultRow) Judge() Judged {
	j := Judged{Need: barSamples}
	distance := barDistance
	switch {
	case r.Counted:
		worst := slices.Min(r.Ours)
		if r.Ceiling {
			worst = slices.Max(r.Ours)
		}
		j.Value = Ratio{Value: worst, Low: worst, High: worst, N: len(r.Ours)}
		j.Need, distance = 1, 0
	case len(r.Peer) == 0:
		e := Summarize(r.Ours)
		j.Value = Ratio{Value: e.Median, Low: e.Low, High: e.High, N: e.N}
	case r.Unpaired:
		j.Value = RatioCI(r.Ours, r.Peer)
	default:
		j.Value = PairedRatio(r.Ours, r.Peer)
		j.Need = barPairs
	}
	if r.Bar == nil {
		return j
	}
	j.HasBar = true
	j.Enough = j.Value.N >= j.Need
	sign, best := 1.0, j.Value.High
	if r.Ceiling {
		sign, best = -1, j.Value.Low
	}
	j.By = sign * (j.Value.Value - *r.Bar)
	// A bar and a median are decimal figures: without the slack 0.98-0.97 would
	// come out beyond 0.01.
	const slack = 1e-12
	j.Met = j.Enough && sign*(best-*r.Bar) >= 0 && j.By >= -distance-slack
	return j
}
