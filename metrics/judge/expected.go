package judge

import (
	"fmt"
	"math"
	"strconv"

	"encbench/metrics"
)

// averaging computes the expected value of a measure when the documents of each tie
// group stand in a random order, all orders being equally likely. The formulas are
// those of McSherry and Najork (Computing Information Retrieval Performance Measures
// Efficiently in the Presence of Tied Scores, 2008); the definition is the mean over
// all orders.
type averaging struct {
	measure metrics.Measure
	name    string
	cut     int     // math.MaxInt32 for none
	level   float64 // lowest relevant grade
	p       float64 // of RBP
	exp     bool    // nDCG with gain 2^grade−1
	fixed   bool    // the same in every order
}

// Averageable says why a measure cannot be judged with ties averaged: nil if it can.
func Averageable(m metrics.Measure) error {
	_, err := newAveraging(m)
	return err
}

// newAveraging refuses a measure whose expected value has no such formula.
func newAveraging(m metrics.Measure) (averaging, error) {
	a := averaging{measure: m, name: stem(m), cut: m.Cut(), level: m.Rel(), p: .8}
	if a.cut == 0 {
		a.cut = math.MaxInt32
	}
	switch a.name {
	case "NumQ", "NumRet", "NumRel", "NumRelRet", "SetP", "SetR", "SetF":
		a.fixed = true
	case "P", "R", "R_cap", "Rprec", "Success", "RR", "AP", "Judged", "unj":
	case "nDCG":
		a.exp = parameter(m, "dcg") != ""
		if parameter(m, "gains") != "" {
			return a, fmt.Errorf("%s has no expected value over tie orders here; choose another tie rule, or leave it out", m)
		}
	case "RBP":
		if text := parameter(m, "p"); text != "" {
			p, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return a, fmt.Errorf("%s: %w", m, err)
			}
			a.p = p
		}
	default:
		return a, fmt.Errorf("%s has no expected value over tie orders here; choose another tie rule, or leave it out", m)
	}
	return a, nil
}

// mass is what the expected value of a group depends on.
type mass struct {
	from, size int
	relevant   float64
	gain       float64
	judged     float64
}

// value gives the expected value for one query with n ranked documents. It is not
// asked for fixed measures.
func (a *averaging) value(w *worker, n int, grades []float64) float64 {
	var r float64
	for _, g := range grades {
		if g >= a.level {
			r++
		}
	}
	switch a.name {
	case "P":
		return a.linear(w, grades, func(m mass, _ int) float64 { return m.relevant }) / float64(a.cut)
	case "R":
		return share(a.linear(w, grades, func(m mass, _ int) float64 { return m.relevant }), r)
	case "R_cap":
		return share(a.linear(w, grades, func(m mass, _ int) float64 { return m.relevant }), min(r, float64(a.cut)))
	case "Rprec":
		b := *a
		b.cut = int(r)
		return share(b.linear(w, grades, func(m mass, _ int) float64 { return m.relevant }), r)
	case "RBP":
		return (1 - a.p) * a.linear(w, grades, func(m mass, place int) float64 { return m.relevant * math.Pow(a.p, float64(place)) })
	case "Judged":
		return share(a.linear(w, grades, func(m mass, _ int) float64 { return m.judged }), float64(min(a.cut, n)))
	case "unj":
		ranked := float64(min(a.cut, n))
		return (ranked - a.linear(w, grades, func(m mass, _ int) float64 { return m.judged })) / float64(a.cut)
	case "nDCG":
		got := a.linear(w, grades, func(m mass, place int) float64 { return m.gain / math.Log2(float64(place)+2) })
		return min(share(got, a.ideal(w, grades)), 1)
	case "Success":
		return a.success(w, grades)
	case "RR":
		return a.reciprocalRank(w, grades)
	}
	return share(a.precisionSum(w, grades), r)
}

// masses calls yield for every group that begins within the cut-off.
func (a *averaging) masses(w *worker, grades []float64, yield func(mass) bool) {
	for _, g := range w.groups {
		if g.from >= a.cut {
			return
		}
		m := mass{from: g.from, size: g.to - g.from}
		for _, hit := range w.hits[g.first:g.last] {
			grade := grades[uint32(hit)]
			m.gain += a.gain(grade)
			if grade >= a.level {
				m.relevant++
			}
			if grade >= 0 || !w.judged.NegativeUnjudged {
				m.judged++
			}
		}
		if !yield(m) {
			return
		}
	}
}

func (a *averaging) gain(grade float64) float64 {
	switch {
	case grade <= 0:
		return 0
	case a.exp:
		return math.Exp2(grade) - 1
	}
	return grade
}

// linear is the expected value of a sum over places: each place of a group has the
// group's mean.
func (a *averaging) linear(w *worker, grades []float64, at func(m mass, place int) float64) float64 {
	var sum float64
	a.masses(w, grades, func(m mass) bool {
		for place := m.from; place < min(m.from+m.size, a.cut); place++ {
			sum += at(m, place) / float64(m.size)
		}
		return true
	})
	return sum
}

// ideal is the discounted gain of the judgements in their best order.
func (a *averaging) ideal(w *worker, grades []float64) float64 {
	w.sorted = append(w.sorted[:0], grades...)
	sortDescending(w.sorted)
	var sum float64
	for place, grade := range w.sorted[:min(a.cut, len(w.sorted))] {
		sum += a.gain(grade) / math.Log2(float64(place)+2)
	}
	return sum
}

// success is the chance of a relevant document within the cut-off.
func (a *averaging) success(w *worker, grades []float64) float64 {
	none := 1.
	a.masses(w, grades, func(m mass) bool {
		for i := range min(m.size, a.cut-m.from) {
			none *= max(float64(m.size)-m.relevant-float64(i), 0) / float64(m.size-i)
		}
		return none > 0
	})
	return 1 - none
}

// reciprocalRank looks at the first group with a relevant document, whose first one
// stands at place i with the chance that the i before it are not relevant.
func (a *averaging) reciprocalRank(w *worker, grades []float64) float64 {
	var sum float64
	a.masses(w, grades, func(m mass) bool {
		if m.relevant == 0 {
			return true
		}
		none := 1.
		for i := range min(m.size, a.cut-m.from) {
			left := float64(m.size - i)
			sum += none * m.relevant / left / float64(m.from+i+1)
			none *= max(left-m.relevant, 0) / left
		}
		return false
	})
	return sum
}

// precisionSum is the expected sum of precision at the relevant documents. Given
// that place i of a group is relevant, each of the i before it is so with the chance
// (relevant−1)/(size−1).
func (a *averaging) precisionSum(w *worker, grades []float64) float64 {
	var sum, before float64
	a.masses(w, grades, func(m mass) bool {
		other := 0.
		if m.size > 1 {
			other = (m.relevant - 1) / float64(m.size-1)
		}
		for i := range min(m.size, a.cut-m.from) {
			sum += m.relevant / float64(m.size) * (before + 1 + float64(i)*other) / float64(m.from+i+1)
		}
		before += m.relevant
		return true
	})
	return sum
}

// share is part/whole, and 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
