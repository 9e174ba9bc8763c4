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

// everyMeasure lists every measure at two cut-offs, and with its parameters, each
// beside what the plain definition is to be given.
func everyMeasure(k int) map[string]plainQuery {
	all := map[string]plainQuery{}
	for _, n := range Names() {
		if base, ok := strings.CutSuffix(n, "@k"); ok {
			all[fmt.Sprintf("%s@%d", base, k)] = plainQuery{cut: k}
			all[fmt.Sprintf("%s@%d", base, k+3)] = plainQuery{cut: k + 3}
		} else if !strings.HasSuffix(n, "@r") {
			all[n] = plainQuery{}
		}
	}
	for name, q := range all {
		switch {
		case strings.HasPrefix(name, "RBP"):
			q.param = .8
		case name == "SetF":
			q.param = 1
		}
		q.level = 1
		all[name] = q
	}
	for i := range 11 {
		r := float64(i) / 10
		all[fmt.Sprintf("IPrec@%.1f", r)] = plainQuery{level: 1, param: r}
	}
	for _, n := range []string{"AP", "Rprec", "Bpref", "infAP", "gm_map", "SetP", "SetR", "NumRel", "NumRelRet", "RR"} {
		all[n+"(rel=2)"] = plainQuery{level: 2}
	}
	all["RBP(p=0.5,rel=2)"] = plainQuery{level: 2, param: .5}
	all["SetF(beta=0.25,rel=2)"] = plainQuery{level: 2, param: .25}
	all["Bpref(rel=0.2)"] = plainQuery{level: .2}
	all[fmt.Sprintf("R(rel=1.5)@%d", k)] = plainQuery{level: 1.5, cut: k}
	all["nDCG(dcg='exp-log2')"] = plainQuery{exp: true}
	all[fmt.Sprintf("nDCG(dcg='exp-log2')@%d", k)] = plainQuery{exp: true, cut: k}
	all["nDCG(gains={-1:4,1:3,2:0,10:1})"] = plainQuery{gains: map[float64]float64{-1: 4, 1: 3, 2: 0, 10: 1}}
	all[fmt.Sprintf("nDCG(gains={0:1,0.2:3})@%d", k)] = plainQuery{gains: map[float64]float64{0: 1, .2: 3}, cut: k}
	return all
}

// randomQueries makes queries that hold what separates tools: graded, negative,
// fractional and unjudged documents, rankings shorter and longer than the
// cut-offs and than the judgements. scale sets the grades: 0 all kinds, 1 binary,
// otherwise so many different fractions.
func randomQueries(r *rand.Rand, queries, n, scale int) []query {
	grades := []float64{-1, 0, 0, .2, 1, 1, 1.5, 2, 10}
	switch {
	case scale == 1:
		grades = []float64{0, 1}
	case scale > 1:
		grades = nil
		for range scale {
			grades = append(grades, math.Round(4096*(r.Float64()*6-1))/4096)
		}
	}
	var qs []query
	for range queries {
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
	return qs
}

// FuzzPlain holds every measure to its definition, alone and in one pass with all
// others, across the end of the discount table, and checks that cutting the block
// into ranges changes no bit.
func FuzzPlain(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint16(seed*7%40), uint16(1+seed%12), uint8(seed%5), uint8(seed%3))
	}
	f.Add(uint64(99), uint16(1500), uint16(1020), uint8(3), uint8(1))
	f.Add(uint64(98), uint16(1400), uint16(1000), uint8(1), uint8(0))
	f.Add(uint64(97), uint16(200), uint16(30), uint8(3), uint8(90))
	f.Fuzz(func(t *testing.T, seed uint64, documents, cut uint16, queries, scale uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, k := int(documents%2048), 1+int(cut%2048)
		qs := randomQueries(r, int(queries%8), n, int(scale))
		j := block(t, qs...)
		j.NegativeUnjudged = seed%2 == 1

		defined := everyMeasure(k)
		var measures []Measure
		for _, name := range slices.Sorted(maps.Keys(defined)) {
			m, err := Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			measures = append(measures, m)
		}
		together, inParts := rows(len(measures), len(qs)), rows(len(measures), len(qs))
		s := NewScorer(measures)
		s.Score(together, j)
		for from := 0; from < len(qs); {
			to := from + 1 + r.IntN(len(qs)-from)
			s.ScoreRange(inParts, j, from, to)
			from = to
		}
		for i, m := range measures {
			alone := scores(t, m.String(), j)
			want := defined[m.String()]
			want.unjudged = j.NegativeUnjudged
			base, _, _ := strings.Cut(m.String(), "@")
			base, _, _ = strings.Cut(base, "(")
			for q := range qs {
				want.ranked, want.grades = strings.Fields(qs[q].ranked), qs[q].grades
				w, got := plain[base](want), together[i][q]
				if !(math.Abs(got-w) <= tolerance*max(1, math.Abs(w))) {
					t.Errorf("%d documents, query %d: %s is %v, want %v", n, q, m, got, w)
				}
				if got != alone[q] || got != inParts[i][q] {
					t.Errorf("%d documents, query %d: %s is %v with the others, %v alone, %v in parts", n, q, m, got, alone[q], inParts[i][q])
				}
				if !m.Counts() && m.kind != gmMap && !(got >= 0 && got <= 1) {
					t.Errorf("%d documents, query %d: %s is %v, outside [0, 1]", n, q, m, got)
				}
			}
		}
	})
}

func rows(n, queries int) [][]float64 {
	dst := make([][]float64, n)
	for i := range dst {
		dst[i] = make([]float64, queries)
	}
	return dst
}

// FuzzParse: what Parse accepts, String prints canonically, and no input breaks it.
func FuzzParse(f *testing.F) {
	for name := range everyMeasure(10) {
		f.Add(name)
	}
	for _, s := range []string{"ndcg_cut.10", "recall@5-l2", "rbp.95", "set_F_2.0", "x(", "nDCG(gains={1:3,2:9", "P@@1", ")(", "nDCG(dcg='a)@3", "R(rel=1e400)@1", "ndgc@10 P"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := Parse(s); err == nil {
			again, err := Parse(m.String())
			if err != nil || again != m {
				t.Errorf("%q is %#v, printed %q, read back as %#v, %v", s, m, m, again, err)
			}
			if list, err := ParseList(m.String()); err != nil || len(list) != 1 || list[0] != m {
				t.Errorf("%q in a list is %v, %v", m, list, err)
			}
		}
		if list, err := ParseList(s); err == nil && len(list) == 0 {
			t.Errorf("ParseList(%q) gives neither measures nor an error", s)
		}
	})
}
