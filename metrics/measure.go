package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Measure turns every query of a block into one number.
type Measure interface {
	// String gives the name that Parse accepts, such as "nDCG@10".
	String() string
	// Score writes the value of query q into dst[q] for every query of j. It
	// panics unless dst has exactly one place a query.
	Score(dst []float64, j *Judged)
}

// Parse gives the measure of that name: one of those in the package comment, k a
// whole number from 1. Names are case sensitive, as in ir_measures.
func Parse(s string) (Measure, error) {
	name, digits, cut := strings.Cut(s, "@")
	for _, f := range families {
		if f.name != name {
			continue
		}
		switch {
		case !cut && f.uncut:
			return measure{family: f}, nil
		case !cut:
			return nil, fmt.Errorf("measure %q needs a cut-off, such as %s@10", s, name)
		}
		k, err := strconv.ParseInt(digits, 10, 32)
		// Only the digits that String prints again: no sign, no leading zero.
		if err != nil || k < 1 || strconv.FormatInt(k, 10) != digits {
			return nil, fmt.Errorf("measure %q: the cut-off %q is not a whole number from 1 to %d", s, digits, math.MaxInt32)
		}
		return measure{f, int(k)}, nil
	}
	return nil, fmt.Errorf("unknown measure %q: known are %s", s, strings.Join(Names(), ", "))
}

// Names lists the forms that Parse accepts, with k for a cut-off.
func Names() []string {
	var names []string
	for _, f := range families {
		if f.uncut {
			names = append(names, f.name)
		}
		names = append(names, f.name+"@k")
	}
	return names
}

// measure is a family at a cut-off; k is 0 where there is none.
type measure struct {
	family
	k int
}

func (m measure) String() string {
	if m.k == 0 {
		return m.name
	}
	return m.name + "@" + strconv.Itoa(m.k)
}

func (m measure) Score(dst []float64, j *Judged) {
	if len(dst) != j.Queries() {
		panic(fmt.Sprintf("metrics: %d places for the scores of %d queries", len(dst), j.Queries()))
	}
	worth := make([]float64, len(j.Gain)+1)
	for code, g := range j.Gain {
		worth[code+1] = m.worth(g)
	}
	for q := range dst {
		grade, ideal := j.query(q)
		k := m.k
		if k == 0 {
			k = max(len(grade), len(ideal))
		}
		dst[q] = m.score(ranking{grade[:min(k, len(grade))], worth, ideal, k})
	}
}

// Mean is the arithmetic mean of per-query values, added in order with Neumaier's
// compensation, so that it does not depend on how the values were computed. It is
// NaN where there are no values.
func Mean(values []float64) float64 {
	var sum, lost float64
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	return (sum + lost) / float64(len(values))
}
