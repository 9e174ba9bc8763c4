package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/feed"
)

// letters is a tokenizer that gives every byte but spaces an id; a word is a
// pre-token.
type letters struct{}

func (letters) AppendIDs(dst []int32, text []byte) []int32 {
	for _, c := range text {
		if c != ' ' {
			dst = append(dst, int32(c))
		}
	}
	return dst
}

func (letters) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' {
			continue
		}
		for _, c := range text[start:i] {
			dst = append(dst, int32(c))
			spans = append(spans, tokenize.Span{Start: int32(start), End: int32(i)})
		}
		start = i + 1
	}
	return dst, spans
}

func (letters) Template() tokenize.Template {
	return tokenize.Template{Single: []tokenize.Piece{{ID: 1}, {Text: 'A'}, {ID: 2}}}
}
func (letters) Special() tokenize.Special { return tokenize.Special{CLS: 1, SEP: 2} }
func (letters) VocabSize() int            { return 256 }
func (letters) Repaired() int64           { return 0 }
func (letters) Reset()                    {}
func (letters) Clone() tokenize.Tokenizer { return letters{} }

type memory struct {
	texts []string
	next  int
}

func (m *memory) Scan() bool      { m.next++; return m.next <= len(m.texts) }
func (m *memory) Doc() corpus.Doc { return corpus.Doc{Text: []byte(m.texts[m.next-1])} }
func (m *memory) Err() error      { return nil }
func (m *memory) Close() error    { return nil }

// corpusOf makes documents of many lengths, the last one long.
func corpusOf(docs int) []string {
	var out []string
	for i := range docs {
		var b strings.Builder
		for w := range 1 + (i*i)%90 {
			fmt.Fprintf(&b, "%s ", strings.Repeat(string(rune('a'+(i+w)%26)), 1+(w*5+i)%9))
		}
		out = append(out, strings.TrimSpace(b.String()))
	}
	return append(out, strings.Repeat("long words ", 500))
}

var testWindow = chunk.Window{Size: 126, Overlap: 25}

func selectFrom(t *testing.T, texts []string, n int, seed uint64) *Selected {
	t.Helper()
	f, err := feed.New(context.Background(), &memory{texts: texts}, feed.Options{
		Tokenizer: letters{}, Window: testWindow, Batch: 50, Workers: 2, Pieces: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sel, err := Select(context.Background(), f, letters{}, 2, n, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

func TestSelectIsStratifiedAndDeterministic(t *testing.T) {
	texts := corpusOf(400)
	all := selectFrom(t, texts, 1<<20, 1)
	if !all.All || int64(len(all.Rows)) != all.Stats.Rows {
		t.Fatalf("whole corpus: %d of %d rows, all %t", len(all.Rows), all.Stats.Rows, all.All)
	}
	if all.SHA256 != InputHash(all.Rows) {
		t.Error("the hash of the whole corpus is not that of its rows")
	}
	const n = 64
	sel := selectFrom(t, texts, n, 1)
	if sel.All || len(sel.Rows) != n {
		t.Fatalf("%d rows selected of %d, want %d", len(sel.Rows), sel.Stats.Rows, n)
	}
	rows, tokens := CountRows(sel.Rows)
	var sum int64
	for b, total := range sel.Stats.RowsByBucket {
		exact := float64(n) * float64(total) / float64(sel.Stats.Rows)
		if total > 0 && (rows[b] < 1 || math.Abs(float64(rows[b])-exact) > 1.5) {
			t.Errorf("bucket %d: %d rows selected, its share is %.2f", b, rows[b], exact)
		}
	}
	numbers := map[int64]bool{}
	for i, r := range sel.Rows {
		sum += int64(len(r.IDs))
		if numbers[r.Number] || i > 0 && sel.Rows[i-1].Number >= r.Number {
			t.Fatalf("row %d comes twice or out of order", r.Number)
		}
		numbers[r.Number] = true
		if !slices.Equal(r.IDs, all.Rows[r.Number].IDs) || r.Doc != all.Rows[r.Number].Doc {
			t.Fatalf("row %d is not the corpus's", r.Number)
		}
		ids := letters{}.AppendIDs(nil, r.Text)[r.Trim.Skip : r.Trim.Skip+r.Trim.N]
		if !slices.Equal(ids, r.IDs[1:len(r.IDs)-1]) {
			t.Fatalf("row %d: its text gives other ids", r.Number)
		}
	}
	if sum != tokens {
		t.Errorf("CountRows gives %d tokens, the rows have %d", tokens, sum)
	}
	again := selectFrom(t, texts, n, 1)
	if InputHash(again.Rows) != InputHash(sel.Rows) {
		t.Error("the same seed selects other rows")
	}
	if other := selectFrom(t, texts, n, 2); InputHash(other.Rows) == InputHash(sel.Rows) {
		t.Error("another seed selects the same rows")
	}
}

func TestAllocate(t *testing.T) {
	for _, test := range []struct {
		rows []int64
		n    int
		want []int
	}{
		{[]int64{0, 0}, 5, []int{0, 0}},
		{[]int64{100, 0, 100}, 10, []int{5, 0, 5}},
		{[]int64{997, 1, 2}, 10, []int{8, 1, 1}},
		{[]int64{10, 10, 10}, 2, []int{1, 1, 0}},
		{[]int64{1, 99}, 1, []int{0, 1}},
	} {
		if got := Allocate(test.rows, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%d of %v: %v, want %v", test.n, test.rows, got, test.want)
		}
	}
}

// The projection of a pass over the whole corpus is documents ÷ wall; that of a
// sample weighs each bucket by the corpus.
func TestProject(t *testing.T) {
	rows := make([]int64, engine.Buckets)
	busy := make([]float64, engine.Buckets)
	rows[0], busy[0] = 30, 1
	rows[15], busy[15] = 10, 7
	whole := []Sample{{WallS: 4, Rows: rows, BusyS: busy}}
	project(whole, rows, 20, 4000)
	if math.Abs(whole[0].DocsPerS-5) > 1e-12 || whole[0].TextBytes != 4000 {
		t.Errorf("whole corpus: %g docs/s, %d bytes; want 5 and 4000", whole[0].DocsPerS, whole[0].TextBytes)
	}
	corpusRows := make([]int64, engine.Buckets)
	corpusRows[0], corpusRows[15] = 300, 1000
	sample := []Sample{{WallS: 4, Rows: rows, BusyS: busy}}
	project(sample, corpusRows, 500, 1e6)
	// Half a wall second per worker second: 300 × 0.5/30 + 1000 × 3.5/10 = 355 s.
	if want := 500 / 355.0; math.Abs(sample[0].DocsPerS-want) > 1e-12 {
		t.Errorf("sample: %g docs/s, want %g", sample[0].DocsPerS, want)
	}
	// A bucket that no sample saw is priced from its neighbours: 3/14 of the way, in
	// length, from 0.5/30 s at 16 tokens to 0.35 s at 496.
	corpusRows[3] = 100
	gap := []Sample{{WallS: 4, Rows: rows, BusyS: busy}}
	project(gap, corpusRows, 500, 1e6)
	third := 0.5/30 + (112-16.0)/(496-16)*(0.35-0.5/30)
	if want := 500 / (355 + 100*third); math.Abs(gap[0].DocsPerS-want) > 1e-12 {
		t.Errorf("gap: %g docs/s, want %g", gap[0].DocsPerS, want)
	}
	corpusRows[3] = 0
	// A window without short rows takes their cost from the other one.
	long := make([]int64, engine.Buckets)
	longBusy := make([]float64, engine.Buckets)
	long[15], longBusy[15] = 10, 8
	pair := []Sample{{WallS: 4, Rows: rows, BusyS: busy}, {WallS: 4, Rows: long, BusyS: longBusy}}
	project(pair, corpusRows, 500, 1e6)
	if want := 500 / (300*0.5/30 + 1000*0.4); math.Abs(pair[1].DocsPerS-want) > 1e-12 {
		t.Errorf("window: %g docs/s, want %g", pair[1].DocsPerS, want)
	}
}
