package stat

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
)

// Replicates is the default number of bootstrap or randomisation replicates.
const Replicates = 10_000

// Options are those of a resampling. The zero value is 10,000 replicates with seed
// 0 on all CPUs, queries independent, values unbounded.
type Options struct {
	B    int    // replicates; 0 is Replicates
	Seed uint64 // of every stream; belongs beside the figure
	// Groups gives each value's cluster, such as its conversation; "" is a cluster
	// of its own. Nil, or a name for each value.
	Groups []string
	// Unit says that the measure lies in [0, 1], so that a t interval is clipped.
	Unit bool
	// Binary says that the measure is 0 or 1 by its definition. Values that merely
	// happen to be are those of another measure, whose method does not follow them.
	Binary  bool
	Threads int // at most; 0 is one for each CPU
}

func (o Options) replicates() int {
	if o.B <= 0 {
		return Replicates
	}
	return o.B
}

func (o Options) threads() int {
	if o.Threads <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Threads
}

// Interval is a 95 % confidence interval. Where none can be computed its ends are
// NaN (null in JSON) and Method is "none: " with the reason.
type Interval struct {
	Low, High float64
	Method    string
}

// Known says whether there is an interval.
func (v Interval) Known() bool { return v.High >= v.Low }

// Width is the distance of the ends; NaN where there is no interval.
func (v Interval) Width() float64 { return v.High - v.Low }

// Holds says whether x lies in the interval.
func (v Interval) Holds(x float64) bool { return v.Low <= x && x <= v.High }

type intervalJSON struct {
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Method string   `json:"method"`
}

// MarshalJSON writes low, high and method.
func (v Interval) MarshalJSON() ([]byte, error) {
	j := intervalJSON{Method: v.Method}
	if v.Known() {
		j.Low, j.High = &v.Low, &v.High
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Interval) UnmarshalJSON(b []byte) error {
	var j intervalJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*v = Interval{math.NaN(), math.NaN(), j.Method}
	if j.Low != nil && j.High != nil {
		v.Low, v.High = *j.Low, *j.High
	}
	return nil
}

func none(format string, args ...any) Interval {
	return Interval{math.NaN(), math.NaN(), "none: " + fmt.Sprintf(format, args...)}
}

// For gives the interval of the mean of values by the method that suits them:
// Wilson with Options.Binary where the values are independent, BCa elsewhere,
// Student's t where BCa cannot be computed. Expected values of a binary measure over
// the orders of equal scores are between 0 and 1, and no longer binary. Values without spread have no BCa interval: that
// no difference was seen is no measure of the error.
func For(values []float64, opt Options) Interval {
	s, reason := newSample(values, opt)
	if reason != "" {
		return none("%s", reason)
	}
	if hits, ok := zeroOrOne(values); opt.Binary && ok && s.single() {
		return Wilson(hits, len(values))
	}
	if v, ok := s.bca(opt); ok {
		return v
	}
	return s.student(opt.Unit)
}

func zeroOrOne(values []float64) (hits int, ok bool) {
	for _, x := range values {
		switch x {
		case 0:
		case 1:
			hits++
		default:
			return 0, false
		}
	}
	return hits, true
}

// Wilson is the score interval of a share of hits among n (Wilson, Probable
// Inference, the Law of Succession, and Statistical Inference, 1927), without
// continuity correction. It never leaves [0, 1], nor is it empty for 0 or n hits.
func Wilson(hits, n int) Interval {
	if n <= 0 || hits < 0 || hits > n {
		return none("%d hits of %d", hits, n)
	}
	p, m := float64(hits)/float64(n), float64(n)
	z2 := z975 * z975
	center := (p + z2/(2*m)) / (1 + z2/m)
	half := z975 / (1 + z2/m) * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	v := Interval{max(0, center-half), min(1, center+half), "Wilson"}
	// Exact ends, which rounding would miss.
	if hits == 0 {
		v.Low = 0
	}
	if hits == n {
		v.High = 1
	}
	return v
}

// StudentT is mean ± t(n-1) · s/√n, with groups mean ± t(groups-1) · the standard
// error between groups. Options.Unit clips it to [0, 1]; Method says when it did.
func StudentT(values []float64, opt Options) Interval {
	s, reason := newSample(values, opt)
	if reason != "" {
		return none("%s", reason)
	}
	return s.student(opt.Unit)
}

func (s *sample) student(unit bool) Interval {
	switch {
	case s.units() < 2:
		return none("one %s", s.unitName(1))
	case s.flat():
		return none("all %d values are equal", s.n)
	}
	half := TQuantile(0.975, float64(s.units()-1)) * s.se
	v := Interval{s.mean - half, s.mean + half, "Student's t"}
	if !s.single() {
		v.Method = fmt.Sprintf("Student's t over %d groups", s.units())
	}
	if unit && (v.Low < 0 || v.High > 1) {
		v.Low, v.High = max(0, v.Low), min(1, v.High)
		v.Method += ", clipped to [0, 1]"
	}
	return v
}
