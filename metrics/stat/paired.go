package stat

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ExactFlips is the largest number of queries that differ for which the
// randomisation test goes through all sign patterns.
const ExactFlips = 20

// Paired compares two systems on the same queries: differences are a − b, or b − a
// where Against made it.
type Paired struct {
	N     int     `json:"n"`
	MeanA float64 `json:"mean_a"`
	MeanB float64 `json:"mean_b"`
	Diff  float64 `json:"diff"`
	// CI is the bootstrap interval of the mean difference.
	CI Interval `json:"ci"`
	// P is the two-sided p-value of Test, PT that of the paired t test, PBootstrap
	// that of the paired bootstrap, whose distribution is shifted to mean 0. Where
	// the differences have no spread t is undefined and PT repeats P.
	P          float64 `json:"p"`
	Test       string  `json:"test"`
	PT         float64 `json:"p_t"`
	PBootstrap float64 `json:"p_bootstrap"`
	Wins       int     `json:"wins"` // queries on which a is ahead
	Ties       int     `json:"ties"`
	Losses     int     `json:"losses"`
	SD         float64 `json:"sd"` // of the differences
	// Effect is Cohen's d_z, Diff / SD; 0 where SD is.
	Effect float64 `json:"effect_dz"`
	// Detectable is the smallest true difference that so many queries show at 5 %
	// in 4 of 5 such experiments, 2.8 standard errors.
	Detectable float64  `json:"detectable"`
	B          int      `json:"replicates"`
	Seed       uint64   `json:"seed"`
	Groups     int      `json:"groups,omitempty"` // independent groups of queries, where there are fewer than queries
	Warnings   []string `json:"warnings,omitempty"`
}

// Compare compares the values of two systems on the same queries, a[i] and b[i]
// being query i's. The test is paired randomisation, the sign of each difference
// being as likely the other one (Fisher, The Design of Experiments, 1935; for
// retrieval, Smucker, Allan and Carterette, A Comparison of Statistical
// Significance Tests, 2007): exact where up to ExactFlips queries differ, otherwise
// p = (b+1)/(B+1) with b the replicates whose |mean| is at least the observed one,
// equal within rounding counted. With Options.Groups the differences of a group
// change sign together. Identical systems give 0 and p = 1. Values of different
// length panic.
func Compare(a, b []float64, opt Options) Paired {
	if len(a) != len(b) {
		panic(fmt.Sprintf("stat: %d values against %d", len(a), len(b)))
	}
	p := Paired{N: len(a), B: opt.replicates(), Seed: opt.Seed, P: 1, PT: 1, PBootstrap: 1}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
		// What two ways of adding leave between equal values is no win.
		if math.Abs(d[i]) <= 1e-13*max(math.Abs(a[i]), math.Abs(b[i])) {
			d[i] = 0
		}
		switch {
		case d[i] > 0:
			p.Wins++
		case d[i] < 0:
			p.Losses++
		default:
			p.Ties++
		}
	}
	s, reason := newSample(d, opt)
	if reason != "" {
		p.CI, p.Test = none("%s", reason), "none"
		p.Wins, p.Ties, p.Losses = 0, 0, 0
		p.Warnings = []string{"the systems cannot be compared: " + reason}
		return p
	}
	s.scale(max(largest(a), largest(b)))
	p.MeanA, p.MeanB, p.Diff, p.SD = Mean(a), Mean(b), s.mean, SD(d)
	if !s.single() {
		p.Groups = s.units()
	}
	p.Detectable = detectableErrors * s.se
	p.P, p.Test = s.randomise(opt)
	draws, center := s.means(opt)
	p.CI, _ = s.bcaOf(draws, center)
	p.CI.Method = "paired " + p.CI.Method
	p.PBootstrap = shifted(draws, center)
	switch {
	case p.Wins+p.Losses == 0:
		p.PBootstrap = 1
	case s.flat() || s.units() < 2:
		p.PT, p.PBootstrap = p.P, p.P
		p.CI = none("no spread between %d %s", s.units(), s.unitName(s.units()))
	default:
		p.PT = tTwoSided(s.mean/s.se, float64(s.units()-1))
		if p.SD > 0 {
			p.Effect = p.Diff / p.SD
		}
	}
	p.Warnings = p.warn()
	return p
}

// Against is Compare with the baseline first, as two records and two runs are named:
// a is the baseline, b the other system, differences are b − a, and wins are queries
// on which b is ahead.
func Against(a, b []float64, opt Options) Paired {
	p := Compare(b, a, opt)
	p.MeanA, p.MeanB = p.MeanB, p.MeanA
	return p
}

// randomise gives the p-value of the randomisation test and names it.
func (s *sample) randomise(opt Options) (p float64, test string) {
	var total int64
	differ := make([]int64, 0, len(s.fixed))
	for _, x := range s.fixed {
		total += x
		if x != 0 {
			differ = append(differ, x)
		}
	}
	if total < 0 {
		total = -total
	}
	// Each value is rounded by half a unit at most and carries an error of its own
	// below that: sums that should be equal are within a unit for each.
	limit := total - int64(s.n)
	if len(differ) <= ExactFlips {
		reached, all := countFlips(differ, limit)
		return float64(reached) / float64(all), "paired randomisation, exact"
	}
	sums := make([]int64, opt.replicates())
	flipSums(differ, opt.Seed, opt.threads(), sums)
	reached := 0
	for _, x := range sums {
		if x >= limit || -x >= limit {
			reached++
		}
	}
	return float64(reached+1) / float64(len(sums)+1), "paired randomisation"
}

// shifted is the p-value of the bootstrap shifted to mean 0.
func shifted(draws []float64, center float64) float64 {
	reached := 0
	limit := math.Abs(center) * (1 - 1e-12)
	for _, x := range draws {
		if math.Abs(x-center) >= limit {
			reached++
		}
	}
	return float64(reached+1) / float64(len(draws)+1)
}

// detectableErrors is z(.975) + z(.8): 5 % two-sided, power 80 %.
const detectableErrors = 2.8

// NeededN is the number of queries with which a difference of delta shows at 5 %
// in 4 of 5 experiments, for differences of standard deviation sd: (2.8 sd/delta)²,
// rounded up, at least 2. 0 where delta or sd is not positive.
func NeededN(sd, delta float64) int {
	if !(sd > 0) || !(math.Abs(delta) > 0) {
		return 0
	}
	r := detectableErrors * sd / math.Abs(delta)
	return int(min(max(2, math.Ceil(r*r)), 1<<53))
}

// warn says what the figure does not support.
func (p *Paired) warn() []string {
	var w []string
	same := p.Wins+p.Losses == 0
	if reason, unknown := strings.CutPrefix(p.CI.Method, "none: "); unknown && !same {
		w = append(w, "the differences show "+reason+": there is no interval, and the t test is undefined")
	}
	if text := Wide(p.CI, p.Diff, p.SD); text != "" && !same {
		w = append(w, text)
	}
	return w
}

// Wide gives a warning where the interval of a difference is wider than the
// difference itself, or "". sd, that of the differences, tells the number of
// queries which would do; 0 leaves it out.
func Wide(v Interval, diff, sd float64) string {
	if !v.Known() || v.Width() <= math.Abs(diff) {
		return ""
	}
	text := fmt.Sprintf("the interval, %.4f wide, is wider than the difference, %.4f", v.Width(), diff)
	if v.Holds(0) {
		text += ", and holds 0"
	}
	if n := NeededN(sd, diff); n > 0 && v.Holds(0) {
		text += fmt.Sprintf(": about %s queries would show such a difference with 80 %% power", separated(n))
	}
	return text
}

// separated writes a count with a comma before every three digits.
func separated(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
