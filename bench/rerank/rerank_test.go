package rerank

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
)

// plainList is the definition of a new ranking: each pair by itself.
func plainList(s Setup, sm *sample, query string) []scored {
	cut := s.cut()
	list := sm.run[query]
	n := min(s.Top, len(list))
	type candidate struct {
		scored
		logit float32
		known bool
		place int
	}
	var all []candidate
	for i, d := range list {
		c := candidate{scored: d, place: i}
		if text, ok := sm.docs[d.doc]; ok && i < n {
			ids, types := twin(cut, (&words{}).AppendIDs(nil, []byte(sm.queries[query])), (&words{}).AppendIDs(nil, []byte(text)))
			if s.Types == 1 {
				types = nil
			}
			c.logit, c.known = logit(ids, types), true
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all[:n], func(a, b candidate) int {
		switch {
		case a.known != b.known && a.known:
			return -1
		case a.known != b.known:
			return 1
		case !a.known:
			return cmp.Compare(a.place, b.place)
		}
		return cmp.Compare(b.logit, a.logit)
	})
	out := make([]scored, len(all))
	last := math.Inf(1)
	for i, c := range all {
		score := float64(c.logit)
		if !c.known {
			score = last // compared by order alone
		}
		out[i] = scored{c.doc, score}
		last = score
	}
	return out
}

// Whatever the batch, the number of workers, the amount of text at a time and the
// model's token types, the new rankings are those of the pairs scored one by one.
func TestRerankIsItsDefinition(t *testing.T) {
	for seed := range uint64(6) {
		sm := newSample(t, seed, 40, 25, 20)
		s := setup(t, sm.input(t, false))
		s.Top, s.Batch, s.Workers = 1+int(seed)*5, 1+int(seed*seed), 1+int(seed%3)
		if seed == 5 {
			s.Types = 1
		}
		r, runs := rerank(t, s)
		if !runs[0].closed || len(runs[0].lists) != 25 || r.Status != bench.StatusComplete {
			t.Fatalf("seed %d: %d lists, closed %v, status %s", seed, len(runs[0].lists), runs[0].closed, r.Status)
		}
		for _, q := range sm.order {
			got, want := runs[0].lists[q], plainList(s, sm, q)
			if len(got) != len(want) {
				t.Fatalf("seed %d, %s: %d documents, want %d", seed, q, len(got), len(want))
			}
			for i := range got {
				if got[i].doc != want[i].doc || i < min(s.Top, len(got)) && math.Abs(got[i].score-want[i].score) > 1e-9 {
					t.Fatalf("seed %d, %s, rank %d: %v, want %v", seed, q, i+1, got, want)
				}
				if i > 0 && !(got[i].score < got[i-1].score) {
					t.Fatalf("seed %d, %s: scores do not fall at rank %d: %v", seed, q, i+1, got)
				}
			}
		}
		checkLedger(t, s, sm, &r.Collections[0])
		checkValues(t, s, sm, runs[0], &r.Collections[0])
	}
}

// checkLedger counts again what became of the pairs.
func checkLedger(t *testing.T, s Setup, sm *sample, c *Collection) {
	t.Helper()
	var want Ledger
	docs, cut, empty := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, q := range sm.order {
		query := (&words{}).AppendIDs(nil, []byte(sm.queries[q]))
		want.QueriesReranked++
		if n := len(query) - s.QueryTokens; n > 0 {
			want.QueriesCut++
			want.QueryDropped += int64(n)
			query = query[:s.QueryTokens]
		}
		if len(sm.run[q]) < s.Top {
			want.QueriesShort++
		}
		for _, d := range sm.run[q][:min(s.Top, len(sm.run[q]))] {
			doc := (&words{}).AppendIDs(nil, []byte(sm.docs[d.doc]))
			docs[d.doc] = true
			want.Pairs++
			room := s.MaxTokens - 3 - len(query)
			if n := len(doc) - room; n > 0 {
				want.PairsCut++
				want.Dropped += int64(n)
				cut[d.doc] = true
				doc = doc[:room]
			}
			if len(doc) == 0 {
				want.PairsEmpty++
				empty[d.doc] = true
			}
			want.SpecialTokens += 3
			want.QueryTokens += int64(len(query))
			want.DocumentTokens += int64(len(doc))
			want.Longest = max(want.Longest, int64(3+len(query)+len(doc)))
		}
	}
	want.Documents, want.DocumentsCut, want.DocumentsEmpty = int64(len(docs)), int64(len(cut)), int64(len(empty))
	want.Tokens = want.SpecialTokens + want.QueryTokens + want.DocumentTokens
	want.PaddedTokens, want.QueriesTied = want.Tokens, c.Ledger.QueriesTied
	got, err := json.Marshal(c.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(want); string(text) != string(got) {
		t.Errorf("ledger\n%s, want\n%s", got, text)
	}
	var pairs, tokens int64
	for _, w := range c.Windows {
		pairs, tokens = pairs+w.Pairs, tokens+w.Tokens
	}
	if pairs != want.Pairs || tokens != want.Tokens || c.Pairs.PerS <= 0 || c.Tokens.PerS <= 0 {
		t.Errorf("windows of %d pairs and %d tokens, want %d and %d; rates %+v %+v", pairs, tokens, want.Pairs, want.Tokens, c.Pairs, c.Tokens)
	}
}

// checkValues judges both rankings again.
func checkValues(t *testing.T, s Setup, sm *sample, run *kept, c *Collection) {
	t.Helper()
	for side, lists := range []map[string][]scored{sm.run, run.lists} {
		j, err := judge.New(sm.collection(t).Qrels, s.Measures, judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for q, list := range lists {
			b := &ranking.Block{Off: []int32{0, int32(len(list))}}
			b.Queries.Append([]byte(q))
			for _, d := range list {
				b.Docs.Append([]byte(d.doc))
				b.Score = append(b.Score, d.score)
			}
			if err := j.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		res, err := j.Result()
		if err != nil {
			t.Fatal(err)
		}
		values := [][]eval.Value{c.Before, c.After}[side]
		for m := range s.Measures {
			if v := values[m]; v.Mean != res.Mean[m] || !slices.Equal(v.PerQuery, res.Values[m]) || !slices.Equal(c.QueryIDs, res.Queries) || v.N != len(sm.order) {
				t.Errorf("side %d: %s is %v over %d queries, judged again %v", side, v.Measure, v.Mean, v.N, res.Mean[m])
			}
		}
	}
	for m, d := range c.Differences {
		if got, want := d.Diff, c.After[m].Mean-c.Before[m].Mean; math.Abs(got-want) > 1e-12 || d.Holm < d.P || d.N != len(sm.order) {
			t.Errorf("%s: difference %v, want %v; p %v, corrected %v", d.Measure, got, want, d.P, d.Holm)
		}
	}
}

// What does not fit is counted by name.
func TestRerankCounts(t *testing.T) {
	sm := newSample(t, 9, 30, 12, 12)
	in := Input{Collection: sm.collection(t), First: FirstStage{File: "first.run"}}
	in.Lists = NewLists(in.Collection.Queries, true)
	sm.run["q1"] = append([]scored{{"gone1", 99}, {"q1", 98}}, sm.run["q1"]...)
	sm.run["q2"] = append([]scored{{"gone1", 99}, {"gone2", 98}}, sm.run["q2"]...)
	sm.run["q3"] = nil
	delete(sm.run, "q4")
	sm.run["x1"], sm.run["x2"] = []scored{{"d1", 1}}, []scored{{"d1", 1}}
	for _, q := range append(slices.Clone(sm.order), "x1", "x2") {
		if list, ok := sm.run[q]; ok {
			if err := addList(in.Lists, q, list); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := setup(t, in)
	s.Top = 100
	r, runs := rerank(t, s)
	l := r.Collections[0].Ledger
	if l.DocumentsMissing != 2 || l.PairsMissing != 3 || strings.Join(l.MissingIDs, " ") != "gone1 gone2" || l.QueriesAbsent != 1 ||
		l.QueriesUnknown != 2 || strings.Join(l.UnknownIDs, " ") != "x1 x2" || l.SelfHits != 1 || l.QueriesShort != 11 || l.QueriesReranked != 10 {
		t.Errorf("ledger %+v", l)
	}
	if lists := runs[0].lists; len(lists) != 11 || len(lists["q3"]) != 0 {
		t.Errorf("%d lists, of q3 %v", len(lists), lists["q3"])
	}
	// What could not be scored stands below what was, in the old order.
	list := runs[0].lists["q2"]
	if n := len(list); list[n-2].doc != "gone1" || list[n-1].doc != "gone2" {
		t.Errorf("q2: %v", list)
	}
	for _, d := range runs[0].lists["q1"] {
		if d.doc == "q1" {
			t.Error("the query's own document is still there")
		}
	}
	var codes []string
	for _, w := range r.Warnings {
		codes = append(codes, w.Code+": "+w.Text)
	}
	for _, want := range []string{
		`documents-missing: 2 candidate documents of the run not in the collection ("gone1", "gone2"): 3 pairs not scored, standing below those that are`,
		`queries-absent: 1 query of the collection without a list in the run: they count 0, before and after`,
		`queries-unknown: 2 queries of the run not among the judged queries that were taken from the collection ("x1", "x2"): left out`,
		`fewer-candidates: 11 queries with fewer than 100 candidates: all that there are were reranked`,
		`few-queries: 12 queries: intervals are wide`,
	} {
		if !slices.Contains(codes, want) {
			t.Errorf("no warning %q in\n%s", want, strings.Join(codes, "\n"))
		}
	}
}

// With less text at a time than the collection has, everything is the same.
func TestTextInPieces(t *testing.T) {
	sm := newSample(t, 4, 60, 20, 30)
	in := sm.input(t, false)
	c, err := choose(in.Lists, 10)
	if err != nil {
		t.Fatal(err)
	}
	s := setup(t, in)
	var want []float32
	for _, limit := range []int{textBytes, 500, 1} {
		one := reranking{Setup: &s, in: in, cand: c, out: &Collection{}}
		clear(c.found)
		sc := &scoring{Setup: &s, in: in, cand: c, step: one.step, limit: limit}
		one.queries(sc)
		src, err := in.Collection.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := sc.run(context.Background(), src); err != nil {
			t.Fatal(err)
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = sc.logits
		}
		if !slices.Equal(sc.logits, want) || sc.scored != int64(c.pairs()) || sc.watch.total().Pairs != int64(c.pairs()) {
			t.Errorf("%d bytes at a time: other logits, or %d pairs of %d", limit, sc.scored, c.pairs())
		}
	}
}

// A document that more queries want than a part holds is taken in several.
func TestDocumentOfManyQueries(t *testing.T) {
	sm := newSample(t, 2, 3, partPairs+300, 1)
	for _, q := range sm.order {
		sm.run[q] = []scored{{"d1", 2}, {"d2", 1}}
	}
	s := setup(t, sm.input(t, false))
	s.Batch = 100
	r, runs := rerank(t, s)
	if l := r.Collections[0].Ledger; l.Pairs != 2*(partPairs+300) || l.Documents != 2 {
		t.Errorf("%d pairs of %d documents", l.Pairs, l.Documents)
	}
	for _, q := range sm.order {
		got, want := runs[0].lists[q], plainList(s, sm, q)
		if got[0].doc != want[0].doc || math.Abs(got[0].score-want[0].score) > 1e-9 {
			t.Fatalf("%s: %v, want %v", q, got, want)
		}
	}
	if c := r.Collections[0]; !c.Pairs.Known() || c.Pairs.Windows < leastWindows {
		t.Errorf("rate %+v", c.Pairs)
	}
}

// Speed is all that a synthetic model has.
func TestSyntheticIsWithheld(t *testing.T) {
	sm := newSample(t, 1, 20, 6, 10)
	s := setup(t, sm.input(t, false))
	s.Base.Model.Synthetic, s.Base.Model.StandInTokenizer = true, true
	s.OpenRun = func(int, *Collection) (eval.RunWriter, error) { return nil, errors.New("a run of a synthetic model") }
	r, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Collections[0]
	if c.Before != nil || c.After != nil || c.Differences != nil || c.QueryIDs != nil || c.Run != "" || c.Tokens.PerS <= 0 || c.Ledger.Pairs == 0 {
		t.Errorf("%+v", c)
	}
	if w := r.Warnings[1]; w.Code != "stand-in-tokenizer" || w.Text != "the tokenizer is a stand-in, which makes other numbers of tokens of a text: no pairs/s" {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if p := c.Pairs; p.PerS != 0 || p.Known() || p.Windows != len(c.Windows) {
		t.Errorf("pairs/s of a stand-in tokenizer: %+v", p)
	}
	// With the model's own tokenizer there is one.
	s.Base.Model.StandInTokenizer = false
	if r, err = Run(context.Background(), s); err != nil || r.Collections[0].Pairs.PerS <= 0 {
		t.Errorf("%v, pairs/s of random weights: %+v", err, r)
	}
	if w := r.Warnings[0]; w.Code != "synthetic-model" || w.Text != "synthetic weights: speed only; values and rankings are withheld, as they mean nothing" {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func TestRerankErrors(t *testing.T) {
	sm := newSample(t, 1, 20, 6, 10)
	plain := func() Setup { return setup(t, sm.input(t, false)) }
	for _, c := range []struct {
		name, want string
		make       func() Setup
	}{
		{"an embedder", "rerank: the encoder gives 384 values a row, a reranker gives one logit", func() Setup {
			s := plain()
			s.Encoder = &encoder{dim: 384, value: logit}
			return s
		}},
		{"all at once", "rerank: no collection\nno measure\nthe first 0 documents of a query, expected 1 or more\nbatches of 0 rows made by 2 goroutines, expected 1 or more of both\n11 tokens leave no room for a document beside 3 special tokens and a query of 8", func() Setup {
			s := plain()
			s.Inputs, s.Measures, s.Top, s.Batch, s.MaxTokens = nil, nil, 0, 0, 11
			return s
		}},
		{"another collection's queries", `collection sample-1 (test): none of the 2 queries of the run first.run is one of the 6 judged queries of the collection: the run has "x1", "x2", the collection "q0", "q1", "q2", …; do they belong together?`, func() Setup {
			s := plain()
			s.Inputs[0].Lists = NewLists(s.Inputs[0].Collection.Queries, false)
			addList(s.Inputs[0].Lists, "x1", nil)
			addList(s.Inputs[0].Lists, "x2", nil)
			return s
		}},
		{"another collection's documents", `collection sample-1 (test): none of the 2 candidates of the run first.run is among the 20 documents of the collection: the run has "a", "b"; do they belong together?`, func() Setup {
			s := plain()
			s.Inputs[0].Lists = NewLists(s.Inputs[0].Collection.Queries, false)
			addList(s.Inputs[0].Lists, "q1", []scored{{"a", 2}, {"b", 1}})
			return s
		}},
		{"an empty run", "collection sample-1 (test): the run first.run has no query", func() Setup {
			s := plain()
			s.Inputs[0].Lists = NewLists(s.Inputs[0].Collection.Queries, false)
			return s
		}},
		{"empty lists", "collection sample-1 (test): the lists of all queries of the run first.run are empty: no document to rerank", func() Setup {
			s := plain()
			s.Inputs[0].Lists = NewLists(s.Inputs[0].Collection.Queries, false)
			addList(s.Inputs[0].Lists, "q1", nil)
			return s
		}},
		{"a logit that is no number", `collection sample-1 (test): score pairs: the logit of query "q0" and document "d0" is no finite number`, func() Setup {
			s := plain()
			s.Encoder = &encoder{dim: 1, value: func([]int32, []uint8) float32 { return float32(math.NaN()) }}
			return s
		}},
		{"an encoder that fails", "collection sample-1 (test): score pairs: no memory", func() Setup {
			s := plain()
			s.Encoder = &encoder{dim: 1, value: logit, fail: errors.New("no memory"), after: 4}
			return s
		}},
		{"an encoder that fails at once", "collection sample-1 (test): warm-up: no memory", func() Setup {
			s := plain()
			s.Encoder = &encoder{dim: 1, value: logit, fail: errors.New("no memory")}
			return s
		}},
		{"a full disk", "collection sample-1 (test): write the run: no space", func() Setup {
			s := plain()
			s.OpenRun = func(int, *Collection) (eval.RunWriter, error) { return &kept{fail: errors.New("no space")}, nil }
			return s
		}},
	} {
		r, err := Run(context.Background(), c.make())
		if err == nil || r != nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		got := err.Error()
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestListErrors(t *testing.T) {
	sm := newSample(t, 1, 20, 3, 10)
	l := NewLists(sm.collection(t).Queries, false)
	if err := addList(l, "q1", []scored{{"a", 3}, {"b", 2}, {"a", 1}}); err == nil || err.Error() != `query "q1": document "a" stands at ranks 1 and 3; a document is ranked once` {
		t.Errorf("%v", err)
	}
	if err := addList(l, "q2", []scored{{"a", 3}}); err != nil {
		t.Error(err)
	}
	if err := addList(l, "q2", []scored{{"b", 3}}); err == nil || err.Error() != `query "q2" has two lists; a run holds one for each query` {
		t.Errorf("%v", err)
	}
	if l.Longest() != 1 {
		t.Errorf("the longest list has %d", l.Longest())
	}
}

// Ctrl-C keeps the collections that are done, and says so.
func TestInterrupted(t *testing.T) {
	first, second := newSample(t, 1, 20, 6, 10), newSample(t, 2, 20, 6, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := setup(t, first.input(t, false), second.input(t, false))
	opened := 0
	s.OpenRun = func(int, *Collection) (eval.RunWriter, error) { opened++; return &kept{}, nil }
	s.Encoder = &encoder{dim: 1, value: logit, each: func() {
		if opened == 1 {
			cancel()
		}
	}}
	r, err := Run(ctx, s)
	if !errors.Is(err, context.Canceled) || r == nil || r.Status != bench.StatusInterrupted || len(r.Collections) != 1 || opened != 1 {
		t.Fatalf("%v, record %+v, %d runs opened", err, r, opened)
	}
	if w := r.Warnings[0]; w.Code != "interrupted" || w.Text != "the run was interrupted: 1 collection done" {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// A collection that fails leaves those before it.
func TestFailsLater(t *testing.T) {
	first, second := newSample(t, 1, 20, 6, 10), newSample(t, 2, 20, 6, 10)
	s := setup(t, first.input(t, false), second.input(t, false))
	s.OpenRun = func(i int, _ *Collection) (eval.RunWriter, error) {
		if i == 1 {
			return nil, errors.New("no space")
		}
		return nil, nil
	}
	r, err := Run(context.Background(), s)
	if err == nil || err.Error() != "collection sample-2 (test): no space" || r == nil || r.Status != bench.StatusFailed || len(r.Collections) != 1 {
		t.Fatalf("%v, record %+v", err, r)
	}
	if w := r.Warnings[0]; w.Code != "failed" || w.Text != "the run failed, see the error: 1 collection done" {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// Queries of one group are counted and resampled as such.
func TestClusters(t *testing.T) {
	sm := newSample(t, 1, 20, 6, 10)
	c := sm.collection(t)
	for i, g := range []string{"a", "a", "b", "", "", "a"} {
		c.Queries[i].Group = g
	}
	groups, n := clusters(c.Queries, []string{"q0", "q1", "q2", "q3", "q4", "q5"})
	if n != 4 || strings.Join(groups, "|") != "a|a|b|||a" {
		t.Errorf("%d groups: %q", n, groups)
	}
	c.Queries[1].Group, c.Queries[5].Group = "", ""
	if groups, n := clusters(c.Queries, []string{"q0", "q1"}); groups != nil || n != 0 {
		t.Errorf("single groups: %d, %q", n, groups)
	}
}

// Another batch is the same order, another cut is not.
func TestProtocol(t *testing.T) {
	sm := newSample(t, 1, 20, 6, 10)
	s := setup(t, sm.input(t, false))
	p := s.Protocol()
	if p.Template != "1 query 2 document 2, token types 0 0 0 1 1" || p.SpecialTk != 3 ||
		p.Truncation != "a query is cut to its first 8 tokens, special tokens not counted; then the document to what is left of 40 tokens, 3 special ones included (only_second)" ||
		p.Order != "the first 10 by logit, equal ones in the first stage's order; then documents that the collection has not, then ranks 11 and below, in the first stage's order with its scores moved below the last logit" {
		t.Errorf("%+v", p)
	}
	hash := p.SHA256()
	if s.Batch, s.Seed = 99, 7; s.Protocol().SHA256() != hash {
		t.Error("the batch changes the hash")
	}
	if s.QueryTokens = 9; s.Protocol().SHA256() == hash {
		t.Error("the cut does not change the hash")
	}
}
