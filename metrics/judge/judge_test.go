package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"encbench/metrics"
	"encbench/metrics/ranking"
)

// entry is one row of a test run.
type entry struct {
	query, doc string
	score      float64
}

// list gives a query's rows with falling scores.
func list(query string, docs ...string) (rows []entry) {
	for i, d := range docs {
		rows = append(rows, entry{query, d, float64(len(docs) - i)})
	}
	return rows
}

// blocks makes blocks of at most so many queries each. Rows of a query stand
// together. With coded, documents are codes into a sorted dictionary.
func blocks(rows []entry, queries int, coded bool) (out []*ranking.Block) {
	var b *ranking.Block
	for i, r := range rows {
		if i == 0 || rows[i-1].query != r.query {
			if b == nil || b.Len() == queries {
				if b != nil {
					b.Off = append(b.Off, int32(len(b.Score)))
				}
				b = &ranking.Block{Seq: len(out)}
				out = append(out, b)
			}
			b.Queries.Append([]byte(r.query))
			b.Off = append(b.Off, int32(len(b.Score)))
		}
		b.Docs.Append([]byte(r.doc))
		b.Score = append(b.Score, r.score)
	}
	if b != nil {
		b.Off = append(b.Off, int32(len(b.Score)))
	}
	if coded {
		for _, b := range out {
			code(b)
		}
	}
	return out
}

// dictionary is a ranking.Dictionary of spelled identifiers.
type dictionary struct{ ids ranking.IDs }

func (d *dictionary) Len() int                   { return d.ids.Len() }
func (d *dictionary) Find(id []byte) (int, bool) { return search(&d.ids, id) }
func (d *dictionary) At(code int) []byte         { return d.ids.At(code) }

// code gives a block a sorted dictionary.
func code(b *ranking.Block) {
	var ids []string
	for i := range b.Docs.Len() {
		ids = append(ids, string(b.Docs.At(i)))
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	b.Docs = ranking.IDs{}
	for _, id := range sorted {
		b.Docs.Append([]byte(id))
	}
	for _, id := range ids {
		n, _ := slices.BinarySearch(sorted, id)
		b.Doc = append(b.Doc, int32(n))
	}
	b.Sorted = true
}

// source gives blocks to several goroutines.
type source struct {
	mu     sync.Mutex
	blocks []*ranking.Block
	err    error
}

func (s *source) Next(b *ranking.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.blocks) == 0 {
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
	*b = *s.blocks[0]
	s.blocks = s.blocks[1:]
	return nil
}

func parse(tb testing.TB, names string) []metrics.Measure {
	tb.Helper()
	list, err := metrics.ParseList(names)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// qrelsOf reads "query doc grade" lines.
func qrelsOf(tb testing.TB, text string) *Qrels {
	tb.Helper()
	q := new(Qrels)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		var query, doc string
		var grade float64
		if _, err := fmt.Sscan(line, &query, &doc, &grade); err != nil {
			tb.Fatal(err)
		}
		if err := q.Add(query, doc, grade); err != nil {
			tb.Fatal(err)
		}
	}
	return q
}

// judgeRows judges a run in one block.
func judgeRows(tb testing.TB, q *Qrels, rows []entry, names string, opt Options) (*Result, error) {
	tb.Helper()
	j, err := New(q, parse(tb, names), opt)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks(rows, 1000, false) {
		if err := j.Add(b); err != nil {
			return nil, err
		}
	}
	return j.Result()
}

// near compares with known answers.
func near(a, b float64) bool { return math.Abs(a-b) <= 5e-7 }

// Worked examples, derived by hand.
func TestKnownAnswers(t *testing.T) {
	q := qrelsOf(t, "q0 D0 0\nq0 D1 1\nq0 D2 1\nq0 D3 2\nq0 D4 0\nq1 D0 1\nq1 D3 2\nq1 D5 2")
	rows := append(list("q0", "D0", "D2", "D3", "D1", "D4"), list("q1", "D1", "D3", "D2", "D4")...)
	for _, c := range []struct {
		measure string
		values  [2]float64
	}{
		{"nDCG@20", [2]float64{.658465, .335435}}, {"nDCG(dcg='exp-log2')@20", [2]float64{.620104, .350985}},
		{"nDCG@2", [2]float64{.239812, .386853}}, {"nDCG(dcg='exp-log2')@2", [2]float64{.173765, .386853}},
		{"AP", [2]float64{.638888889, .166666667}}, {"RR", [2]float64{.5, .5}}, {"R@5", [2]float64{1, .333333333}},
	} {
		r, err := judgeRows(t, q, rows, c.measure, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !near(r.Values[0][0], c.values[0]) || !near(r.Values[0][1], c.values[1]) {
			t.Errorf("%s: %v, want %v", c.measure, r.Values[0], c.values)
		}
	}
	// ranx's example: its README prints AP@5 .6416.
	q = qrelsOf(t, "q_1 d_12 5\nq_1 d_25 3\nq_2 d_11 6\nq_2 d_22 1")
	rows = append(list("q_1", "d_12", "d_23", "d_25", "d_36", "d_32", "d_35"), list("q_2", "d_12", "d_11", "d_25", "d_36", "d_22", "d_35")...)
	r, err := judgeRows(t, q, rows, "nDCG@5 AP@5 RR", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range []float64{.786126, .641667, .75} {
		if !near(r.Mean[m], want) {
			t.Errorf("%s: %v, want %v", r.Measures[m], r.Mean[m], want)
		}
	}
}

// The in-house example: one query has two relevant documents at ranks 1 and 2, one
// its only one at rank 2, one at rank 3.
func TestInHouseExample(t *testing.T) {
	q := qrelsOf(t, "q1 a 1\nq1 b 1\nq2 b 1\nq3 c 1")
	rows := slices.Concat(list("q1", "a", "b", "c"), list("q2", "a", "b", "c"), list("q3", "a", "b", "c"))
	r, err := judgeRows(t, q, rows, "R@1 R@5 RR Success@1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range []float64{1. / 6, 1, 11. / 18, 1. / 3} {
		if !near(r.Mean[m], want) {
			t.Errorf("%s: %v, want %v", r.Measures[m], r.Mean[m], want)
		}
	}
}

// plain judges one query as slowly and plainly as possible.
func plain(t *testing.T, q *Qrels, rows []entry, names string, opt Options) map[string][]float64 {
	t.Helper()
	byQuery := map[string][]entry{}
	for _, r := range rows {
		if opt.dropSelf() && r.query == r.doc {
			continue
		}
		if opt.KeepFirst && slices.ContainsFunc(byQuery[r.query], func(e entry) bool { return e.doc == r.doc }) {
			continue
		}
		byQuery[r.query] = append(byQuery[r.query], r)
	}
	out := map[string][]float64{}
	for i := range q.Len() {
		ranked := byQuery[q.Query(i)]
		slices.SortStableFunc(ranked, func(a, b entry) int {
			sa, sb := a.score, b.score
			if opt.Float32 {
				sa, sb = float64(float32(sa)), float64(float32(sb))
			}
			switch {
			case sa != sb && sa > sb:
				return -1
			case sa != sb:
				return 1
			case opt.Ties == ranking.File:
				return 0
			case opt.Ties == ranking.Ascending:
				return strings.Compare(a.doc, b.doc)
			}
			return strings.Compare(b.doc, a.doc)
		})
		docs, grades := q.Judged(i)
		if opt.Depth > 0 {
			ranked = ranked[:min(len(ranked), opt.Depth)]
		}
		var codes []int32
		for _, e := range ranked {
			d := slices.Index(docs, e.doc)
			if opt.JudgedOnly && d < 0 {
				continue
			}
			codes = append(codes, int32(d))
		}
		var j metrics.Judged
		j.NegativeUnjudged = opt.Convention == TrecEval
		if err := j.Append(codes, grades); err != nil {
			t.Fatal(err)
		}
		for _, m := range parse(t, names) {
			v := make([]float64, 1)
			m.Score(v, &j)
			out[q.Query(i)] = append(out[q.Query(i)], v[0])
		}
	}
	return out
}

// random makes judgements and a run that fit in part: ties, near ties, queries on
// one side only, repeated documents where asked.
func random(rng *rand.Rand, duplicates bool) (*Qrels, []entry) {
	q := new(Qrels)
	var rows []entry
	id := func(n int) string { return []string{"d", "10", "9#", "é", "\xff"}[n%5] + fmt.Sprint(n) }
	for query := range 30 {
		name := fmt.Sprintf("q%d", query)
		if query == 7 {
			name = id(3) // a document's id
		}
		if query%9 != 4 {
			for range 1 + rng.IntN(40) {
				grade := float64(rng.IntN(6) - 2)
				if rng.IntN(9) == 0 {
					grade = 0.5
				}
				_ = q.Add(name, id(rng.IntN(60)), grade) // contradictions are refused
			}
		}
		if query%9 == 5 {
			continue
		}
		docs := rng.Perm(60)[:rng.IntN(60)]
		for i, d := range docs {
			score := float64(rng.IntN(8))
			switch query % 3 {
			case 0:
				score = -float64(i)
			case 1:
				score = float64(60-i) + 1e-9*rng.Float64()
			}
			rows = append(rows, entry{name, id(d), score})
			if duplicates && rng.IntN(6) == 0 {
				rows = append(rows, entry{name, id(docs[rng.IntN(i+1)]), score})
			}
		}
	}
	return q, rows
}

const twinMeasures = "nDCG@10 nDCG AP R@5 P@10 RR Rprec Bpref infAP Judged@10 SetP NumRet"

// The judge agrees to the bit with plain loops under every option, in every size of
// block, with text, coded and unspelled documents, on any number of goroutines.
func TestJudgeAgainstPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for round := range 60 {
		opt := Options{
			Complete: Yes, Ties: ranking.Ties(rng.IntN(3)), Float32: rng.IntN(2) == 0, KeepFirst: rng.IntN(2) == 0,
			JudgedOnly: rng.IntN(4) == 0, Convention: []Convention{IRMeasures, BEIR, MTEB}[rng.IntN(3)], Range: rng.IntN(3) == 0,
		}
		if rng.IntN(4) == 0 {
			opt.Depth = 1 + rng.IntN(20)
			opt.Range = opt.Range && !opt.JudgedOnly
		}
		q, rows := random(rng, opt.KeepFirst)
		want := plain(t, q, rows, twinMeasures, opt)
		var first *Result
		for variant := range 6 {
			j, err := New(q, parse(t, twinMeasures), opt)
			if err != nil {
				t.Fatal(err)
			}
			all := blocks(rows, 1+rng.IntN(40), variant%2 == 1)
			if variant == 5 {
				for _, b := range all {
					b.Docs, b.Dictionary = ranking.IDs{}, &dictionary{b.Docs}
				}
			}
			if variant >= 4 {
				rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
			}
			if err := j.Run(t.Context(), &source{blocks: all}, 1+variant); err != nil {
				t.Fatal(err)
			}
			r, err := j.Result()
			if err != nil {
				t.Fatal(err)
			}
			for i, query := range r.Queries {
				for m := range r.Measures {
					if got := r.Values[m][i]; got != want[query][m] {
						t.Fatalf("round %d, variant %d, %+v: query %s, %s: %v, want %v", round, variant, opt, query, r.Measures[m], got, want[query][m])
					}
				}
			}
			if len(r.Queries) != q.Len() || !slices.IsSorted(r.Queries) {
				t.Fatalf("queries %v", r.Queries)
			}
			if first == nil {
				first = r
			}
			if !slices.Equal(r.Mean, first.Mean) || !slices.Equal(r.Missing, first.Missing) || !slices.Equal(r.Extra, first.Extra) || !slices.Equal(r.LowMean, first.LowMean) || !slices.Equal(r.HighMean, first.HighMean) {
				t.Fatalf("round %d, variant %d differs from the first", round, variant)
			}
			a, b := r.Counts, first.Counts
			if !slices.Equal(a.TiesAtCut, b.TiesAtCut) {
				t.Fatalf("ties %v, %v", a.TiesAtCut, b.TiesAtCut)
			}
			a.TiesAtCut, b.TiesAtCut = nil, nil
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("counts %+v, %+v", a, b)
			}
		}
	}
}

func TestConventions(t *testing.T) {
	// q1 found, q2 missing, q3 without a relevant document; x is not judged. q1 finds itself.
	q := qrelsOf(t, "q1 a 1\nq1 b 1\nq2 a 1\nq3 a 0\nq3 b -1")
	rows := slices.Concat(list("x", "a"), list("q1", "q1", "a"), list("q3", "a", "b"))
	for _, c := range []struct {
		opt     Options
		queries string
		rr      float64
		self    int
	}{
		{Options{}, "q1 q2 q3", .5 / 3, 0},
		{Options{Convention: TrecEval}, "q1 q3", .25, 0},
		{Options{Convention: TrecEval, Complete: Yes}, "q1 q2 q3", .5 / 3, 0},
		{Options{Convention: MTEB}, "q1 q3", .25, 0},
		{Options{Convention: MTEB, DropSelf: Yes}, "q1 q3", .5, 1},
		{Options{Convention: BEIR}, "q1 q3", .5, 1},
		{Options{Convention: BEIR, DropSelf: No}, "q1 q3", .25, 0},
		{Options{ExcludeWithoutRelevant: true}, "q1 q2", .25, 0},
		{Options{Complete: No, ExcludeWithoutRelevant: true}, "q1", .5, 0},
	} {
		r, err := judgeRows(t, q, rows, "RR", c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Queries, " "); got != c.queries || !near(r.Mean[0], c.rr) {
			t.Errorf("%+v: queries %s, RR %v, want %s, %v", c.opt, got, r.Mean[0], c.queries, c.rr)
		}
		n := &r.Counts
		if n.Judged != 3 || n.Missing != 1 || n.Extra != 1 || n.WithoutRelevant != 1 || n.SelfHits != c.self || n.Averaged != len(r.Queries) || n.Rows != 5 {
			t.Errorf("%+v: counts %+v", c.opt, n)
		}
		if fmt.Sprint(r.Missing, r.Extra) != "[q2] [x]" {
			t.Errorf("missing %v, extra %v", r.Missing, r.Extra)
		}
	}
}

// A document goes by its id and not by its place: at a tie for rank 1 the right one
// is dropped.
func TestSelfMatchAtATie(t *testing.T) {
	q := qrelsOf(t, "q b 1")
	r, err := judgeRows(t, q, []entry{{"q", "b", 1}, {"q", "q", 1}, {"q", "a", 1}}, "RR", Options{DropSelf: Yes})
	if err != nil || r.Mean[0] != 1 {
		t.Errorf("RR %v, %v", r.Mean, err)
	}
	// Toy ids: a document with the query's id is an answer like any other.
	r, err = judgeRows(t, qrelsOf(t, "1 1 1"), list("1", "1"), "RR", Options{})
	if err != nil || r.Mean[0] != 1 || r.Counts.SelfHits != 0 {
		t.Errorf("RR %v, %v", r.Mean, err)
	}
}

// Equal scores: the rule decides, whatever the documents are called or where their
// lines stand; labels never do.
func TestTies(t *testing.T) {
	q := qrelsOf(t, "q b 1")
	rows := []entry{{"q", "a", 2.921875}, {"q", "b", 2.921875}}
	for _, c := range []struct {
		ties ranking.Ties
		want float64
	}{{ranking.Descending, 1}, {ranking.Ascending, 0.630929754}, {ranking.File, 0.630929754}, {ranking.Average, (1 + 0.630929754) / 2}} {
		for _, reversed := range []bool{false, true} {
			if reversed && c.ties == ranking.File {
				c.want = 1
			}
			r, err := judgeRows(t, q, rows, "nDCG@10 nDCG@1", Options{Ties: c.ties, Range: true})
			if err != nil {
				t.Fatal(err)
			}
			if !near(r.Mean[0], c.want) || !near(r.LowMean[0], 0.630929754) || r.HighMean[0] != 1 {
				t.Errorf("%v: %v from %v to %v, want %v", c.ties, r.Mean, r.LowMean, r.HighMean, c.want)
			}
			if got := fmt.Sprint(r.Counts.TiesAtCut); got != "[{1 1} {10 0}]" {
				t.Errorf("%v: ties at %s", c.ties, got)
			}
			slices.Reverse(rows)
		}
	}
	// Ids are bytes: "9#1" stands before "10" in descending order.
	r, err := judgeRows(t, qrelsOf(t, "q 9#1 1"), []entry{{"q", "10", 1}, {"q", "9#1", 1}}, "RR", Options{})
	if err != nil || r.Mean[0] != 1 {
		t.Errorf("RR %v, %v", r.Mean, err)
	}
	// Scores that differ below float32.
	close := []entry{{"q", "a", 1 + 1e-9}, {"q", "b", 1}}
	for float32, want := range map[bool]float64{false: .5, true: 1} {
		r, err := judgeRows(t, q, close, "RR", Options{Float32: float32})
		if err != nil || r.Mean[0] != want {
			t.Errorf("float32 %v: RR %v, want %v, %v", float32, r.Mean, want, err)
		}
	}
	// A tie and one relevant document: AP and RR come from one ranking.
	r, err = judgeRows(t, q, []entry{{"q", "c", 1}, {"q", "b", 1}, {"q", "a", 1}}, "AP RR", Options{})
	if err != nil || r.Mean[0] != r.Mean[1] {
		t.Errorf("AP and RR %v, %v", r.Mean, err)
	}
}

func TestByRank(t *testing.T) {
	q := qrelsOf(t, "q b 1")
	b := blocks([]entry{{"q", "a", 9}, {"q", "b", 1}, {"q", "c", 5}}, 1, false)[0]
	b.Rank = []int32{3, 1, 2}
	for ties, want := range map[ranking.Ties]float64{ranking.ByRank: 1, ranking.Descending: 1. / 3} {
		j, err := New(q, parse(t, "RR"), Options{Ties: ties})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Add(b); err != nil {
			t.Fatal(err)
		}
		r, err := j.Result()
		if err != nil || r.Mean[0] != want {
			t.Errorf("%v: RR %v, want %v, %v", ties, r.Mean, want, err)
		}
		if wrong := r.Counts.RankContradictions == 1; wrong != (ties == ranking.Descending) {
			t.Errorf("%v: %d contradictions", ties, r.Counts.RankContradictions)
		}
	}
}

// Every fault names query, document and places.
func TestBadRuns(t *testing.T) {
	q := qrelsOf(t, "q a 1\nr a 1")
	place := func(row int) string { return fmt.Sprintf("run.txt:%d", row+1) }
	nan := math.NaN()
	for name, c := range map[string]struct {
		rows  []entry
		place bool
		opt   Options
		want  string
	}{
		"duplicate":          {[]entry{{"q", "a", 3}, {"q", "b", 2}, {"q", "a", 1}}, true, Options{}, `query "q", document "a": ranked twice, run.txt:1 and run.txt:3; a document may stand in a ranking once`},
		"duplicate, nowhere": {[]entry{{"r", "x", 1}, {"q", "a", 3}, {"q", "a", 1}}, false, Options{}, `query "q", document "a": ranked twice, rows 1 and 2 of the query; a document may stand in a ranking once`},
		"NaN":                {[]entry{{"q", "a", nan}}, true, Options{Infinite: true}, `run.txt:1: query "q", document "a": score NaN: must be a number`},
		"infinite":           {[]entry{{"q", "a", math.Inf(-1)}}, false, Options{}, `query "q", document "a": score -Inf: must be a number`},
		"query twice":        {slices.Concat(list("q", "a"), list("r", "a"), list("q", "b")), true, Options{}, `query "q": its ranking was added before; the rows of a query have to stand together`},
		"unjudged twice":     {slices.Concat(list("x", "a"), list("r", "a"), list("x", "b")), true, Options{}, `query "x": its ranking was added before; the rows of a query have to stand together`},
		"no rank":            {list("q", "a"), false, Options{Ties: ranking.ByRank}, `query "q": ties by rank, but the run has no rank column`},
		"no overlap":         {slices.Concat(list("1", "a"), list("2", "a"), list("3", "a"), list("4", "a")), false, Options{}, `judge a run: none of its queries is judged: the run has "1", "2", "3", … (4), the judgements have "q", "r"; compare the two id columns`},
		"nothing":            {nil, false, Options{}, `judge a run: it has no queries`},
	} {
		for _, coded := range []bool{false, true} {
			j, err := New(q, parse(t, "RR"), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks(c.rows, 100, coded) {
				if c.place {
					b.Place = place
				}
				err = errors.Join(err, j.Add(b))
			}
			if err == nil {
				_, err = j.Result()
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
			}
		}
	}
	if _, err := judgeRows(t, qrelsOf(t, "q a 0\nr a 1"), list("q", "a"), "RR", Options{Complete: No, ExcludeWithoutRelevant: true}); err == nil || err.Error() != "judge a run: no query is left to average: none of the 1 in both run and judgements has a relevant document" {
		t.Errorf("error %v", err)
	}
}

// trec_eval 9.0.4 prints these with -J, and with -J -M 3: the depth cuts first, and
// a negative grade is no judgement. Elsewhere it is one.
func TestJudgedOnly(t *testing.T) {
	q := qrelsOf(t, "q a -1\nq b 0\nq c 1\nq d 2")
	rows := list("q", "x", "a", "c", "b", "d")
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Convention: TrecEval}, "[3 0.8333 1.0000 2]"},
		{Options{Convention: TrecEval, Depth: 3}, "[1 0.5000 1.0000 1]"},
		{Options{}, "[4 0.5000 0.5000 2]"},
		{Options{Depth: 3}, "[2 0.2500 0.5000 1]"},
		{Options{Depth: 1}, "[0 0.0000 0.0000 0]"},
	} {
		c.opt.JudgedOnly = true
		r, err := judgeRows(t, q, rows, "NumRet AP RR NumRelRet", c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("[%.0f %.4f %.4f %.0f]", r.Mean[0], r.Mean[1], r.Mean[2], r.Mean[3]); got != c.want {
			t.Errorf("%+v: %s, want %s", c.opt, got, c.want)
		}
	}
}

// A tie counts where the measure's ranking is cut: behind the documents that were
// taken out, and at the depth where that is less.
func TestTiesAtTheCutThatCounts(t *testing.T) {
	q := qrelsOf(t, "q a 1\nq b 1\nq c 1")
	rows := []entry{{"q", "x", 9}, {"q", "a", 5}, {"q", "y", 5}, {"q", "b", 4}, {"q", "c", 4}}
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "[{2 1} {3 0} {4 1}]"},
		{Options{JudgedOnly: true}, "[{2 1} {3 0} {4 0}]"},
		{Options{Depth: 2}, "[{2 1} {3 1} {4 1}]"},
		{Options{Depth: 3}, "[{2 1} {3 0} {4 0}]"},
		{Options{Depth: 2, JudgedOnly: true}, "[{2 0} {3 0} {4 0}]"},
	} {
		r, err := judgeRows(t, q, rows, "P@2 P@3 P@4", c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Counts.TiesAtCut); got != c.want {
			t.Errorf("%+v: %s, want %s", c.opt, got, c.want)
		}
	}
}

func TestBadJudging(t *testing.T) {
	for name, c := range map[string]struct {
		qrels    *Qrels
		measures string
		opt      Options
		want     string
	}{
		"nothing":   {new(Qrels), "RR", Options{}, `judge a run: there are no judgements`},
		"fractions": {qrelsOf(t, "q a 1.5"), "RR", Options{Convention: TrecEval}, `query "q", document "a": grade 1.5 is not a whole number, which the trec_eval convention needs; judge by another convention`},
		"ERR":       {qrelsOf(t, "q a 1\nq b 7"), "RR ERR", Options{}, `query "q", document "b": ERR is defined for grades up to 4, and a judgement has 7`},
		"average":   {qrelsOf(t, "q a 1"), "RR Bpref", Options{Ties: ranking.Average}, `Bpref has no expected value over tie orders here; choose another tie rule, or leave it out`},
		"gains":     {qrelsOf(t, "q a 1"), "nDCG(gains={1:3,2:1})", Options{Range: true}, `nDCG(gains={1:3,2:1}) has no known range over tie orders: its gains need not follow the grades`},
		"depth":     {qrelsOf(t, "q a 1"), "RR", Options{Ties: ranking.Average, Depth: 5}, `average over tie orders: rankings cut after 5 documents have no expected value here; use cut-offs of the measures`},
		"range":     {qrelsOf(t, "q a 1"), "RR", Options{Range: true, Depth: 5, JudgedOnly: true}, `range over tie orders: which judged documents stand within a depth of 5 depends on the order; leave out the depth or the removal of unjudged documents`},
	} {
		if _, err := New(c.qrels, parse(t, c.measures), c.opt); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// The error is that of the earliest block, however many goroutines read.
func TestRunStops(t *testing.T) {
	q := qrelsOf(t, "q0 a 1")
	var rows []entry
	for i := range 200 {
		rows = append(rows, list(fmt.Sprintf("q%d", i), "a")...)
	}
	broken := errors.New("broken")
	for workers := range 4 {
		j, err := New(q, parse(t, "RR"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Run(t.Context(), &source{blocks: blocks(rows, 3, false), err: broken}, workers); !errors.Is(err, broken) {
			t.Errorf("%d goroutines: %v", workers, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j, err := New(q, parse(t, "RR"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Run(ctx, &source{blocks: blocks(rows, 3, false)}, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The marks of document codes begin again before they overflow.
func TestCodeMarksWrap(t *testing.T) {
	q := qrelsOf(t, "q0 a 1\nq1 a 1\nq2 a 1")
	rows := slices.Concat(list("q0", "a", "b"), list("q1", "b", "a"), list("q2", "b", "c"))
	for left := range uint32(8) {
		j, err := New(q, parse(t, "RR"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := j.worker()
		w.next = math.MaxUint32 - left
		j.idle = append(j.idle, w)
		for _, b := range blocks(rows, 1, true) {
			if err := j.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		r, err := j.Result()
		if err != nil || !slices.Equal(r.Values[0], []float64{1, .5, 0}) {
			t.Errorf("%d left: %v, %v", left, r.Values, err)
		}
	}
}

// Asking twice gives the same, and so does judging again by the same judgements.
func TestNoHiddenState(t *testing.T) {
	q, rows := random(rand.New(rand.NewPCG(41, 42)), false)
	var want string
	for range 2 {
		j, err := New(q, parse(t, twinMeasures), Options{Range: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Run(t.Context(), &source{blocks: blocks(rows, 7, false)}, 2); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := j.Result()
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(r.Values, r.Mean, r.Low, r.High, r.Queries, r.Missing, r.Counts)
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "ir_measures: mean over every judged query, a missing one counts 0"},
		{Options{Convention: TrecEval, Float32: true, Ties: ranking.File}, "trec_eval: mean over the queries that are in both run and judgements; ties file; scores compared as float32"},
		{Options{Convention: BEIR, Depth: 10, JudgedOnly: true, ExcludeWithoutRelevant: true}, "beir: mean over the queries that are in both run and judgements, those without a relevant document left out; documents with the query's id dropped; rankings cut after 10 documents; documents without a judgement dropped"},
	} {
		if got := c.opt.Describe(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for _, name := range Conventions() {
		if c, err := ParseConvention(name); err != nil || c.String() != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if _, err := ParseConvention("ranx"); err == nil || err.Error() != `unknown convention "ranx": ir_measures, trec_eval, mteb, beir` {
		t.Errorf("error %v", err)
	}
}
