package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const (
	tolerance = 1e-12 // relative to values in [0,1]: what the two orders of summation may differ by
	printed   = 5e-5  // half of the fourth decimal, the last that published values print
)

// query is one query by document names.
type query struct {
	ranked string // names, best first, separated by spaces
	grades map[string]float64
}

// block looks the rankings up in the judgements, as a reader of run files does.
func block(t testing.TB, queries ...query) *Judged {
	t.Helper()
	var j Judged
	for _, q := range queries {
		names := slices.Sorted(maps.Keys(q.grades))
		var grades []float64
		for _, n := range names {
			grades = append(grades, q.grades[n])
		}
		var ranked []int32
		for n := range strings.FieldsSeq(q.ranked) {
			ranked = append(ranked, int32(slices.Index(names, n)))
		}
		if err := j.Append(ranked, grades); err != nil {
			t.Fatal(err)
		}
	}
	return &j
}

func scores(t testing.TB, name string, j *Judged) []float64 {
	t.Helper()
	m, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, j.Queries())
	m.Score(dst, j)
	return dst
}

func TestKnownAnswers(t *testing.T) {
	graded := block(t,
		query{"D0 D2 D3 D1 D4", map[string]float64{"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}},
		query{"D1 D3 D2 D4", map[string]float64{"D0": 1, "D3": 2, "D5": 2}})
	level := block(t, query{"a b", map[string]float64{"a": 1, "b": 2}})
	tied := block(t, query{"a b", map[string]float64{"a": 1, "b": 0}}, query{"b a", map[string]float64{"a": 1, "b": 0}})
	pool := block(t, query{"a n b x y", map[string]float64{"a": 2, "n": 0, "b": 1, "c": 1, "d": 1}})
	steep := block(t,
		query{"d_12 d_23 d_25 d_36 d_32 d_35", map[string]float64{"d_12": 5, "d_25": 3}},
		query{"d_12 d_11 d_25 d_36 d_22 d_35", map[string]float64{"d_11": 6, "d_22": 1}})
	for _, c := range []struct {
		set     string
		j       *Judged
		measure string
		want    []float64
	}{
		{"graded", graded, "nDCG@20", []float64{.658465, .335435}},
		{"graded", graded, "nDCG", []float64{.658465, .335435}},
		{"graded", graded, "nDCG@2", []float64{.239812, .386853}},
		{"graded", graded, "nDCG(dcg='exp-log2')@20", []float64{.620104, .350985}},
		{"graded", graded, "nDCG(dcg='exp-log2')@2", []float64{.173765, .386853}},
		{"graded", graded, "AP", []float64{.6389, .1667}},
		{"graded", graded, "RR", []float64{.5, .5}},
		{"graded", graded, "RR@1", []float64{0, 0}},
		{"graded", graded, "R@5", []float64{1, .3333}},
		{"graded", graded, "P@5", []float64{.6, .2}},
		{"graded", graded, "P@10", []float64{.3, .1}},
		{"graded", graded, "Success@1", []float64{0, 0}},
		{"graded", graded, "Success@2", []float64{1, 1}},
		{"graded", graded, "Judged@4", []float64{1, .25}},
		{"graded", graded, "Judged@10", []float64{1, .25}},
		{"graded", graded, "unj@10", []float64{0, .3}},
		{"graded", graded, "Rprec", []float64{.6667, .3333}},
		{"graded", graded, "R_cap@2", []float64{.5, .5}},
		{"level", level, "RR(rel=2)", []float64{.5}},
		{"level", level, "AP(rel=2)", []float64{.5}},
		{"level", level, "nDCG@10", []float64{.8597}},
		{"tied", tied, "nDCG", []float64{1, .6309}},
		// Worked by hand from the definitions: relevant at ranks 1 and 3, a
		// nonrelevant one between them, two relevant ones not found.
		{"pool", pool, "Bpref", []float64{.25}},
		{"pool", pool, "infAP", []float64{.41667}},
		{"pool", pool, "IPrec@0.0", []float64{1}},
		{"pool", pool, "IPrec@0.5", []float64{.66667}},
		{"pool", pool, "IPrec@0.6", []float64{0}},
		{"pool", pool, "SetP", []float64{.4}},
		{"pool", pool, "SetR", []float64{.5}},
		{"pool", pool, "SetF", []float64{.44444}},
		{"pool", pool, "SetF(beta=2)", []float64{.46154}},
		{"pool", pool, "RBP", []float64{.328}},
		{"pool", pool, "RBP(p=0.5)", []float64{.625}},
		{"pool", pool, "RBP@1", []float64{.2}},
		{"pool", pool, "ERR@10", []float64{.20443}},
		{"pool", pool, "NumQ", []float64{1}},
		{"pool", pool, "NumRet", []float64{5}},
		{"pool", pool, "NumRel", []float64{4}},
		{"pool", pool, "NumRelRet", []float64{2}},
		{"pool", pool, "NumRelRet(rel=2)", []float64{1}},
	} {
		got := scores(t, c.measure, c.j)
		for q, want := range c.want {
			if math.Abs(got[q]-want) > printed {
				t.Errorf("%s, query %d: %s is %.6f, want %.6f", c.set, q, c.measure, got[q], want)
			}
		}
	}
	for measure, want := range map[string]float64{"nDCG@5": .786126, "AP@5": .641667, "RR": .75} {
		if got := Mean(scores(t, measure, steep)); math.Abs(got-want) > 1e-6 {
			t.Errorf("steep: mean %s is %.6f, want %.6f", measure, got, want)
		}
	}
}

// TestInHouseGolden tells recall from hit rate: three queries, one of them with
// two relevant documents.
func TestInHouseGolden(t *testing.T) {
	j := block(t,
		query{"a b c", map[string]float64{"a": 1, "b": 1}},
		query{"x a", map[string]float64{"a": 1}},
		query{"x y a", map[string]float64{"a": 1}})
	for measure, want := range map[string]string{
		"R@1": "0.1667", "R@5": "1.0000", "RR": "0.6111", "Success@1": "0.3333",
	} {
		if got := fmt.Sprintf("%.4f", Mean(scores(t, measure, j))); got != want {
			t.Errorf("mean %s is %s, want %s", measure, got, want)
		}
	}
}

// TestEdges are the queries on which tools differ: they score here, by rule.
func TestEdges(t *testing.T) {
	measures := []string{"nDCG@10", "nDCG", "R@5", "P@5", "RR", "RR@5", "AP", "AP@5", "Success@5", "Judged@5"}
	for _, c := range []struct {
		name string
		query
		want string
	}{
		{"missing from the run", query{"", map[string]float64{"a": 1}}, "0 0 0 0 0 0 0 0 0 0"},
		{"nothing judged", query{"a b", nil}, "0 0 0 0 0 0 0 0 0 0"},
		{"nothing relevant", query{"a", map[string]float64{"a": 0, "b": 0}}, "0 0 0 0 0 0 0 0 0 1"},
		{"only negative grades", query{"a", map[string]float64{"a": -1}}, "0 0 0 0 0 0 0 0 0 1"},
		{"half a grade", query{"a", map[string]float64{"a": .5}}, "1 1 0 0 0 0 0 0 0 1"},
		{"a negative one on the way", query{"a b", map[string]float64{"a": -2, "b": 1}}, "0.6309 0.6309 1 0.2 0.5 0.5 0.5 0.5 1 1"},
	} {
		j := block(t, c.query)
		var got []string
		for _, m := range measures {
			got = append(got, fmt.Sprintf("%.4g", scores(t, m, j)[0]))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %v are\n%s, want\n%s", c.name, measures, s, c.want)
		}
	}
}

// TestIdealIsUncut: without a cut-off the ideal holds every relevant judgement,
// also beyond the end of the ranking.
func TestIdealIsUncut(t *testing.T) {
	j := block(t, query{"a", map[string]float64{"a": 1, "b": 1, "c": 1}})
	want := 1 / (1 + 1/math.Log2(3) + .5)
	if got := scores(t, "nDCG", j)[0]; math.Abs(got-want) > tolerance {
		t.Errorf("nDCG is %v, want %v", got, want)
	}
	if got := scores(t, "nDCG@1", j)[0]; got != 1 {
		t.Errorf("nDCG@1 is %v, want 1", got)
	}
}

func TestAppendErrors(t *testing.T) {
	for _, c := range []struct {
		ranked []int32
		grades []float64
		want   string
	}{
		{[]int32{0, 1}, []float64{1}, "query 1 of the block: rank 2 names judgement 1: there are 1, numbered from 0"},
		{[]int32{-2}, []float64{1}, "query 1 of the block: rank 1 names judgement -2: there are 1, numbered from 0"},
		{[]int32{0, Unjudged, Unjudged, 0}, []float64{1}, "query 1 of the block: rank 4 names judgement 0, which stands at an earlier rank: a document may be ranked once"},
		{nil, []float64{0, math.NaN()}, "query 1 of the block: judgement 1 has grade NaN: must be a number from -1e+15 to 1e+15"},
		{nil, []float64{math.Inf(-1)}, "query 1 of the block: judgement 0 has grade -Inf: must be a number from -1e+15 to 1e+15"},
		{nil, []float64{2e15}, "query 1 of the block: judgement 0 has grade 2e+15: must be a number from -1e+15 to 1e+15"},
	} {
		j := block(t, query{"a", map[string]float64{"a": 1}})
		if err := j.Append(c.ranked, c.grades); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if got := scores(t, "P@1", j); !slices.Equal(got, []float64{1}) {
			t.Errorf("after a refused query the block scores %v, want [1]", got)
		}
	}
}

func TestAppendSparseErrors(t *testing.T) {
	for _, c := range []struct {
		n           int
		rank, which []int32
		want        string
	}{
		{-1, nil, nil, "query 0 of the block: a ranking of -1 documents: from 0 to 2147483647 can be scored"},
		{1 << 31, nil, nil, "query 0 of the block: a ranking of 2147483648 documents: from 0 to 2147483647 can be scored"},
		{3, []int32{0, 1}, []int32{0}, "query 0 of the block: 2 places for 1 judged documents"},
		{3, []int32{1, 1}, []int32{0, 1}, "query 0 of the block: judged document 1 stands at place 1: places ascend, from 0, in a ranking of 3 documents"},
		{3, []int32{0, 3}, []int32{0, 1}, "query 0 of the block: judged document 1 stands at place 3: places ascend, from 0, in a ranking of 3 documents"},
		{3, []int32{-1}, []int32{0}, "query 0 of the block: judged document 0 stands at place -1: places ascend, from 0, in a ranking of 3 documents"},
		{3, []int32{0, 2}, []int32{1, 1}, "query 0 of the block: rank 3 names judgement 1, which stands at an earlier rank: a document may be ranked once"},
	} {
		var j Judged
		if err := j.AppendSparse(c.n, c.rank, c.which, []float64{1, 1}); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if j.Queries() != 0 {
			t.Errorf("%d queries after a refused one", j.Queries())
		}
	}
}

// TestTakesAndRefuses: the parts of a block after errors are those of a block
// without them.
func TestTakesAndRefuses(t *testing.T) {
	var j, clean Judged
	grades := []float64{2, .3, -9000, 1, 1}
	for range 3 {
		if j.Append([]int32{1, 0, 9}, grades) == nil || j.Append([]int32{0}, []float64{7, 3, math.NaN()}) == nil {
			t.Fatal("a wrong query was taken")
		}
		if err := errors.Join(j.Append([]int32{1, -1, 3, 0}, grades), clean.Append([]int32{1, -1, 3, 0}, grades)); err != nil {
			t.Fatal(err)
		}
	}
	for m := range everyMeasure(2) {
		if got, want := scores(t, m, &j), scores(t, m, &clean); !slices.Equal(got, want) {
			t.Errorf("%s: %v after refused queries, %v without", m, got, want)
		}
	}
}

func TestPanics(t *testing.T) {
	two := block(t, query{"a", nil}, query{"a", nil})
	rr, _ := Parse("RR")
	for want, call := range map[string]func(){
		"metrics: 2 places for the scores of 0 queries": func() { rr.Score(make([]float64, 2), &Judged{}) },
		"metrics: 1 rows for the scores of 2 measures":  func() { NewScorer([]Measure{rr, rr}).Score(rows(1, 2), two) },
		"metrics: queries 1 to 3 of 2":                  func() { NewScorer([]Measure{rr}).ScoreRange(rows(1, 2), two, 1, 3) },
		"metrics: measure 1 is the zero Measure":        func() { NewScorer([]Measure{rr, {}}) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %v", got, want)
				}
			}()
			call()
		}()
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		measure string
		grade   float64
		want    string
	}{
		{"nDCG", MaxGrade, ""},
		{"nDCG", -MaxGrade, ""},
		{"nDCG", math.NaN(), "nDCG is defined for grades up to 1e+15, and a judgement has NaN"},
		{"nDCG(dcg='exp-log2')@10", 31, ""},
		{"nDCG(dcg='exp-log2')@10", 31.5, "nDCG(dcg='exp-log2')@10 is defined for grades up to 31, and a judgement has 31.5"},
		{"ERR@20", 4, ""},
		{"ERR@20", 5, "ERR@20 is defined for grades up to 4, and a judgement has 5"},
	} {
		m, err := Parse(c.measure)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := m.Check(c.grade); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, grade %v: %q, want %q", m, c.grade, got, c.want)
		}
		j := block(t, query{"a b", map[string]float64{"a": min(c.grade, MaxGrade), "b": 1}}.orOne())
		if v := scores(t, c.measure, j)[0]; !(v >= 0 && v <= 1) {
			t.Errorf("%s with grade %v is %v, outside [0, 1]", m, c.grade, v)
		}
	}
}

func (q query) orOne() query {
	for d, g := range q.grades {
		if g != g {
			q.grades[d] = 1
		}
	}
	return q
}

// TestAggregate: counts are added up, gm_map averages logarithms, so that a query
// without a hit pulls it down to trec_eval's 0.00001 and not to 0.
func TestAggregate(t *testing.T) {
	j := block(t,
		query{"a x", map[string]float64{"a": 1}},
		query{"x a y", map[string]float64{"a": 1, "b": 2}},
		query{"", map[string]float64{"a": 1}})
	for name, want := range map[string]float64{
		"NumQ": 3, "NumRet": 5, "NumRel": 4, "NumRelRet": 2, "NumRel(rel=2)": 1,
		"AP":     (1 + .25 + 0) / 3,
		"gm_map": math.Cbrt(1 * .25 * 1e-5),
	} {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Aggregate(scores(t, name, j)); math.Abs(got-want) > tolerance {
			t.Errorf("%s of the block is %v, want %v", name, got, want)
		}
		if counts := strings.HasPrefix(name, "Num"); m.Counts() != counts {
			t.Errorf("%s counts: %v", name, m.Counts())
		}
	}
}

// TestNegative: the two readings of a negative grade, on a ranking whose first
// document has one.
func TestNegative(t *testing.T) {
	j := block(t, query{"p a n b", map[string]float64{"p": -1, "a": 1, "n": 0, "b": 1, "m": -1}})
	for _, c := range []struct {
		measure          string
		judged, unjudged float64
	}{
		{"Bpref", .25, .5},
		{"Judged@4", 1, .75},
		{"unj@4", 0, .25},
		{"R@4", 1, 1},
		{"P@2", .5, .5},
		{"nDCG@10", .65093, .65093},
		{"infAP", .5, .6875},
	} {
		j.NegativeUnjudged = false
		if got := scores(t, c.measure, j)[0]; math.Abs(got-c.judged) > printed {
			t.Errorf("judged: %s is %.5f, want %v", c.measure, got, c.judged)
		}
		j.NegativeUnjudged = true
		if got := scores(t, c.measure, j)[0]; math.Abs(got-c.unjudged) > printed {
			t.Errorf("unjudged: %s is %.5f, want %v", c.measure, got, c.unjudged)
		}
	}
}

// TestPerfect: the best order of any grades scores exactly 1, not nearly.
func TestPerfect(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		var j Judged
		grades := make([]float64, 1+r.IntN(1500))
		ranked := make([]int32, len(grades))
		for i := range grades {
			grades[i], ranked[i] = float64(r.IntN(5))+float64(r.IntN(2))/3, int32(i)
		}
		slices.SortFunc(grades, func(a, b float64) int { return cmp.Compare(b, a) })
		if err := j.Append(ranked, grades); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"nDCG", "nDCG@7", "nDCG@1100", "nDCG(dcg='exp-log2')", "Bpref", "Rprec", "AP"} {
			if got := scores(t, name, &j)[0]; got != 1 && grades[0] >= 1 {
				t.Fatalf("%s of %d documents in the best order is %v, want 1", name, len(grades), got)
			}
		}
	}
}

// TestAllocations: nothing is allocated for a block like one before.
func TestAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	qs := randomQueries(r, 4, 200, 60)
	var measures []Measure
	for name := range everyMeasure(10) {
		m, _ := Parse(name)
		measures = append(measures, m)
	}
	s, dst := NewScorer(measures), rows(len(measures), len(qs))
	var j Judged
	var m Matcher
	docs, ranked, grades := []int32{3, 1, 4, 15}, make([]int32, 1000), []float64{1, 2.5, 0, -1}
	copy(ranked, []int32{9, 15, 2, 1})
	rank, which := make([]int32, 0, 1000), make([]int32, 0, 1000)
	if n := testing.AllocsPerRun(20, func() {
		j.Reset()
		for range len(qs) {
			m.Set(docs)
			rank, which = m.Match(rank[:0], which[:0], ranked)
			if err := j.AppendSparse(len(ranked), rank, which, grades); err != nil {
				t.Fatal(err)
			}
		}
		s.Score(dst, &j)
	}); n != 0 {
		t.Errorf("%v allocations for a block, want none", n)
	}
}

func TestMean(t *testing.T) {
	if got := Mean(nil); !math.IsNaN(got) {
		t.Errorf("mean of nothing is %v, want NaN", got)
	}
	if got := Mean([]float64{1e16, 1, -1e16, 1}); got != .5 {
		t.Errorf("compensated mean is %v, want 0.5", got)
	}
}

// TestReset: a block that was used before scores as a new one does.
func TestReset(t *testing.T) {
	j := block(t, query{"a b", map[string]float64{"a": 3, "b": 7, "c": 7}})
	j.Reset()
	if j.Queries() != 0 || len(scores(t, "RR", j)) != 0 {
		t.Fatalf("%d queries after Reset, want none", j.Queries())
	}
	if err := j.Append([]int32{1, 0}, []float64{7, 1}); err != nil {
		t.Fatal(err)
	}
	fresh := block(t, query{"b a", map[string]float64{"a": 7, "b": 1}})
	for m := range everyMeasure(2) {
		if got, want := scores(t, m, j), scores(t, m, fresh); !slices.Equal(got, want) {
			t.Errorf("%s: %v after Reset, %v in a new block", m, got, want)
		}
	}
}
