package rerank

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/collection"
	"encbench/bench/eval"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/metrics"
	"encbench/metrics/ranking"
)

// words is a tokenizer that gives each space-separated word one id.
type words struct{ repaired int64 }

const cls, sep = 1, 2

func (w *words) AppendIDs(dst []int32, text []byte) []int32 {
	for word := range strings.FieldsSeq(string(text)) {
		id := int32(len(word))
		for _, c := range []byte(word) {
			id = id*31%997 + int32(c)
			if c == 0xff {
				w.repaired++
			}
		}
		dst = append(dst, 3+id)
	}
	return dst
}

func (w *words) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	return w.AppendIDs(dst, text), spans
}

func (*words) Template() tokenize.Template {
	return tokenize.Template{Pair: []tokenize.Piece{{ID: cls}, {Text: 'A'}, {ID: sep}, {Text: 'B', Type: 1}, {ID: sep, Type: 1}}}
}
func (*words) Special() tokenize.Special { return tokenize.Special{CLS: cls, SEP: sep, UNK: -1} }
func (*words) VocabSize() int            { return 2000 }
func (w *words) Repaired() int64         { return w.repaired }
func (*words) Reset()                    {}
func (*words) Clone() tokenize.Tokenizer { return &words{} }

// logit is what the encoder of the tests gives a row: a hash of ids, types and places,
// coarse, so that some are equal.
func logit(ids []int32, types []uint8) float32 {
	h := uint64(len(ids))
	for i, id := range ids {
		h = h*1099511628211 + uint64(id)
		if types != nil {
			h ^= uint64(types[i]) << 40
		}
	}
	return float32(int(h>>33)%200-100) / 8
}

// encoder is an engine.Encoder of logits with two slots.
type encoder struct {
	dim   int
	busy  [2]*engine.Batch
	out   [2][]float32
	rows  int
	fail  error // of Submit, after some batches
	after int
	each  func() // called at every Submit
	value func(ids []int32, types []uint8) float32
}

func (e *encoder) Dim() int     { return e.dim }
func (e *encoder) Slots() int   { return len(e.busy) }
func (e *encoder) Close() error { return nil }

func (e *encoder) Submit(slot int, b *engine.Batch) error {
	if e.each != nil {
		e.each()
	}
	if e.fail != nil {
		if e.after--; e.after < 0 {
			return e.fail
		}
	}
	if b.Types != nil && len(b.Types) != len(b.IDs) {
		return fmt.Errorf("%d types for %d ids", len(b.Types), len(b.IDs))
	}
	e.busy[slot] = b
	return nil
}

func (e *encoder) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	b := e.busy[slot]
	e.busy[slot] = nil
	if err := ctx.Err(); err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	e.out[slot] = e.out[slot][:0]
	w := engine.Work{Groups: 1}
	for r := range b.Rows() {
		var types []uint8
		if b.Types != nil {
			types = b.Types[b.Off[r]:b.Off[r+1]]
		}
		e.out[slot] = append(e.out[slot], e.value(b.Row(r), types))
		w.Real += int64(b.Len(r))
		w.BucketNS[engine.Bucket(b.Len(r))] += 1000
	}
	w.Padded = w.Real
	e.rows += b.Rows()
	return engine.HostRows(e.out[slot], 1), w, nil
}

// sample is a collection and a first stage over it.
type sample struct {
	dir     string
	docs    map[string]string
	queries map[string]string
	order   []string // of the queries
	run     map[string][]scored
}

type scored struct {
	doc   string
	score float64
}

func text(rng *rand.Rand, n int) string {
	var out []string
	for range n {
		out = append(out, fmt.Sprintf("w%d", rng.IntN(300)))
	}
	return strings.Join(out, " ")
}

// newSample writes a BEIR folder and makes a run over it: documents of up to 60 words,
// empty ones among them, queries of up to 12, lists of up to depth.
func newSample(t testing.TB, seed uint64, docs, queries, depth int) *sample {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	s := &sample{dir: filepath.Join(t.TempDir(), fmt.Sprintf("sample-%d", seed)), docs: map[string]string{}, queries: map[string]string{}, run: map[string][]scored{}}
	var corpus, asked, judged strings.Builder
	for i := range docs {
		id := fmt.Sprintf("d%d", i)
		s.docs[id] = text(rng, rng.IntN(60))
		fmt.Fprintf(&corpus, "{\"_id\":%q,\"title\":\"\",\"text\":%q}\n", id, s.docs[id])
	}
	judged.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range queries {
		id := fmt.Sprintf("q%d", i)
		s.order = append(s.order, id)
		s.queries[id] = text(rng, 1+rng.IntN(12))
		fmt.Fprintf(&asked, "{\"_id\":%q,\"text\":%q}\n", id, s.queries[id])
		fmt.Fprintf(&judged, "%s\td%d\t2\n%s\td%d\t1\n", id, i%docs, id, (i+7)%docs)
		perm := rng.Perm(docs)[:min(docs, 1+rng.IntN(depth))]
		for rank, d := range perm {
			s.run[id] = append(s.run[id], scored{fmt.Sprintf("d%d", d), float64(50 - rank/2)})
		}
		s.sort(id)
	}
	write(t, filepath.Join(s.dir, "corpus.jsonl"), corpus.String())
	write(t, filepath.Join(s.dir, "queries.jsonl"), asked.String())
	write(t, filepath.Join(s.dir, "qrels", "test.tsv"), judged.String())
	return s
}

// sort puts a list in the order of run files.
func (s *sample) sort(query string) {
	slices.SortFunc(s.run[query], func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(b.doc, a.doc))
	})
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *sample) collection(t testing.TB) *collection.Collection {
	t.Helper()
	c, err := collection.Open(s.dir, collection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *sample) input(t testing.TB, dropSelf bool) Input {
	t.Helper()
	c := s.collection(t)
	in := Input{Collection: c, Lists: NewLists(c.Queries, dropSelf), First: FirstStage{File: "first.run"}}
	for id, list := range s.run {
		if err := addList(in.Lists, id, list); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func addList(l *Lists, query string, list []scored) error {
	var docs []string
	var scores []float64
	for _, d := range list {
		docs, scores = append(docs, d.doc), append(scores, d.score)
	}
	return l.Add(query, docs, scores)
}

func measures(t testing.TB, names string) (out []metrics.Measure) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		m, err := metrics.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func setup(t testing.TB, inputs ...Input) Setup {
	return Setup{
		Inputs: inputs, Measures: measures(t, "nDCG@10 R@5 RR Success@5"), Top: 10, Encoder: &encoder{dim: 1, value: logit}, Tokenizer: &words{},
		MaxTokens: 40, QueryTokens: 8, Types: 2, Batch: 7, Workers: 2, Seed: 1, Base: Record{Engine: bench.Engine{Workers: 2}},
	}
}

// kept is a eval.RunWriter that keeps the rankings.
type kept struct {
	lists  map[string][]scored
	closed bool
	fail   error
}

func (k *kept) Write(b *ranking.Block) error {
	if k.fail != nil {
		return k.fail
	}
	if k.lists == nil {
		k.lists = map[string][]scored{}
	}
	for q := range b.Len() {
		id := string(b.Queries.At(q))
		k.lists[id] = []scored{}
		from, to := b.Rows(q)
		for row := from; row < to; row++ {
			k.lists[id] = append(k.lists[id], scored{string(b.DocAt(row)), b.Score[row]})
		}
	}
	return nil
}

func (k *kept) Close() error { k.closed = true; return nil }

// rerank runs a setup and gives the record and the new rankings of each input.
func rerank(t testing.TB, s Setup) (*Record, []*kept) {
	t.Helper()
	runs := make([]*kept, len(s.Inputs))
	s.OpenRun = func(i int, c *Collection) (eval.RunWriter, error) {
		c.Run = "new.run"
		runs[i] = &kept{}
		return runs[i], nil
	}
	r, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r, runs
}
