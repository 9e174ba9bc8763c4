package inhouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"encbench/bench/collection"
)

// failuresOf collects the failures of a run within its first cut documents.
func failuresOf(t *testing.T, c *collection.Collection, cut int, run map[string][]string) *Failures {
	t.Helper()
	f := NewFailures(c, cut)
	for q, docs := range run {
		if err := f.Add(q, docs, scores(len(docs))); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestFailures(t *testing.T) {
	files := map[string]string{}
	for n, s := range golden {
		files[n] = s
	}
	files["queries.jsonl"] += `{"_id":"q4","text":"nothing fits"}` + "\n" + `{"_id":"q5","text":"never ranked"}` + "\n"
	files["qrels/test.tsv"] += "q2\td1\t0\nq2\td2\t3\nq4\td1\t0\nq5\td1\t1\n"
	c := open(t, write(t, files))
	run := map[string][]string{"q4": {"d1"}, "q9": {"d1"}}
	for q, docs := range goldenRun {
		run[q] = docs
	}
	f := failuresOf(t, c, 1, run)
	missed := f.Missed()
	var names []string
	for _, m := range missed {
		names = append(names, m.Query)
	}
	if got := fmt.Sprint(names); got != "[q2 q3 q5]" || f.relevant != 4 || f.Unknown != 1 || f.cut != 1 {
		t.Fatalf("missed %s of %d, %d unknown, want q2, q3 and q5 of 4, 1", got, f.relevant, f.Unknown)
	}
	q2 := missed[0]
	if q2.Text != "days off" || q2.Missing || q2.Best() != 2 || len(q2.Expected) != 2 || len(q2.Found) != 1 {
		t.Errorf("q2 is %+v", q2)
	}
	if e := q2.Expected[0]; e.ID != "d2" || e.Grade != 3 || e.Rank != 3 || e.Score == nil || *e.Score != 0.8 {
		t.Errorf("q2 expected first %+v, want d2 of grade 3 at rank 3", e)
	}
	if d := q2.Found[0]; d.ID != "d1" || d.Score != 1 || d.Grade == nil || *d.Grade != 0 {
		t.Errorf("q2 found %+v, want d1 with its label 0", d)
	}
	if q5 := missed[2]; !q5.Missing || q5.Best() != 0 || len(q5.Found) != 0 || q5.Expected[0].Score != nil {
		t.Errorf("q5 is %+v, want a query without a ranking", q5)
	}
	if none := failuresOf(t, c, 3, run).Missed(); len(none) != 1 || none[0].Query != "q5" {
		t.Errorf("within 3 documents %+v fail, want q5", none)
	}
}

func TestFailuresKeepTheFirstExpected(t *testing.T) {
	var rels strings.Builder
	rels.WriteString("query-id\tcorpus-id\tscore\n")
	var docs strings.Builder
	for i := range 70 {
		fmt.Fprintf(&rels, "q1\tr%d\t%d\n", i, 1+i%2)
		fmt.Fprintf(&docs, "{\"_id\":\"r%d\",\"text\":\"x\"}\n", i)
	}
	docs.WriteString("{\"_id\":\"no\",\"text\":\"y\"}\n")
	c := open(t, write(t, map[string]string{"corpus.jsonl": docs.String(), "queries.jsonl": `{"_id":"q1","text":"t"}`, "qrels/test.tsv": rels.String()}))
	f := failuresOf(t, c, 1, map[string][]string{"q1": {"no", "r2", "r1"}})
	m := f.Missed()
	if len(m) != 1 || len(m[0].Expected) != 50 || m[0].More != 20 || m[0].Expected[0].ID != "r1" || m[0].Expected[0].Rank != 3 || m[0].Expected[35].ID != "r2" {
		t.Errorf("missed %+v", m)
	}
}

func TestFailuresRefuse(t *testing.T) {
	c := open(t, write(t, golden))
	f := NewFailures(c, 10)
	if err := f.Add("q1", []string{"d3"}, []float64{math.NaN()}); err == nil || err.Error() != "failures of "+c.Name+`: query "q1", document "d3": score NaN` {
		t.Errorf("a score that is no number: %v", err)
	}
	if err := f.Add("q2", []string{"d3"}, []float64{1}); err != nil {
		t.Fatal(err)
	}
	if err := f.Add("q2", []string{"d3"}, []float64{1}); err == nil || err.Error() != "failures of "+c.Name+`: query "q2" has two rankings` {
		t.Errorf("a second ranking: %v", err)
	}
}

func record(t *testing.T, dir string, f *Failures) ArchivedRun {
	t.Helper()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	r, err := Record(context.Background(), dir, ArchivedRun{Model: "m", Time: at}, Dev, f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func better(q string, docs ...string) map[string][]string {
	run := map[string][]string{}
	for name, list := range goldenRun {
		run[name] = list
	}
	run[q] = docs
	return run
}

// A failure is open, is fixed by a later run, and reopened by one after that.
func TestArchiveFollowsQueries(t *testing.T) {
	c, dir := open(t, write(t, golden)), filepath.Join(t.TempDir(), "failures")
	statuses := func() string {
		a, err := ReadArchive(dir)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, e := range a.Entries {
			s = append(s, fmt.Sprintf("%s %s %d", e.Events[0].Query, e.Status, e.Times()))
		}
		return strings.Join(s, ", ")
	}
	for _, step := range []struct {
		run                        map[string][]string
		failed, new, fixed, reopen int
		statuses                   string
	}{
		{goldenRun, 2, 2, 0, 0, "q2 open 1, q3 open 1"},
		{better("q2", "d4", "d1"), 1, 0, 1, 0, "q2 fixed 1, q3 open 2"},
		{better("q2", "d4", "d1"), 1, 0, 0, 0, "q2 fixed 1, q3 open 3"},
		{goldenRun, 2, 0, 0, 1, "q2 reopened 2, q3 open 4"},
		{better("q1", "d3", "d1"), 3, 1, 0, 0, "q2 reopened 3, q3 open 5, q1 open 1"},
		{better("q3", "d5"), 1, 0, 2, 0, "q2 reopened 4, q3 fixed 5, q1 fixed 1"},
	} {
		r := record(t, dir, failuresOf(t, c, 1, step.run))
		if r.Failed != step.failed || r.New != step.new || r.Fixed != step.fixed || r.Reopened != step.reopen || r.Queries != 3 || r.Cut != 1 {
			t.Errorf("run %+v, want %d failed, %d new, %d fixed, %d reopened", r, step.failed, step.new, step.fixed, step.reopen)
		}
		if got := statuses(); got != step.statuses {
			t.Errorf("after run %d: %s, want %s", r.Run, got, step.statuses)
		}
	}
	a, err := ReadArchive(dir)
	if err != nil || len(a.Runs) != 6 || a.Runs[3].Run != 4 {
		t.Fatalf("%d runs, %v", len(a.Runs), err)
	}
	if e := a.Find("q3"); len(e) != 1 || e[0].Latest().Run != 5 || e[0].Latest().Found[0].ID != "d1" {
		t.Errorf("history of q3 %+v", e)
	}
	if a.Find("q7") != nil {
		t.Error("a query that never failed has a history")
	}
}

// The dev part's queries are those of the whole; another collection's are not.
func TestArchiveTellsCollectionsApart(t *testing.T) {
	c, dir := open(t, write(t, golden)), t.TempDir()
	record(t, dir, failuresOf(t, c, 1, goldenRun))
	s := split(t, Plan{Salt: "s", Share: 0.5}, c.Queries, nil, nil)
	dev, err := s.Take(c, Dev)
	if err != nil {
		t.Fatal(err)
	}
	r := record(t, dir, failuresOf(t, dev, 10, goldenRun))
	if r.New != 0 || r.Fixed != len(dev.Queries)-map[bool]int{true: 1}[dev.Queries[0].ID == "q1"] {
		t.Errorf("dev run %+v of %d queries", r, len(dev.Queries))
	}
	other := *c
	other.Name = "another"
	if r := record(t, dir, failuresOf(t, &other, 1, goldenRun)); r.New != 2 {
		t.Errorf("another collection's run %+v", r)
	}
	if a, err := ReadArchive(dir); err != nil || len(a.Find("q2")) != 2 {
		t.Errorf("histories of q2 %+v, %v", a.Find("q2"), err)
	}
}

func TestHeldOutFailuresAreNotArchived(t *testing.T) {
	c, dir := open(t, write(t, golden)), t.TempDir()
	_, err := Record(context.Background(), dir, ArchivedRun{}, HeldOut, failuresOf(t, c, 1, goldenRun))
	if !errors.Is(err, ErrHeldOut) || err.Error() != "failures of the held-out part are not archived: whoever reads them tunes on them; use the dev part" {
		t.Errorf("error %v", err)
	}
	if _, err := ReadArchive(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive was made: %v", err)
	}
}

// A run that was cut short is not seen, and the next one takes its place.
func TestArchiveAfterACrash(t *testing.T) {
	c, dir := open(t, write(t, golden)), t.TempDir()
	path := filepath.Join(dir, archiveFile)
	record(t, dir, failuresOf(t, c, 1, goldenRun))
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record(t, dir, failuresOf(t, c, 1, better("q2", "d4")))
	both, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(first); cut < len(both); cut += 7 {
		if err := os.WriteFile(path, both[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := ReadArchive(dir)
		if err != nil || len(a.Runs) != 1 || a.whole != int64(len(first)) {
			t.Fatalf("cut at %d: %d runs, %v", cut, len(a.Runs), err)
		}
		record(t, dir, failuresOf(t, c, 1, better("q2", "d4")))
		if got, err := os.ReadFile(path); err != nil || string(got) != string(both) {
			t.Fatalf("cut at %d: the run written again differs, %v\n%s", cut, err, got)
		}
	}
}

func TestArchiveWithManyWriters(t *testing.T) {
	c, dir := open(t, write(t, golden)), filepath.Join(t.TempDir(), "a", "b")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { record(t, dir, failuresOf(t, c, 1, goldenRun)) })
	}
	wg.Wait()
	a, err := ReadArchive(dir)
	if err != nil || len(a.Runs) != 8 || a.Entries[0].Times() != 8 {
		t.Errorf("%d runs, %v", len(a.Runs), err)
	}
}

func TestBadArchives(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\n", "read archive A/failures.jsonl:1: unexpected end of JSON input"},
		{`{"run":2,"lines":0}` + "\n", "read archive A/failures.jsonl:1: run 2, expected 1: lines are missing or doubled"},
		{`{"run":1,"lines":1}` + "\n" + `{"run":2,"status":"open","query":"q"}` + "\n", "read archive A/failures.jsonl:2: a failure of run 2 within run 1: lines are missing or doubled"},
	} {
		dir := write(t, map[string]string{archiveFile: c.text})
		if _, err := ReadArchive(dir); err == nil || strings.ReplaceAll(err.Error(), dir, "A") != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
		if _, err := Record(context.Background(), dir, ArchivedRun{}, All, NewFailures(open(t, write(t, golden)), 1)); err == nil || !strings.HasPrefix(err.Error(), "archive failures: read archive ") {
			t.Errorf("%s is written to: %v", c.text, err)
		}
	}
}

// A file that only has the name of an archive's keeps what is in it.
func TestRecordLeavesAnotherFileAlone(t *testing.T) {
	c := open(t, write(t, golden))
	for text, want := range map[string]string{
		"my notes":               `archive failures: read archive F:1: a line that begins with "my notes" is none of an archive; name another folder`,
		`{"query":"q","rank":3}`: `archive failures: read archive F:1: a line that begins with "{\"query\":\"q\",\"rank\":" is none of an archive; name another folder`,
		"{\"query\":\"q\"}\n":    `archive failures: read archive F:1: run 0, expected 1: lines are missing or doubled`,
	} {
		dir := write(t, map[string]string{archiveFile: text})
		path := filepath.Join(dir, archiveFile)
		_, err := Record(context.Background(), dir, ArchivedRun{}, Dev, failuresOf(t, c, 1, goldenRun))
		if err == nil || strings.ReplaceAll(err.Error(), path, "F") != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}
