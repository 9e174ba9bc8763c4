package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/collection"
	"encbench/metrics"
)

// ndcg is the definition of nDCG@k with linear gain.
func ndcg(docs []string, grades map[string]float64, k int) float64 {
	var got, ideal float64
	for i, d := range docs[:min(k, len(docs))] {
		got += max(grades[d], 0) / math.Log2(float64(i+2))
	}
	var gains []float64
	for _, g := range grades {
		gains = append(gains, g)
	}
	slices.Sort(gains)
	slices.Reverse(gains)
	for i, g := range gains[:min(k, len(gains))] {
		ideal += max(g, 0) / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return got / ideal
}

// The pipeline gives the scores, the rankings and the values of its definition, in
// every form that documents take.
func TestEqualsItsDefinition(t *testing.T) {
	s := newSample(t, 1, 90, 40)
	for name, change := range map[string]func(*Setup){
		"truncate": func(*Setup) {},
		"prompts":  func(s *Setup) { s.Query, s.Document = Prompt{Text: "ask: "}, Prompt{Text: "a passage: "} },
		"dot":      func(s *Setup) { s.Similarity = Dot },
		"dims":     func(s *Setup) { s.Dim = 17 },
		"queries":  func(s *Setup) { s.QueryTokens = 40; s.MaxTokens = 9 },
		"max":      func(s *Setup) { s.Chunk, s.MaxTokens, s.Overlap = true, 12, 3 },
		"first":    func(s *Setup) { s.Chunk, s.MaxTokens, s.Overlap, s.Pool = true, 12, 3, PoolFirst },
		"mean":     func(s *Setup) { s.Chunk, s.MaxTokens, s.Overlap, s.Pool, s.Dim = true, 12, 3, PoolMean, 30 },
		"windows with prompts": func(s *Setup) {
			s.Chunk, s.MaxTokens, s.Overlap = true, 14, 0
			s.Query, s.Document = Prompt{Text: "ask: "}, Prompt{Text: "a passage: "}
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := setup(t, s)
			change(&st)
			var run kept
			st.OpenRun = func(int, *Collection) (RunWriter, error) { return &run, nil }
			r, err := Run(context.Background(), st)
			if err != nil {
				t.Fatal(err)
			}
			c := &r.Collections[0]
			if c.Documents != 90 || c.Queries != 40 || !run.closed || len(run.queries) != 40 || r.Status != bench.StatusComplete {
				t.Fatalf("%d documents, %d queries, %d rankings, status %s", c.Documents, c.Queries, len(run.queries), r.Status)
			}
			var mean float64
			for i, q := range s.queries {
				id := fmt.Sprintf("q%d", i)
				type scored struct {
					doc   string
					score float64
				}
				var all []scored
				for d, text := range s.docs {
					all = append(all, scored{fmt.Sprintf("d%d", d), twin(st, q, text)})
				}
				// The order of selection: equal scores by the order of the corpus.
				slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
				all = all[:st.K]
				// The order of judging: equal scores by identifier, descending.
				slices.SortStableFunc(all, func(a, b scored) int {
					return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.doc, a.doc))
				})
				for k, want := range all {
					if run.docs[id][k] != want.doc || run.scores[id][k] != want.score {
						t.Fatalf("query %s, rank %d: %s with %v, want %s with %v", id, k+1, run.docs[id][k], run.scores[id][k], want.doc, want.score)
					}
				}
				var docs []string
				for _, x := range all {
					docs = append(docs, x.doc)
				}
				want := ndcg(docs, s.qrels[id], 10)
				got := c.Value("nDCG@10").PerQuery[slices.Index(c.QueryIDs, id)]
				if math.Abs(got-want) > 1e-12 {
					t.Errorf("query %s: nDCG@10 %v, want %v", id, got, want)
				}
				mean += want / float64(len(s.queries))
			}
			if v := c.Value("nDCG@10"); math.Abs(v.Mean-mean) > 1e-12 || v.N != 40 || !v.CI.Known() || !v.CI.Holds(v.Mean) {
				t.Errorf("nDCG@10 %+v, want a mean of %v", v, mean)
			}
			if p := st.Protocol(); p.SHA256() != r.Protocol.SHA256() || len(p.SHA256()) != 64 {
				t.Errorf("protocol %+v of the setup, %+v of the record", p, r.Protocol)
			}
		})
	}
}

// Batches and threads do not move a bit of the values, as long as the encoder's
// vectors do not depend on them.
func TestBatchesAndThreads(t *testing.T) {
	s := newSample(t, 2, 150, 30)
	var want []byte
	for _, c := range []struct{ batch, workers int }{{1, 1}, {7, 3}, {64, 2}, {1000, 1}} {
		st := setup(t, s)
		st.Batch, st.Workers = c.batch, c.workers
		st.Chunk, st.MaxTokens, st.Overlap = true, 15, 4
		st.Stores = []Store{StoreInt8, StoreBinary}
		st.BM25 = func(Input) bool { return true }
		r, err := Run(context.Background(), st)
		if err != nil {
			t.Fatal(err)
		}
		x := &r.Collections[0]
		x.Times, x.BM25.Seconds = Times{}, 0
		for i := range x.Stores {
			x.Stores[i].SearchS, x.Stores[i].PrepareS = 0, 0
		}
		got, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if string(got) != string(want) {
			t.Errorf("batch %d, %d workers: another outcome\n%.400s\n%.400s", c.batch, c.workers, got, want)
		}
	}
}

// What is cut, empty or tied is counted.
func TestAccount(t *testing.T) {
	s := newSample(t, 3, 60, 20)
	st := setup(t, s)
	st.MaxTokens, st.K = 12, 60
	r, err := Run(context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Collections[0]
	var cut, dropped, tokens, longest, empty int64
	for _, d := range s.docs {
		n := int64(len(strings.Fields(d)))
		tokens += n
		longest = max(longest, n)
		if n > 10 {
			cut++
			dropped += n - 10
		}
		if n == 0 {
			empty++
		}
	}
	x := c.Texts
	if x.Cut != cut || x.Dropped != dropped || x.Tokens != tokens || x.Longest != longest || x.Empty != empty || x.Rows != 60 || x.Vectors != 60 {
		t.Errorf("texts %+v; want %d cut, %d dropped of %d tokens, longest %d, %d empty", x, cut, dropped, tokens, longest, empty)
	}
	if x.Zero != empty {
		t.Errorf("%d zero vectors for %d empty documents", x.Zero, empty)
	}
	st.K, st.Measures = 1, measures(t, "Success@1")
	st.Stores = []Store{StoreFloat16}
	if r, err = Run(context.Background(), st); err != nil {
		t.Fatal(err)
	}
	// Documents 1 and 3 have one text: where they are best, the cut divides them.
	if n := r.Collections[0].Integrity.TiesAtCut; n > 20 {
		t.Errorf("%d ties for 20 queries", n)
	}
	var codes []string
	for _, w := range r.Warnings {
		codes = append(codes, w.Code)
	}
	if got := strings.Join(codes, " "); !strings.HasPrefix(got, "few-queries truncated") {
		t.Errorf("warnings %s", got)
	}
}

// Texts in a language that the tokenizer does not know are told.
func TestUnknownTokens(t *testing.T) {
	s := newSample(t, 15, 20, 5)
	path := filepath.Join(s.dir, "corpus.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// d0 becomes 30 unknown words, of which 20 are left by the cut.
	lines := strings.SplitN(string(text), "\n", 2)
	write(t, path, fmt.Sprintf(`{"_id":"d0","text":%q}`, strings.Repeat("?x ", 30))+"\n"+lines[1])
	r := evaluate(t, setup(t, s))
	x := r.Collections[0].Texts
	encoded := int64(20)
	for _, d := range s.docs[1:] {
		encoded += int64(min(20, len(strings.Fields(d))))
	}
	for _, q := range s.queries {
		encoded += int64(len(strings.Fields(q)))
	}
	if x.Unknown != 20 || x.Encoded != encoded {
		t.Errorf("%d of %d tokens are unknown, want 20 of %d", x.Unknown, x.Encoded, encoded)
	}
	want := fmt.Sprintf("%.1f %% of the tokens stand for what the tokenizer does not know: it was made for another language or script", 100*20/float64(encoded))
	if !slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "unknown-tokens" && w.Text == want }) {
		t.Errorf("warnings %+v lack %s", r.Warnings, want)
	}
}

// Smaller stores are compared with float32 on the same vectors: rounding costs next
// to nothing, signs alone cost something.
func TestStores(t *testing.T) {
	st := setup(t, newSample(t, 4, 400, 80))
	st.Stores = []Store{StoreFloat16, StoreBinary}
	r, err := Run(context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Collections[0]
	if len(c.Stores) != 3 || c.Stores[0].Store != StoreFloat32 || c.Stores[0].Differences != nil || c.Stores[0].Bytes != 4*dim {
		t.Fatalf("stores %+v", c.Stores)
	}
	// Holm is over both stores' rows: the smallest of 8 p-values is multiplied by 8.
	smallest, holm := 1.0, 0.0
	for _, s := range c.Stores[1:] {
		for _, d := range s.Differences {
			if d.P < smallest {
				smallest, holm = d.P, d.Holm
			}
		}
	}
	if holm != 8*smallest {
		t.Errorf("the smallest p %v of 8 is corrected to %v", smallest, holm)
	}
	for i, limits := range [][2]float64{{-0.01, 0.01}, {-0.5, -0.01}} {
		d := c.Stores[i+1].Differences
		if len(d) != 4 || d[0].Measure != "nDCG@10" || d[0].N != 80 || d[0].MeanA != c.Values[0].Mean {
			t.Fatalf("store %s: %+v", c.Stores[i+1].Store, d)
		}
		if d[0].Diff < limits[0] || d[0].Diff > limits[1] {
			t.Errorf("store %s: nDCG@10 changes by %v, expected %v to %v", c.Stores[i+1].Store, d[0].Diff, limits[0], limits[1])
		}
	}
}

// Several collections have both averages; one that fails makes them partial.
func TestAverages(t *testing.T) {
	a, b := newSample(t, 5, 60, 10), newSample(t, 6, 60, 30)
	r, err := Run(context.Background(), setup(t, a, b))
	if err != nil {
		t.Fatal(err)
	}
	va, vb := r.Collections[0].Values[0], r.Collections[1].Values[0]
	av := r.Averages[0]
	if tasks := (va.Mean + vb.Mean) / 2; math.Abs(av.Tasks.Mean-tasks) > 1e-12 || av.Tasks.Tasks != 2 || !av.Tasks.CI.Holds(tasks) {
		t.Errorf("mean of collections %+v, want %v", av.Tasks, tasks)
	}
	if queries := metrics.Mean(append(append([]float64{}, va.PerQuery...), vb.PerQuery...)); math.Abs(av.Queries.Mean-queries) > 1e-12 || av.Queries.N != 40 {
		t.Errorf("mean of queries %+v, want %v", av.Queries, queries)
	}
	if len(av.Missing) != 0 || len(r.Averages) != 4 {
		t.Errorf("averages %+v", r.Averages)
	}

	st := setup(t, a, b)
	st.Inputs = append(st.Inputs, Input{Name: "lost", Err: errors.New("open collection lost: no such file or directory")})
	r, err = Run(context.Background(), st)
	if err == nil || err.Error() != "collection lost: open collection lost: no such file or directory" {
		t.Errorf("error %v", err)
	}
	if r.Status != bench.StatusFailed || len(r.Collections) != 3 || r.Collections[2].Error == "" || !slices.Equal(r.Averages[0].Missing, []string{"lost"}) {
		t.Errorf("status %s, collections %d, averages %+v", r.Status, len(r.Collections), r.Averages)
	}
	if av := r.Averages[0]; math.Abs(av.Tasks.Mean-(va.Mean+vb.Mean)/2) > 1e-12 {
		t.Errorf("partial mean %v", av.Tasks.Mean)
	}
	if w := r.Warnings[1]; w.Code != "partial-average" || w.Text != "the averages are partial: they leave out lost" {
		t.Errorf("warning %+v", w)
	}
}

// An encoder that fails fails its collection; the end of the context ends the run
// and keeps what was done.
func TestEnds(t *testing.T) {
	a, b := newSample(t, 7, 60, 10), newSample(t, 8, 60, 10)
	st := setup(t, a)
	st.Encoder = &encoder{fail: errors.New("out of memory"), after: 3}
	var run kept
	st.OpenRun = func(int, *Collection) (RunWriter, error) { return &run, nil }
	r, err := Run(context.Background(), st)
	if want := "collection " + st.Inputs[0].Name + ": encode documents: out of memory"; err == nil || err.Error() != want || r.Status != bench.StatusFailed {
		t.Errorf("error %v, want %s", err, want)
	}
	if run.queries != nil {
		t.Error("a run was written")
	}

	st = setup(t, a, b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	st.Progress = func(s Step) {
		if s.Collection == 1 && s.Phase == "encoding documents" {
			cancel()
		}
	}
	r, err = Run(ctx, st)
	if !errors.Is(err, context.Canceled) || r.Status != bench.StatusInterrupted || len(r.Collections) != 1 || r.Collections[0].Queries != 10 {
		t.Errorf("error %v, record %+v", err, r)
	}
	if len(r.Averages) != 4 || !slices.Equal(r.Averages[0].Missing, []string{st.Inputs[1].Name}) {
		t.Errorf("averages %+v", r.Averages)
	}

	st = setup(t, a)
	st.OpenRun = func(int, *Collection) (RunWriter, error) { return nil, errors.New("disk full") }
	if _, err = Run(context.Background(), st); err == nil || !strings.HasSuffix(err.Error(), ": disk full") {
		t.Errorf("error %v", err)
	}
	st.OpenRun = func(int, *Collection) (RunWriter, error) { return &broken{}, nil }
	if _, err = Run(context.Background(), st); err == nil || !strings.HasSuffix(err.Error(), ": write the run: disk full") {
		t.Errorf("error %v", err)
	}
}

type broken struct{ kept }

func (*broken) Close() error { return errors.New("disk full") }

func TestSetupFaults(t *testing.T) {
	s := newSample(t, 9, 20, 5)
	for want, change := range map[string]func(*Setup){
		"eval: no collection": func(s *Setup) { s.Inputs = nil },
		"eval: no measure":    func(s *Setup) { s.Measures = nil },
		"eval: 0 documents a query, expected 1 or more\nencoder, tokenizer and searcher are required":            func(s *Setup) { s.K, s.Encoder = 0, nil },
		"eval: NumRet is no mean over queries\nnDCG@30 looks at 30 documents a query, 20 are kept; keep as many": func(s *Setup) { s.Measures = measures(t, "NumRet nDCG@30 RR") },
		"eval: the first 49 values of vectors that have 48":                                                      func(s *Setup) { s.Dim = 49 },
		"eval: unknown pooling of windows \"sum\": max, first, mean":                                             func(s *Setup) { s.Pool = "sum" },
		"eval: unknown similarity \"l2\": cosine or dot":                                                         func(s *Setup) { s.Similarity = "l2" },
		"eval: unknown store \"int4\": float32, float16, bfloat16, int8, binary\nstore int8 is there already":    func(s *Setup) { s.Stores = []Store{"int4", StoreInt8, StoreInt8} },
		"eval: 4 tokens leave no room for the text of a query beside 2 special and 2 prompt tokens":              func(s *Setup) { s.QueryTokens, s.Query.Text = 4, "a b" },
		"eval: 2 tokens leave no room for the text of a document beside 2 special and 0 prompt tokens":           func(s *Setup) { s.MaxTokens, s.QueryTokens = 2, 9 },
		"eval: an overlap of 20 tokens, expected 0 to 19: a window has 20 content tokens":                        func(s *Setup) { s.Chunk, s.Overlap = true, 20 },
		"eval: batches of 0 rows, expected 1 or more":                                                            func(s *Setup) { s.Batch = 0 },
	} {
		st := setup(t, s)
		change(&st)
		if _, err := Run(context.Background(), st); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A collection whose files change between opening and encoding is refused.
func TestChangedCollection(t *testing.T) {
	s := newSample(t, 10, 20, 5)
	st := setup(t, s)
	path := filepath.Join(s.dir, "corpus.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"_id":"new","text":"one more"}`)
	f.Close()
	_, err = Run(context.Background(), st)
	want := "collection " + st.Inputs[0].Name + ": encode documents: the collection has 21 documents now, 20 when it was opened; its files were changed"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestClusters(t *testing.T) {
	qs := []collection.Query{{ID: "a", Group: "x"}, {ID: "b"}, {ID: "c", Group: "x"}, {ID: "d", Group: "y"}}
	if got, n := clusters(qs, []string{"a", "b", "c", "d"}); n != 3 || !slices.Equal(got, []string{"x", "", "x", "y"}) {
		t.Errorf("groups %q, %d", got, n)
	}
	if got, n := clusters(qs[1:2], []string{"b"}); n != 0 || got != nil {
		t.Errorf("groups %q, %d of a query alone", got, n)
	}
}
