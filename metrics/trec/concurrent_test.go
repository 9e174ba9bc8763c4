package trec

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"encbench/metrics/judge"
	"encbench/metrics/ranking"
)

// manyChunks is a run of several chunks; the score at line bad, if any, is none.
func manyChunks(bad int) string {
	var b strings.Builder
	for line := range 120_000 {
		score := fmt.Sprint(120_000 - line)
		if line+1 == bad {
			score = "x"
		}
		fmt.Fprintf(&b, "query%d Q0 document-%d 1 %s tag%d\n", line/700, line, score, line)
	}
	return b.String()
}

// Several goroutines get every row once, and Seq tells the order.
func TestReaderConcurrently(t *testing.T) {
	text := manyChunks(0)
	want, err := readAll(t, NewReader(strings.NewReader(text), "run", Options{}))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]ranking.Source{"reader": NewReader(strings.NewReader(text), "run", Options{})}
	if sources["collected"], err = Collect(strings.NewReader(text), "run", Options{}); err != nil {
		t.Fatal(err)
	}
	for name, src := range sources {
		var mu sync.Mutex
		var wg sync.WaitGroup
		parts := map[int][]twinRow{}
		for range 4 {
			wg.Go(func() {
				var b ranking.Block
				for {
					err := src.Next(&b)
					if errors.Is(err, io.EOF) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					var rows []twinRow
					for q := range b.Len() {
						from, to := b.Rows(q)
						for row := from; row < to; row++ {
							rows = append(rows, twinRow{query: string(b.Queries.At(q)), doc: string(b.DocAt(row)), score: b.Score[row]})
						}
					}
					mu.Lock()
					parts[b.Seq] = rows
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		var got []twinRow
		for seq := range len(parts) {
			got = append(got, parts[seq]...)
		}
		if len(parts) < 3 || !slices.EqualFunc(got, want, sameRow) {
			t.Errorf("%s: %d rows in %d blocks, want %d", name, len(got), len(parts), len(want))
		}
	}
}

// The error is the first of the file, and the tag that of its last row, whatever
// the number of goroutines.
func TestRunConcurrently(t *testing.T) {
	q := new(judge.Qrels)
	if err := q.Add("query1", "document-700", 1); err != nil {
		t.Fatal(err)
	}
	for workers := 1; workers <= 4; workers++ {
		j, err := judge.New(q, nil, judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(strings.NewReader(manyChunks(0)), "run", Options{})
		if err := j.Run(t.Context(), r, workers); err != nil {
			t.Fatal(err)
		}
		res, err := j.Result()
		if err != nil || res.Counts.Rows != 120_000 || res.Counts.JudgedRows != 1 || r.Tag() != "tag119999" || r.Stats().Rows != 120_000 || r.Stats().Lines != 120_000 {
			t.Errorf("%d goroutines: %+v, tag %q, %v", workers, res, r.Tag(), err)
		}
		text := manyChunks(90_001)
		at := strings.Index(text, " x ")
		text = text[:at] + " y " + text[at+3:] + "query0 Q0 late 1 1 t\n"
		if j, err = judge.New(q, nil, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		err = j.Run(t.Context(), NewReader(strings.NewReader(text), "run", Options{}), workers)
		const want = `run:90001:30: score "y" is not a number`
		if err == nil || err.Error() != want {
			t.Errorf("%d goroutines: %v, want %s", workers, err, want)
		}
	}
}
