package eval

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench/collection"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/binary"
	"encbench/metrics"
	"encbench/metrics/ranking"
)

// words is a tokenizer that gives each space-separated word one id; those with ? in
// front it does not know.
type words struct{}

const cls, sep, unk = 1, 2, 5

func (words) AppendIDs(dst []int32, text []byte) []int32 {
	for w := range strings.FieldsSeq(string(text)) {
		if w[0] == '?' {
			dst = append(dst, unk)
			continue
		}
		id := int32(len(w))
		for _, c := range []byte(w) {
			id = id*31%997 + int32(c)
		}
		dst = append(dst, 3+id)
	}
	return dst
}

func (w words) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	return w.AppendIDs(dst, text), spans
}

func (words) Template() tokenize.Template {
	return tokenize.Template{Single: []tokenize.Piece{{ID: cls}, {Text: 'A'}, {ID: sep}}}
}
func (words) Special() tokenize.Special   { return tokenize.Special{CLS: cls, SEP: sep, UNK: unk} }
func (words) VocabSize() int              { return 2000 }
func (words) Repaired() int64             { return 0 }
func (words) Reset()                      {}
func (w words) Clone() tokenize.Tokenizer { return w }

const dim = 48

// bag gives a row the counts of its ids, spread over the values of a vector: texts
// with words in common are near each other. It has no length of one.
func bag(ids []int32) []float32 {
	v := make([]float32, dim)
	for _, id := range ids {
		if id == cls || id == sep {
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(id), 1))
		for i := range v {
			v[i] += float32(rng.NormFloat64())
		}
	}
	return v
}

// encoder is an engine.Encoder of bags with two slots.
type encoder struct {
	busy  [2]*engine.Batch
	out   [2][]float32
	fail  error // of Submit, after some batches
	after int
}

func (e *encoder) Dim() int     { return dim }
func (e *encoder) Slots() int   { return len(e.busy) }
func (e *encoder) Close() error { return nil }

func (e *encoder) Submit(slot int, b *engine.Batch) error {
	if e.fail != nil {
		if e.after--; e.after < 0 {
			return e.fail
		}
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
	w := engine.Work{}
	for r := range b.Rows() {
		e.out[slot] = append(e.out[slot], bag(b.Row(r))...)
		w.Real += int64(b.Len(r))
	}
	return engine.HostRows(e.out[slot], dim), w, nil
}

// text makes n words of a small vocabulary.
func text(rng *rand.Rand, n int) string {
	var out []string
	for range n {
		out = append(out, fmt.Sprintf("w%d", int(math.Pow(rng.Float64(), 2)*200)))
	}
	return strings.Join(out, " ")
}

// sample is a collection and what is in it.
type sample struct {
	dir     string
	docs    []string
	queries []string
	qrels   map[string]map[string]float64 // by query, by document
}

// newSample writes a BEIR folder: documents of up to 60 words, and queries made of
// words of the documents that answer them.
func newSample(t testing.TB, seed uint64, docs, queries int) *sample {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	s := &sample{dir: filepath.Join(t.TempDir(), fmt.Sprintf("sample-%d", seed)), qrels: map[string]map[string]float64{}}
	var corpus, asked, judged strings.Builder
	for i := range docs {
		s.docs = append(s.docs, text(rng, rng.IntN(60)))
		if i == 3 {
			s.docs[i] = s.docs[1] // equal scores
		}
		fmt.Fprintf(&corpus, "{\"_id\":\"d%d\",\"title\":\"\",\"text\":%q}\n", i, s.docs[i])
	}
	judged.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range queries {
		id := fmt.Sprintf("q%d", i)
		s.qrels[id] = map[string]float64{}
		d := rng.IntN(docs)
		words := strings.Fields(s.docs[d])
		rng.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
		s.queries = append(s.queries, strings.Join(append(words[:min(6, len(words))], text(rng, 2)), " "))
		fmt.Fprintf(&asked, "{\"_id\":%q,\"text\":%q}\n", id, s.queries[i])
		s.qrels[id][fmt.Sprintf("d%d", d)] = 2
		s.qrels[id][fmt.Sprintf("d%d", rng.IntN(docs))] = 1
		for doc, g := range s.qrels[id] {
			fmt.Fprintf(&judged, "%s\t%s\t%d\n", id, doc, int(g))
		}
	}
	write(t, filepath.Join(s.dir, "corpus.jsonl"), corpus.String())
	write(t, filepath.Join(s.dir, "queries.jsonl"), asked.String())
	write(t, filepath.Join(s.dir, "qrels", "test.tsv"), judged.String())
	return s
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

func (s *sample) input(t testing.TB) Input {
	t.Helper()
	c, err := collection.Open(s.dir, collection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: c.Name, Collection: c}
}

// brute is an engine.Searcher that scores every row by the rule.
type brute struct {
	rows  [][]float32
	owner []int32
	round func(float32) float32
}

func (s *brute) Append(_ context.Context, base int64, owner []int32, r engine.Rows) error {
	if base != int64(len(s.rows)) {
		return fmt.Errorf("rows from %d on, %d is due", base, len(s.rows))
	}
	for i := range r.N {
		v := slices.Clone(r.Float32(i))
		for k := range v {
			v[k] = s.round(v[k])
		}
		s.rows = append(s.rows, v)
	}
	s.owner = append(s.owner, owner...)
	return nil
}

func (s *brute) Search(_ context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	dst.Reset(q.N, k)
	for i := range q.N {
		best := map[int32]int{} // row by owner
		score := make([]float32, len(s.rows))
		for r, v := range s.rows {
			score[r] = engine.Dot(q.Float32(i), v)
			o := int32(r)
			if s.owner != nil {
				o = s.owner[r]
			}
			if b, ok := best[o]; !ok || engine.Before(score[r], int64(r), score[b], int64(b)) {
				best[o] = r
			}
		}
		rows := slices.Collect(maps.Values(best))
		slices.SortFunc(rows, func(a, b int) int {
			if engine.Before(score[a], int64(a), score[b], int64(b)) {
				return -1
			}
			return 1
		})
		for n, r := range rows[:min(k, len(rows))] {
			dst.Row[i*k+n], dst.Score[i*k+n] = int64(r), score[r]
		}
	}
	return nil
}

func (s *brute) Close() error { return nil }

// openStore is the Searcher of the tests.
func openStore(dim int, store Store) (engine.Searcher, int, error) {
	switch store {
	case StoreBinary:
		s, err := binary.New(binary.Options{Dim: dim, Rescore: 4})
		return s, 8, err
	case StoreFloat32:
		return &brute{round: func(x float32) float32 { return x }}, 4 * dim, nil
	}
	// Eleven bits of a fraction, as float16 has.
	return &brute{round: func(x float32) float32 {
		f, e := math.Frexp(float64(x))
		return float32(math.Ldexp(math.RoundToEven(f*2048)/2048, e))
	}}, 2 * dim, nil
}

func measures(t testing.TB, names string) []metrics.Measure {
	t.Helper()
	var out []metrics.Measure
	for name := range strings.FieldsSeq(names) {
		m, err := metrics.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// setup is a whole evaluation of the samples.
func setup(t testing.TB, samples ...*sample) Setup {
	s := Setup{
		Measures: measures(t, "nDCG@10 R@5 RR Success@5"), K: 20, Encoder: &encoder{}, Tokenizer: words{},
		MaxTokens: 22, Pool: PoolMax, Similarity: Cosine, Searcher: openStore, Batch: 7, Workers: 2, Seed: 1, Rescore: 4,
	}
	for _, x := range samples {
		s.Inputs = append(s.Inputs, x.input(t))
	}
	return s
}

// kept is a RunWriter that keeps the rankings.
type kept struct {
	queries []string
	docs    map[string][]string
	scores  map[string][]float64
	closed  bool
}

func (k *kept) Write(b *ranking.Block) error {
	if k.docs == nil {
		k.docs, k.scores = map[string][]string{}, map[string][]float64{}
	}
	for q := range b.Len() {
		id := string(b.Queries.At(q))
		k.queries = append(k.queries, id)
		from, to := b.Rows(q)
		for row := from; row < to; row++ {
			k.docs[id] = append(k.docs[id], string(b.DocAt(row)))
			k.scores[id] = append(k.scores[id], b.Score[row])
		}
	}
	return nil
}

func (k *kept) Close() error { k.closed = true; return nil }

// twin is the definition of the scores: every row is encoded by itself, and every
// document scored in full.
func twin(s Setup, query, doc string) float64 {
	ids := func(prompt, text string, most int) []int32 {
		out := words{}.AppendIDs(nil, []byte(prompt+text))
		return append(append([]int32{cls}, out[:min(len(out), most-2)]...), sep)
	}
	vector := func(row []int32) []float32 {
		v := bag(row)
		if s.Dim > 0 {
			v = v[:s.Dim]
		}
		if s.Similarity == Dot {
			return v
		}
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if square > 0 {
			for i := range v {
				v[i] = float32(float64(v[i]) * (1 / math.Sqrt(square)))
			}
		}
		return v
	}
	q := vector(ids(s.Query.Text, query, max(s.QueryTokens, s.MaxTokens)))
	if !s.Chunk {
		return float64(engine.Dot(q, vector(ids(s.Document.Text, doc, s.MaxTokens))))
	}
	prompt := words{}.AppendIDs(nil, []byte(s.Document.Text))
	content := words{}.AppendIDs(nil, []byte(doc))
	size := s.MaxTokens - 2 - len(prompt)
	var vectors [][]float32
	for start := 0; ; start += size - s.Overlap {
		end := min(start+size, len(content))
		vectors = append(vectors, vector(slices.Concat([]int32{cls}, prompt, content[start:end], []int32{sep})))
		if end == len(content) {
			break
		}
	}
	switch s.Pool {
	case PoolFirst:
		return float64(engine.Dot(q, vectors[0]))
	case PoolMean:
		mean := make([]float64, len(q))
		for _, v := range vectors {
			for i, x := range v {
				mean[i] += float64(x)
			}
		}
		as32 := make([]float32, len(q))
		for i, x := range mean {
			as32[i] = float32(x / float64(len(vectors)))
		}
		return float64(engine.Dot(q, as32))
	}
	best := math.Inf(-1)
	for _, v := range vectors {
		best = max(best, float64(engine.Dot(q, v)))
	}
	return best
}
