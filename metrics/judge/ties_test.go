package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/metrics/ranking"
)

// permutations calls yield with every order of the rows that differ only inside
// groups of equal scores.
func permutations(rows []entry, from int, yield func([]entry)) {
	if from == len(rows) {
		yield(rows)
		return
	}
	for i := from; i < len(rows) && rows[i].score == rows[from].score; i++ {
		rows[from], rows[i] = rows[i], rows[from]
		permutations(rows, from+1, yield)
		rows[from], rows[i] = rows[i], rows[from]
	}
}

const orderMeasures = "nDCG@3 nDCG@10 nDCG(dcg='exp-log2')@4 AP AP@3 R@2 R_cap@3 P@2 RR RR@3 Success@1 Success@3 Rprec Judged@3 unj@3 RBP RBP(p=0.5)@3 NumRelRet SetF R(rel=2)@3"

// rangeMeasures have extremes and no expected value.
const rangeMeasures = " Bpref infAP ERR ERR@3 IPrec@0.5 gm_map"

// The expected, lowest and highest values are the mean and the extremes over all
// orders, gone through one by one.
func TestOverTieOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for round := range 150 {
		q := new(Qrels)
		var rows []entry
		for d := range 7 {
			doc := fmt.Sprintf("d%d", d)
			rows = append(rows, entry{"q", doc, float64(-rng.IntN(3))})
			if rng.IntN(3) > 0 {
				if err := q.Add("q", doc, float64(rng.IntN(5)-1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := q.Add("q", "never", 2); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(rows, func(a, b entry) int { return int(b.score - a.score) })
		opt := Options{JudgedOnly: round%5 == 4}
		if round%7 == 6 && !opt.JudgedOnly {
			opt.Depth = 3
		}
		measures := parse(t, orderMeasures+rangeMeasures)
		sum, low, high := make([]float64, len(measures)), slices.Repeat([]float64{2e9}, len(measures)), slices.Repeat([]float64{-2e9}, len(measures))
		n := 0.
		permutations(slices.Clone(rows), 0, func(order []entry) {
			opt := opt
			opt.Ties = ranking.File
			r, err := judgeRows(t, q, order, orderMeasures+rangeMeasures, opt)
			if err != nil {
				t.Fatal(err)
			}
			n++
			for m := range measures {
				v := r.Values[m][0]
				sum[m], low[m], high[m] = sum[m]+v, min(low[m], v), max(high[m], v)
			}
		})
		opt.Range = true
		r, err := judgeRows(t, q, rows, orderMeasures+rangeMeasures, opt)
		if err != nil {
			t.Fatal(err)
		}
		for m := range measures {
			if r.Low[m][0] != low[m] || r.High[m][0] != high[m] {
				t.Errorf("round %d, %s: from %v to %v, want %v to %v", round, measures[m], r.Low[m][0], r.High[m][0], low[m], high[m])
			}
		}
		if opt.Depth > 0 {
			continue
		}
		opt.Range, opt.Ties = false, ranking.Average
		r, err = judgeRows(t, q, rows, orderMeasures, opt)
		if err != nil {
			t.Fatal(err)
		}
		for m := range r.Measures {
			if got, want := r.Values[m][0], sum[m]/n; math.Abs(got-want) > 1e-12 {
				t.Errorf("round %d, %s: expected %v, want %v", round, measures[m], got, want)
			}
		}
	}
}
