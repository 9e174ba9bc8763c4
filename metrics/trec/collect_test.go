package trec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"encbench/metrics/ranking"
)

// spell writes rows in one line.
func spell(rows []twinRow) string {
	var s []string
	for _, r := range rows {
		s = append(s, fmt.Sprintf("%s %s %v", r.query, r.doc, r.score))
	}
	return strings.Join(s, ", ")
}

// Collecting scattered rows gives what a stable sort by query would.
func TestCollect(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	var rows []twinRow
	order := map[string]int{}
	for line := range 120_000 { // several chunks
		r := twinRow{fmt.Sprintf("query-%d", rng.IntN(500)), fmt.Sprintf("d%d", line), float64(rng.IntN(1000)), line + 1}
		fmt.Fprintf(&text, "%s Q0 %s 1 %v t%d\n", r.query, r.doc, r.score, line)
		if _, ok := order[r.query]; !ok {
			order[r.query] = len(order)
		}
		rows = append(rows, r)
	}
	if text.Len() < 2*chunkSize {
		t.Fatalf("%d bytes are too few", text.Len())
	}
	slices.SortStableFunc(rows, func(a, b twinRow) int { return order[a.query] - order[b.query] })
	c, err := Collect(strings.NewReader(text.String()), "run", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, c)
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows, want %d, %v", len(got), len(rows), err)
	}
	for i := range got {
		if !sameRow(got[i], rows[i]) {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], rows[i])
		}
	}
	if s := c.Stats(); s.Rows != int64(len(rows)) || c.Tag() != "t119999" || c.Format() != TREC {
		t.Errorf("account %+v, tag %q, format %v", s, c.Tag(), c.Format())
	}
}

// Names that offsets of 32 bits cannot reach are refused, and what fits in several
// blocks comes in several.
func TestCollectLongNames(t *testing.T) {
	c, err := Collect(strings.NewReader("q long-1 4\nr long-2 3\nr long-3 2\nq long-4 1\ns "+strings.Repeat("x", 21)+" 1\n"), "run", Options{Format: Scores})
	if err != nil {
		t.Fatal(err)
	}
	c.limit = 20
	var b ranking.Block
	for _, want := range []string{"q", "r"} {
		if err := c.Next(&b); err != nil || b.Len() != 1 || string(b.Queries.At(0)) != want || len(b.Score) != 2 {
			t.Errorf("%d queries, %d rows, %v, want query %s", b.Len(), len(b.Score), err, want)
		}
	}
	for range 2 {
		if err := c.Next(&b); err == nil || err.Error() != `run: query "s": the ids of its documents take more than 20 bytes` {
			t.Errorf("error %v", err)
		}
	}
}

func TestCollectPairsAndErrors(t *testing.T) {
	c, err := Collect(strings.NewReader("q d2\nr d1\nq d1\n"), "run", Options{Format: Pairs})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readAll(t, c)
	if got := spell(rows); err != nil || got != "q d2 0, q d1 -1, r d1 0" {
		t.Errorf("%s, %v", got, err)
	}
	const want = "run:2:11: score \"x\" is not a number"
	if _, err := Collect(strings.NewReader("q Q0 d 1 2 t\nq Q0 d2 2 x t\n"), "run", Options{}); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

func TestTag(t *testing.T) {
	r := NewReader(strings.NewReader("q Q0 d 1 2 first\nq Q0 e 1 1 first\nr Q0 d 1 2 last\n\n"), "run", Options{})
	if _, err := readAll(t, r); err != nil || r.Tag() != "last" {
		t.Errorf("tag %q, %v", r.Tag(), err)
	}
}

// What the writer writes reads back to the bit.
func TestWriterRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var b ranking.Block
	var want []twinRow
	for q := range 50 {
		b.Off = append(b.Off, int32(len(b.Score)))
		b.Queries.Append(fmt.Appendf(nil, "q\xff%d", q))
		for range rng.IntN(30) {
			doc, score := fmt.Sprintf("döc%d", rng.Uint64()), rng.NormFloat64()*1e-3
			b.Docs.Append([]byte(doc))
			b.Score = append(b.Score, score)
			want = append(want, twinRow{query: fmt.Sprintf("q\xff%d", q), doc: doc, score: score, line: len(want) + 1})
		}
	}
	b.Off = append(b.Off, int32(len(b.Score)))
	var text bytes.Buffer
	w := NewWriter(&text, "my system")
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := NewReader(&text, "run", Options{})
	got, err := readAll(t, r)
	if err != nil || !slices.EqualFunc(got, want, sameRow) || r.Tag() != "my_system" {
		t.Errorf("%d rows, want %d, tag %q, %v", len(got), len(want), r.Tag(), err)
	}
}

func TestWriterText(t *testing.T) {
	block := func(query, doc string, score float64) *ranking.Block {
		b := &ranking.Block{Off: []int32{0, 1}, Score: []float64{score}}
		b.Queries.Append([]byte(query))
		b.Docs.Append([]byte(doc))
		return b
	}
	var text bytes.Buffer
	w := NewWriter(&text, "")
	w.Digits = 4
	b := block("q", "d", 2.0/3)
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	b.Rank = []int32{7}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := text.String(), "q Q0 d 1 0.6667 encbench\nq Q0 d 7 0.6667 encbench\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	nan := 0.0
	nan /= nan
	for _, c := range []struct {
		b    *ranking.Block
		want string
	}{
		{block("q 1", "d", 1), `write a TREC run: query id "q 1" is empty or holds white space, which a TREC run cannot carry`},
		{block("q", "", 1), `write a TREC run: query "q": document id "" is empty or holds white space, which a TREC run cannot carry`},
		{block("q", "d", nan), `write a TREC run: query "q", document "d": the score is not a number`},
	} {
		w := NewWriter(&text, "t")
		err := w.Write(c.b)
		if err == nil || err.Error() != c.want || w.Close() == nil {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
