package metrics

import (
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

func TestParse(t *testing.T) {
	for _, s := range []string{"nDCG", "nDCG@10", "R@5", "P@1", "RR", "RR@10", "AP", "AP@100", "Success@5", "Judged@10", "P@2147483647"} {
		m, err := Parse(s)
		if err != nil || m.String() != s {
			t.Errorf("Parse(%q) gives %v, %v", s, m, err)
		}
	}
	const known = "known are nDCG, nDCG@k, R@k, P@k, RR, RR@k, AP, AP@k, Success@k, Judged@k"
	for s, want := range map[string]string{
		"":             `unknown measure "": ` + known,
		"ndcg@10":      `unknown measure "ndcg@10": ` + known,
		"NDCG_CUT_10":  `unknown measure "NDCG_CUT_10": ` + known,
		"P":            `measure "P" needs a cut-off, such as P@10`,
		"P@":           `measure "P@": the cut-off "" is not a whole number from 1 to 2147483647`,
		"P@0":          `measure "P@0": the cut-off "0" is not a whole number from 1 to 2147483647`,
		"P@-1":         `measure "P@-1": the cut-off "-1" is not a whole number from 1 to 2147483647`,
		"P@+1":         `measure "P@+1": the cut-off "+1" is not a whole number from 1 to 2147483647`,
		"P@05":         `measure "P@05": the cut-off "05" is not a whole number from 1 to 2147483647`,
		"P@2147483648": `measure "P@2147483648": the cut-off "2147483648" is not a whole number from 1 to 2147483647`,
		"nDCG@10@5":    `measure "nDCG@10@5": the cut-off "10@5" is not a whole number from 1 to 2147483647`,
	} {
		if m, err := Parse(s); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) gives %v and error\n%v, want\n%s", s, m, err, want)
		}
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

func TestScorePanicsOnAnotherLength(t *testing.T) {
	defer func() {
		if got, want := recover(), "metrics: 2 places for the scores of 0 queries"; got != want {
			t.Errorf("panic %v, want %v", got, want)
		}
	}()
	m, _ := Parse("RR")
	m.Score(make([]float64, 2), &Judged{})
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
	for _, m := range everyMeasure(2) {
		if got, want := scores(t, m, j), scores(t, m, fresh); !slices.Equal(got, want) {
			t.Errorf("%s: %v after Reset, %v in a new block", m, got, want)
		}
	}
}

// everyMeasure lists every form that Parse knows, at cut-off k.
func everyMeasure(k int) []string {
	names := Names()
	for i, n := range names {
		if base, ok := strings.CutSuffix(n, "@k"); ok {
			names[i] = fmt.Sprintf("%s@%d", base, k)
		}
	}
	return names
}

// FuzzPlain holds every measure to its definition, on blocks of random queries:
// graded, negative, fractional and unjudged documents, rankings shorter and
// longer than the cut-off and than the judgements, across the discount table's
// end.
func FuzzPlain(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint16(seed*7%40), uint16(1+seed%12), uint8(seed%5))
	}
	f.Add(uint64(99), uint16(1500), uint16(1100), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, documents, cut uint16, queries uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, k := int(documents%2048), 1+int(cut%2048)
		grades := []float64{-1, 0, 0, .2, 1, 1, 1.5, 2, 10}
		var qs []query
		for range queries % 8 {
			q := query{grades: map[string]float64{}}
			var ranked []string
			for _, d := range r.Perm(n) {
				name := fmt.Sprintf("d%d", d)
				if r.IntN(3) > 0 {
					q.grades[name] = grades[r.IntN(len(grades))]
				}
				if r.IntN(4) > 0 {
					ranked = append(ranked, name)
				}
			}
			q.ranked = strings.Join(ranked, " ")
			qs = append(qs, q)
		}
		j := block(t, qs...)
		for _, name := range everyMeasure(k) {
			got := scores(t, name, j)
			base, _, hasCut := strings.Cut(name, "@")
			at := 0
			if hasCut {
				at = k
			}
			for i, q := range qs {
				want := plain[base](strings.Fields(q.ranked), q.grades, at)
				if !(math.Abs(got[i]-want) <= tolerance) {
					t.Errorf("%d documents, query %d: %s is %v, want %v", n, i, name, got[i], want)
				}
				if !(got[i] >= 0 && got[i] <= 1) {
					t.Errorf("%d documents, query %d: %s is %v, outside [0, 1]", n, i, name, got[i])
				}
			}
		}
	})
}

func BenchmarkScore(b *testing.B) {
	const queries, depth = 500, 1000
	r := rand.New(rand.NewPCG(1, 2))
	var j Judged
	for range queries {
		grades := make([]float64, 100)
		for i := range grades {
			grades[i] = float64(r.IntN(4))
		}
		ranked := make([]int32, depth)
		for i, d := range r.Perm(depth) {
			ranked[i] = int32(d)
			if d >= len(grades) {
				ranked[i] = Unjudged
			}
		}
		if err := j.Append(ranked, grades); err != nil {
			b.Fatal(err)
		}
	}
	dst := make([]float64, queries)
	for _, name := range []string{"nDCG@10", "nDCG", "R@1000", "AP", "RR"} {
		m, err := Parse(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Score(dst, &j)
			}
			b.ReportMetric(float64(queries*b.N)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
