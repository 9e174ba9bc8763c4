package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"encbench/bench/inhouse"
)

// writeFiles makes files below the working directory.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inhouseFolder makes mydata, a labelled set of 12 queries and 12 documents of which
// q0 to q9 have a label, and two runs of it: bm25.run finds the document of every
// query first but for q2 and q5, minilm.run second but for q2, which it finds third.
func inhouseFolder(t *testing.T) {
	t.Helper()
	var docs, queries, qrels, first, second strings.Builder
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range 12 {
		fmt.Fprintf(&docs, "{\"_id\":\"d%d\",\"title\":\"Title %d\",\"text\":\"About subject %d,\\tin\\nfull.\"}\n", i, i, i)
		fmt.Fprintf(&queries, "{\"_id\":\"q%d\",\"text\":\"what of subject %d\",\"metadata\":{\"team\":\"%c\"}}\n", i, i, 'a'+i%2)
		if i < 10 {
			fmt.Fprintf(&qrels, "q%d\td%d\t1\n", i, i)
		}
		list := []int{i, (i + 1) % 12, (i + 2) % 12}
		if i == 2 || i == 5 {
			list = []int{(i + 1) % 12, (i + 2) % 12, i}
		}
		for rank, d := range list {
			fmt.Fprintf(&first, "q%d Q0 d%d %d %d bm25\n", i, d, rank+1, 9-rank)
		}
		list = []int{(i + 1) % 12, i, (i + 2) % 12}
		if i == 2 {
			list = []int{(i + 1) % 12, (i + 2) % 12, i}
		}
		for rank, d := range list {
			fmt.Fprintf(&second, "q%d Q0 d%d %d 0.%d minilm\n", i, d, rank+1, 9-rank)
		}
	}
	writeFiles(t, map[string]string{
		"mydata/corpus.jsonl": docs.String(), "mydata/queries.jsonl": queries.String(), "mydata/qrels/test.tsv": qrels.String(),
		"bm25.run": first.String(), "minilm.run": second.String(),
	})
}

// inhouseExamples makes what the examples of the in-house commands need.
func inhouseExamples(t *testing.T) {
	t.Helper()
	inhouseFolder(t)
	mustRun(t, "labels export --data mydata --run bm25.run --run minilm.run --out sheet.csv")
	fillSheet(t, "sheet.csv", "filled.csv", func(document string) string {
		if strings.HasPrefix(document, "Title 11 ") {
			return "2"
		}
		return ""
	})
	mustRun(t, "failures add bm25.run --data mydata --archive failures --cut 1")
}

func mustRun(t *testing.T, line string) string {
	t.Helper()
	r := encbench("", strings.Fields(line)...)
	if r.code != 0 {
		t.Fatalf("%s: exit %d\n%s", line, r.code, r.stderr)
	}
	return r.stdout
}

// fillSheet labels the rows of a sheet by their document.
func fillSheet(t *testing.T, from, to string, label func(document string) string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	if filepath.Ext(from) != ".csv" {
		r.Comma = '\t'
	}
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		row[3] = label(row[2])
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var date = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

func TestLabelsOutAndIn(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	want := `collection  mydata
pool        36 candidates for 12 queries, the first 3 of 2 runs
sheet       sheet.tsv, 36 rows
key         sheet.key.json; keep it from the labellers
`
	if got := mustRun(t, "labels export --data mydata --run bm25.run --run minilm.run --depth 3 --out sheet.tsv"); got != want {
		t.Errorf("export printed\n%s\nwant\n%s", got, want)
	}
	sheet, err := os.ReadFile("sheet.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(sheet), `About subject 3,\tin\nfull.`) || regexp.MustCompile(`\b[qd]\d|bm25|minilm`).Match(sheet) {
		t.Errorf("the sheet is\n%s", sheet)
	}
	// What has a label already is left out on request.
	want = `collection  mydata
pool        24 candidates for 12 queries, the first 2 of 1 run
sheet       more.csv, 16 rows
key         k.json; keep it from the labellers
left out    8 pairs that have a label
cut         12 documents to 8 characters
`
	if got := mustRun(t, "labels export --data mydata --run bm25.run --depth 2 --unjudged --max-chars 8 --key k.json --out more.csv"); got != want {
		t.Errorf("export printed\n%s\nwant\n%s", got, want)
	}

	fillSheet(t, "sheet.tsv", "filled.csv", func(document string) string {
		switch {
		case strings.HasPrefix(document, "Title 11 "):
			return "2"
		case strings.HasPrefix(document, "Title 10 "):
			return "0"
		}
		return ""
	})
	want = `sheets      1, 6 labels of 36
unjudged    30 rows
grades      0: 3, 1: 0, 2: 3, 3: 0
judgements  mydata/qrels/test.tsv: 6 added, 0 there already, 0 replaced
use         encbench eval --data mydata
`
	if got := mustRun(t, "labels import filled.csv --key sheet.key.json --out mydata/qrels/test.tsv"); got != want {
		t.Errorf("import printed\n%s\nwant\n%s", got, want)
	}
	qrels, err := os.ReadFile("mydata/qrels/test.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(qrels); !strings.HasPrefix(got, "query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td1\t1\n") || !strings.Contains(got, "\nq11\td11\t2\n") || strings.Count(got, "\n") != 17 {
		t.Errorf("judgements are\n%s", got)
	}
	// A second labeller who agrees adds nothing; the old labels stay.
	want = `sheets       2, 6 labels of 36
unjudged     30 rows
grades       0: 3, 1: 0, 2: 3, 3: 0
given twice  6 labels, all alike
judgements   mydata/qrels/test.tsv: 0 added, 6 there already, 0 replaced
use          encbench eval --data mydata
`
	if got := mustRun(t, "labels import filled.csv filled.csv --key sheet.key.json --out mydata/qrels/test.tsv"); got != want {
		t.Errorf("import printed\n%s\nwant\n%s", got, want)
	}

	// Another opinion is a conflict, and nothing is written.
	fillSheet(t, "sheet.tsv", "other.csv", func(document string) string {
		if strings.HasPrefix(document, "Title 11 ") {
			return "3"
		}
		return ""
	})
	r := encbench("", strings.Fields("labels import other.csv --key sheet.key.json --out mydata/qrels/test.tsv")...)
	message := regexp.MustCompile(`^encbench labels import: add to mydata/qrels/test.tsv: labels contradict existing ones:\n` +
		`  other.csv:\d+: query "q10", document "d11": label 3, existing 2\n` +
		`  other.csv:\d+: query "q11", document "d11": label 3, existing 2\n` +
		`  other.csv:\d+: query "q9", document "d11": label 3, existing 2\n` +
		`use --replace to take the new ones\n$`)
	if r.code != 1 || !message.MatchString(r.stderr) {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	if after, err := os.ReadFile("mydata/qrels/test.tsv"); err != nil || string(after) != string(qrels) {
		t.Errorf("the judgements became\n%s, %v", after, err)
	}
	want = "judgements  mydata/qrels/test.tsv: 0 added, 0 there already, 3 replaced\nuse         encbench eval --data mydata\n"
	if got := mustRun(t, "labels import other.csv --key sheet.key.json --out mydata/qrels/test.tsv --replace"); !strings.HasSuffix(got, want) {
		t.Errorf("import printed\n%s\nwant at its end\n%s", got, want)
	}
}

// Labellers who import at the same time lose nothing.
func TestLabelsImportAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	mustRun(t, "labels export --data mydata --run bm25.run --out sheet.csv")
	var running sync.WaitGroup
	for i := range 12 {
		name := fmt.Sprintf("filled%d.csv", i)
		fillSheet(t, "sheet.csv", name, func(document string) string {
			if strings.HasPrefix(document, fmt.Sprintf("Title %d ", i)) {
				return "2"
			}
			return ""
		})
		running.Go(func() {
			if r := encbench("", "labels", "import", name, "--key", "sheet.key.json", "--out", "q.tsv"); r.code != 0 {
				t.Errorf("exit %d, %s", r.code, r.stderr)
			}
		})
	}
	running.Wait()
	if qrels, err := os.ReadFile("q.tsv"); err != nil || strings.Count(string(qrels), "\n") != 37 {
		t.Errorf("%v, %d lines, want 36 labels and a header", err, strings.Count(string(qrels), "\n"))
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestLabelsErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	mustRun(t, "labels export --data mydata --run bm25.run --out sheet.csv")
	fillSheet(t, "sheet.csv", "filled.csv", func(document string) string {
		if strings.HasPrefix(document, "Title 7 ") {
			return "1"
		}
		return ""
	})
	writeFiles(t, map[string]string{
		"trec.qrels": "q1 0 d1 1\n", "row.csv": "row,label\n99-x,1\n",
		"foreign.run": "q1 Q0 nowhere 1 1 x\n", "unlabelled/corpus.jsonl": `{"_id":"d","text":"x"}`, "unlabelled/queries.jsonl": `{"_id":"q","text":"x"}`,
	})
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"labels export", "--data: name the collection", 2},
		{"labels export --data mydata", "--out: name the sheet, sheet.csv or sheet.tsv", 2},
		{"labels export --data mydata --run bm25.run", "--out: name the sheet, sheet.csv or sheet.tsv", 2},
		{"labels export --data mydata --run bm25.run --out s.csv --depth 0", "--depth 0: expected 1 or more", 2},
		{"labels export --data mydata --run bm25.run --out s.csv --max-chars -1", "--max-chars -1: expected 1 or more", 2},
		{"labels export --data mydata --run bm25.run --out s.csv --grades 1,x", `--grades "1,x": expected numbers with commas between, such as 0,1,2,3`, 2},
		{"labels export --data mydata --run bm25.run --out s.csv --grades inf", `--grades "inf": expected numbers with commas between, such as 0,1,2,3`, 2},
		{"labels export --data mydata --run bm25.run --out trec.qrels", "--out trec.qrels exists and is no earlier result; name another file, or remove it", 2},
		{"labels export --data mydata --run gone.run --out s.csv", "run: open input: open gone.run: no such file or directory", 1},
		{"labels export --data mydata --run foreign.run --out s.csv", `make the sheet: 1 document of the runs is not in mydata, the first "nowhere"; were the runs made on another collection?`, 1},
		{"labels export --data mydata --run bm25.run --out s.csv --key ./s.csv", "--key ./s.csv: it is the sheet; name another file", 2},
		{"labels export --data mydata --run bm25.run --out filled.csv", "--out filled.csv: 3 labels filled in there already, which would be lost; name another file, or import and remove it", 2},
		{"labels import", "labels import takes one sheet or more, none given", 2},
		{"labels import sheet.csv", "--key: name the file that labels export wrote beside the sheet", 2},
		{"labels import sheet.csv --key sheet.key.json", "--out: name the file for the judgements, such as DIR/qrels/test.tsv of the collection", 2},
		{"labels import sheet.csv --key gone.json --out q.tsv", "--key: open gone.json: no such file or directory", 1},
		{"labels import sheet.csv --key sheet.key.json --out trec.qrels", "--out trec.qrels exists and is no earlier result; name another file, or remove it", 2},
		{"labels import sheet.csv --key sheet.key.json --out q.tsv", "no row of sheet.csv has a label; nothing was written", 1},
		{"labels import row.csv --key sheet.key.json --out q.tsv", "read sheet row.csv: the sheet cannot be used:\n  row.csv:2: unknown row \"99-x\": the key has 36 rows, such as \"ROW\"; is it another sheet's key?", 1},
		{"labels split", "labels split takes one collection, 0 given", 2},
		{"labels split mydata --share 2", "split mydata: a held-out share of 2: expected more than 0 and less than 1", 2},
		{"labels split mydata --share 0", "--share 0: expected more than 0 and less than 1", 2},
		{"labels split mydata --salt=", "--salt: no text given", 2},
		{"labels split mydata --by=", "--by: name a field of queries.jsonl, such as metadata.team", 2},
		{"labels split mydata", "split mydata: no split recorded; encbench labels split mydata --share 0.5", 1},
		{"labels split techdocs-qa --share 0.5", "techdocs-qa lies in the cache, which all projects on this machine share, and so would its split; copy the file that `encbench corpus show techdocs-qa` names, and split the copy", 2},
		{"labels split nope", `unknown collection "nope": neither a folder or file nor one of: techdocs-qa`, 2},
		{"labels export --data mydata --run bm25.run --depth 2 --out sheet.csv", "--key sheet.key.json is the key of another sheet, whose labels could not be read back without it; choose another name for --out, or for --key", 2},
		{"labels import filled.csv --key sheet.key.json --out qrels/new.tsv", "--out qrels/new.tsv: there is no folder qrels; name a file in the qrels folder of the collection, as in DIR/qrels/test.tsv", 2},
		{"labels split mydata --by team", `split mydata: mydata/queries.jsonl:1: query "q0" has no field "team" to split by; it has _id, metadata, text`, 1},
	} {
		r := encbench("", strings.Fields(c.line)...)
		want := "encbench " + strings.Join(strings.Fields(c.line)[:2], " ") + ": " + c.want + "\n"
		if c.code == exitUsage {
			want += "See `encbench " + strings.Join(strings.Fields(c.line)[:2], " ") + " --help`.\n"
		}
		got := regexp.MustCompile(`"01-[0-9a-f]{6}"`).ReplaceAllString(r.stderr, `"ROW"`)
		if r.code != c.code || got != want {
			t.Errorf("%s: exit %d\n%s\nwant %d\n%s", c.line, r.code, got, c.code, want)
		}
	}
	for _, name := range []string{"q.tsv", "qrels", "mydata/heldout.json"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	// A set without a single label can be labelled.
	writeFiles(t, map[string]string{"u.run": "q Q0 d 1 1 x\n"})
	if got := mustRun(t, "labels export --data unlabelled --run u.run --unjudged --out u.csv"); !strings.Contains(got, "sheet       u.csv, 1 row\n") {
		t.Errorf("export printed\n%s", got)
	}
}

func TestLabelsSplit(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	got := mustRun(t, "labels split mydata --share 0.4 --by metadata.team")
	want := `collection       mydata (test)
rule             salt "encbench", share 0.4
dev              6 queries
held out         4 queries
metadata.team a  3 dev, 2 held out
metadata.team b  3 dev, 2 held out
digest           DIGEST
ledger           mydata/heldout.json
looks            0 at the held-out part
`
	if got := regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(got, "DIGEST"); got != want {
		t.Errorf("split printed\n%s\nwant\n%s", got, want)
	}
	if again := mustRun(t, "labels split mydata"); again != got {
		t.Errorf("split printed\n%s\nthen\n%s", got, again)
	}
	l, err := inhouse.ReadLedger("mydata/heldout.json")
	if err != nil || l.Share != 0.4 || len(l.Assigned) != 10 {
		t.Errorf("ledger %+v, %v", l, err)
	}
	if again := mustRun(t, "labels split mydata --share 0.4"); again != got {
		t.Errorf("the recorded share given again printed\n%s", again)
	}
	r := encbench("", strings.Fields("labels split mydata --share 0.3")...)
	if want := "encbench labels split: split mydata: a held-out share of 0.3: mydata/heldout.json has 0.4 and 0 looks; leave it out to use the recorded split, or remove the file to begin a new one, whose looks start at 0\nSee `encbench labels split --help`.\n"; r.code != exitUsage || r.stderr != want {
		t.Errorf("exit %d, %s\nwant %s", r.code, r.stderr, want)
	}
}

func TestFailuresCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	for _, step := range []struct{ line, want string }{
		{"failures add bm25.run --data mydata --archive arch --cut 1", `run 1, bm25.run on mydata (test): 2 of 10 queries have no relevant document among the first 1 (2 new, 0 reopened), 0 fixed
`},
		{"failures add minilm.run --data mydata --archive arch --cut 2 --model MiniLM", `run 2, MiniLM on mydata (test): 1 of 10 queries have no relevant document among the first 2 (0 new, 0 reopened), 1 fixed
`},
		{"failures list arch", `run 2, MiniLM on mydata (test): 1 of 10 queries have no relevant document among the first 2 (0 new, 0 reopened), 1 fixed

STATUS  QUERY  FAILED IN  BEST RANK  TEXT
open    q2     2 runs     3          what of subject 2
`},
		{"failures list arch --status all", `run 2, MiniLM on mydata (test): 1 of 10 queries have no relevant document among the first 2 (0 new, 0 reopened), 1 fixed

STATUS  QUERY  FAILED IN  BEST RANK  TEXT
open    q2     2 runs     3          what of subject 2
fixed   q5     1 run      3          what of subject 5
`},
		{"failures list arch --collection other", `run 2, MiniLM on mydata (test): 1 of 10 queries have no relevant document among the first 2 (0 new, 0 reopened), 1 fixed

no query is failing
`},
		{"failures show arch q2", `query         q2
text          what of subject 2
collection    mydata (test)
status        open
last failure  run 2, MiniLM, no relevant document among the first 2

expected
  RANK  SCORE  GRADE  DOCUMENT
  3     0.7    1      d2

found
  RANK  SCORE  GRADE     DOCUMENT
  1     0.9    unjudged  d3
  2     0.8    unjudged  d4

history
  run 1  DATE  bm25.run  open, best rank 3
  run 2  DATE  MiniLM    open, best rank 3
`},
		{"failures add bm25.run --data mydata --archive arch --cut 1", `run 3, bm25.run on mydata (test): 2 of 10 queries have no relevant document among the first 1 (0 new, 1 reopened), 0 fixed
`},
		{"failures show arch q5", `query         q5
text          what of subject 5
collection    mydata (test)
status        reopened
last failure  run 3, bm25.run, no relevant document among the first 1

expected
  RANK  SCORE  GRADE  DOCUMENT
  3     7      1      d5

found
  RANK  SCORE  GRADE     DOCUMENT
  1     9      unjudged  d6

history
  run 1  DATE  bm25.run  open, best rank 3
  run 2  DATE  MiniLM    fixed
  run 3  DATE  bm25.run  reopened, best rank 3
`},
	} {
		if got := date.ReplaceAllString(mustRun(t, step.line), "DATE"); got != step.want {
			t.Errorf("%s printed\n%s\nwant\n%s", step.line, got, step.want)
		}
	}
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"failures add", "failures add takes one run, 0 given", 2},
		{"failures add bm25.run", "--data: name the collection", 2},
		{"failures add bm25.run --data mydata", "--archive: name the folder of the archive", 2},
		{"failures add bm25.run --data mydata --archive arch --cut 0", "--cut 0: expected 1 or more", 2},
		{"failures list", "failures list takes one archive, 0 given", 2},
		{"failures list mydata", "mydata holds no archive of failures; make one with failures add, or with eval --failures", 1},
		{"failures list arch --status broken", `--status "broken": failing, open, reopened, fixed or all`, 2},
		{"failures show arch", "failures show takes an archive and a query, 1 given", 2},
		{"failures show arch q0", "query \"q0\" never failed in arch; `encbench failures list arch --status all` lists those that did", 1},
	} {
		r := encbench("", strings.Fields(c.line)...)
		name := strings.Join(strings.Fields(c.line)[:2], " ")
		want := "encbench " + name + ": " + c.want + "\n"
		if c.code == exitUsage {
			want += "See `encbench " + name + " --help`.\n"
		}
		if r.code != c.code || r.stderr != want {
			t.Errorf("%s: exit %d\n%s\nwant %d\n%s", c.line, r.code, r.stderr, c.code, want)
		}
	}
}

// With a recorded held-out part, failures add takes the dev part's queries alone.
func TestFailuresLeaveTheHeldOutPartOut(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	mustRun(t, "labels split mydata --share 0.4 --by metadata.team")
	got := mustRun(t, "failures add minilm.run --data mydata --archive arch --cut 1")
	if want := "run 1, minilm.run on mydata (test) [dev]: 6 of 6 queries have no relevant document among the first 1 (6 new, 0 reopened), 0 fixed\n"; got != want {
		t.Errorf("printed %s, want %s", got, want)
	}
}
