package peers

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

func text(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLists(t *testing.T) {
	l := Lists{Queries: 40, Depth: 300, Judged: 10, Documents: 100_000, Seed: 3}
	run := text(t, func(b *bytes.Buffer) error { return l.WriteRun(b) })
	qrels := text(t, func(b *bytes.Buffer) error { return l.WriteQrels(b) })
	if again := text(t, func(b *bytes.Buffer) error { return l.WriteRun(b) }); again != run {
		t.Error("a second writing differs")
	}
	ranked := map[string]bool{}
	last, query, lines := 0.0, "", 0
	for line := range strings.Lines(run) {
		lines++
		f := strings.Fields(line)
		if len(f) != 6 || f[1] != "Q0" || f[5] != "made" {
			t.Fatalf("line %d: %q", lines, line)
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || f[0] == query && score >= last {
			t.Fatalf("line %d: score %v after %v (%v)", lines, score, last, err)
		}
		if ranked[f[0]+" "+f[2]] {
			t.Fatalf("line %d: document %s twice", lines, f[2])
		}
		ranked[f[0]+" "+f[2]] = true
		query, last = f[0], score
	}
	if lines != 40*300 {
		t.Errorf("%d lines", lines)
	}
	found, judged, relevant := 0, 0, map[string]bool{}
	for line := range strings.Lines(qrels) {
		f := strings.Fields(line)
		if len(f) != 4 || len(f[3]) != 1 || f[3] > "3" {
			t.Fatalf("judgement %q", line)
		}
		judged++
		if ranked[f[0]+" "+f[2]] {
			found++
		}
		if f[3] > "0" {
			relevant[f[0]] = true
		}
	}
	if judged != 400 || found != 200 || len(relevant) != 40 {
		t.Errorf("%d judgements, %d of them ranked, %d queries with a relevant document", judged, found, len(relevant))
	}
}

func TestListsWithTies(t *testing.T) {
	l := Lists{Queries: 50, Depth: 40, Judged: 12, Documents: 500, Seed: 3, Ties: true}
	run := text(t, func(b *bytes.Buffer) error { return l.WriteRun(b) })
	scores, queries := map[string]int{}, map[string]int{}
	for line := range strings.Lines(run) {
		f := strings.Fields(line)
		scores[f[0]+" "+f[4]]++
		queries[f[0]]++
	}
	tied := 0
	for _, n := range scores {
		if n > 1 {
			tied++
		}
	}
	short := 0
	for _, n := range queries {
		if n < 20 {
			short++
		}
	}
	if tied < 200 || short < 5 || len(queries) != 45 {
		t.Errorf("%d groups of ties, %d short lists, %d queries of 50", tied, short, len(queries))
	}
}

func TestListsWriteErrors(t *testing.T) {
	l := Lists{Queries: 1, Depth: 2, Judged: 2, Documents: 10}
	if err := l.WriteRun(fullDisk{}); err == nil || err.Error() != "write a run: bytes.Buffer: too large" {
		t.Errorf("run: %v", err)
	}
	if err := l.WriteQrels(fullDisk{}); err == nil || err.Error() != "write judgements: bytes.Buffer: too large" {
		t.Errorf("judgements: %v", err)
	}
}
