package inhouse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/bench/collection"
	"encbench/metrics"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
)

// write makes files below a new folder and gives it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, dir string) *collection.Collection {
	t.Helper()
	c, err := collection.Open(dir, collection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// golden is the worked example: q1 has two relevant documents, at ranks 1 and 2, q2
// one at rank 2, q3 one at rank 3.
var golden = map[string]string{
	"corpus.jsonl": `{"_id":"d1","title":"Reset","text":"How to reset a password."}
{"_id":"d2","text":"Passwords expire\tafter 90 days.\nAsk the desk."}
{"_id":"d3","text":"=HYPERLINK(\"http://example.invalid\") is a formula."}
{"_id":"d4","text":"Vacation is requested in the portal."}
{"_id":"d5","text":"Lunch is at noon."}
`,
	"queries.jsonl": `{"_id":"q1","text":"forgot my password","metadata":{"team":"it"}}
{"_id":"q2","text":"days off","metadata":{"team":"hr"}}
{"_id":"q3","text":"when do we eat","metadata":{"team":"hr"}}
`,
	"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t1\nq2\td4\t1\nq3\td5\t1\n",
}

var goldenRun = map[string][]string{
	"q1": {"d1", "d2", "d3", "d4", "d5"},
	"q2": {"d1", "d4", "d2", "d3", "d5"},
	"q3": {"d1", "d2", "d5", "d3", "d4"},
}

// scores gives falling scores for n ranks.
func scores(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1 - float64(i)/10
	}
	return s
}

func judgeRun(t *testing.T, c *collection.Collection, run map[string][]string, names ...string) *judge.Result {
	t.Helper()
	var list []metrics.Measure
	for _, n := range names {
		m, err := metrics.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	j, err := judge.New(c.Qrels, list, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &ranking.Block{Off: []int32{0}}
	for q, docs := range run {
		b.Queries.Append([]byte(q))
		for i, s := range scores(len(docs)) {
			b.Docs.Append([]byte(docs[i]))
			b.Score = append(b.Score, s)
		}
		b.Off = append(b.Off, int32(len(b.Score)))
	}
	if err := j.Add(b); err != nil {
		t.Fatal(err)
	}
	r, err := j.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(got, want float64) bool { return got > want-5e-5 && got < want+5e-5 }

func TestWorkedExample(t *testing.T) {
	c := open(t, write(t, golden))
	r := judgeRun(t, c, goldenRun, "R@1", "R@5", "RR", "Success@1")
	for i, want := range []float64{0.1667, 1, 0.6111, 0.3333} {
		if !near(r.Mean[i], want) {
			t.Errorf("%s is %.4f, want %.4f", r.Measures[i], r.Mean[i], want)
		}
	}
}

// A query that the run misses is a zero that is counted, never left out; one that
// the labels do not have is counted and otherwise ignored.
func TestMissingQueryIsZeroAndCounted(t *testing.T) {
	c := open(t, write(t, golden))
	run := map[string][]string{"q1": goldenRun["q1"], "q2": goldenRun["q2"], "q9": {"d1"}}
	r := judgeRun(t, c, run, "RR")
	if want := (1 + 0.5 + 0) / 3; !near(r.Mean[0], want) {
		t.Errorf("RR is %v, want %v", r.Mean[0], want)
	}
	if r.Counts.Missing != 1 || r.Counts.Extra != 1 || len(r.Queries) != 3 {
		t.Errorf("%d missing, %d extra of %d queries, want 1, 1 of 3", r.Counts.Missing, r.Counts.Extra, len(r.Queries))
	}
}

func TestBadFolders(t *testing.T) {
	with := func(name, text string) map[string]string {
		files := map[string]string{}
		for n, s := range golden {
			files[n] = s
		}
		files[name] = text
		return files
	}
	for _, c := range []struct {
		what  string
		files map[string]string
		want  string
	}{
		{"one query id with two texts", with("queries.jsonl", golden["queries.jsonl"]+`{"_id":"q1","text":"something else"}`+"\n"),
			`open collection DIR: DIR/queries.jsonl:4: the parts do not fit: query id "q1" has another text at DIR/queries.jsonl:1; give each query an id of its own`},
		{"one document id twice", with("corpus.jsonl", golden["corpus.jsonl"]+`{"_id":"d2","text":"again"}`+"\n"),
			`open collection DIR: DIR/corpus.jsonl:6: the parts do not fit: document id "d2" is that of DIR/corpus.jsonl:2 too; judgements cannot tell them apart`},
	} {
		dir := write(t, c.files)
		_, err := collection.Open(dir, collection.Options{})
		if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != c.want {
			t.Errorf("%s: error %v, want %s", c.what, err, c.want)
		}
	}
}

// A document twice in a ranking would shorten the top k in silence.
func TestRepeatedDocumentInARanking(t *testing.T) {
	f := open(t, write(t, golden))
	m, err := metrics.Parse("R@5")
	if err != nil {
		t.Fatal(err)
	}
	j, err := judge.New(f.Qrels, []metrics.Measure{m}, judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &ranking.Block{Off: []int32{0, 2}, Score: []float64{2, 1}}
	b.Queries.Append([]byte("q1"))
	b.Docs.Append([]byte("d1"))
	b.Docs.Append([]byte("d1"))
	if err := j.Add(b); err == nil || !strings.Contains(err.Error(), `"q1"`) || !strings.Contains(err.Error(), `"d1"`) {
		t.Errorf("error %v, want one that names q1 and d1", err)
	}
}

func TestReadQueries(t *testing.T) {
	got, err := ReadQueries(strings.NewReader("\xef\xbb\xbf"+`{"_id":"q1","text":"a"}
{"id":7,"query":"b"}

{"_id":"q1","text":"a"}
`), "queries.jsonl")
	if err != nil || len(got) != 2 || got[0].ID != "q1" || got[1].ID != "7" || got[1].Text != "b" {
		t.Errorf("queries %+v, %v", got, err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"_id":"q1","text":"a"}` + "\n" + `{"_id":"q1","text":"b"}`, `queries.jsonl:2: query id "q1" has another text at queries.jsonl:1; give each query an id of its own`},
		{`{"text":"a"}`, "queries.jsonl:1: no id (one of _id, id, query_id, query-id, qid)"},
		{`{"_id":"q1","text":" "}`, `queries.jsonl:1: query "q1" has no text`},
		{`{"_id":{},"text":"x"}`, "queries.jsonl:1: no id (one of _id, id, query_id, query-id, qid)"},
		{"[]", "queries.jsonl:1: expected a JSON object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		{"\n", "queries.jsonl: no query"},
	} {
		if _, err := ReadQueries(strings.NewReader(c.text), "queries.jsonl"); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
}

func TestStrata(t *testing.T) {
	queries := []collection.Query{{ID: "q3"}, {ID: "q1"}}
	text := golden["queries.jsonl"]
	got, err := Strata(strings.NewReader(text), "queries.jsonl", queries, "metadata.team")
	if err != nil || len(got) != 2 || got[0] != "hr" || got[1] != "it" {
		t.Errorf("strata %q, %v", got, err)
	}
	for _, c := range []struct {
		field   string
		queries []collection.Query
		want    string
	}{
		{"team", queries, `queries.jsonl:1: query "q1" has no field "team" to split by; it has _id, metadata, text`},
		{"metadata.team.x", queries, `queries.jsonl:1: query "q1" has no field "metadata.team.x" to split by; it has _id, metadata, text`},
		{"metadata", queries, `queries.jsonl:1: query "q1" has no field "metadata" to split by; it has _id, metadata, text`},
		{"text", []collection.Query{{ID: "q7"}}, `query "q7" is not in queries.jsonl, where its "text" was looked for`},
	} {
		if _, err := Strata(strings.NewReader(text), "queries.jsonl", c.queries, c.field); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.field, err, c.want)
		}
	}
}
