package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"encbench/bench/collection"
	"encbench/bench/inhouse"
)

// Labelling can begin with documents and queries alone, and its first labels make a
// collection that eval reads.
func TestLabelsFromZero(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	if err := os.RemoveAll("mydata/qrels"); err != nil {
		t.Fatal(err)
	}
	want := `collection  mydata
pool        24 candidates for 12 queries, the first 2 of BM25(k1=0.9,b=0.4)
sheet       first.csv, 24 rows
key         first.key.json; keep it from the labellers
`
	if got := mustRun(t, "labels export --data mydata --depth 2 --out first.csv"); got != want {
		t.Errorf("export printed\n%s\nwant\n%s", got, want)
	}
	f, err := os.Open("first.key.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	key, err := inhouse.ReadKey(f, "first.key.json")
	if err != nil || len(key.SHA256) != 64 || len(key.Runs) != 1 || key.Runs[0].Name != "BM25(k1=0.9,b=0.4)" {
		t.Fatalf("key %+v, %v", key, err)
	}
	// BM25 finds the document of the query's own subject.
	found := map[string]bool{}
	for _, r := range key.Rows {
		found[r.Query+r.Document] = true
	}
	for _, pair := range []string{"q0d0", "q7d7", "q11d11"} {
		if !found[pair] {
			t.Errorf("%s is not pooled: %v", pair, found)
		}
	}
	want = "pool        35 candidates for 12 queries, the first 2 of 1 run and BM25(k1=0.9,b=0.4)\n"
	if got := mustRun(t, "labels export --data mydata --run minilm.run --bm25 --depth 2 --out both.csv"); !strings.Contains(got, want) {
		t.Errorf("export printed\n%s\nwant in it\n%s", got, want)
	}
	fillSheet(t, "first.csv", "filled.csv", func(document string) string {
		if strings.HasPrefix(document, "Title 11 ") {
			return "1"
		}
		return ""
	})
	got := mustRun(t, "labels import filled.csv --key first.key.json --out mydata/qrels/test.tsv")
	if !strings.HasSuffix(got, "\nuse         encbench eval --data mydata\n") {
		t.Errorf("import printed\n%s", got)
	}
	if c, err := collection.Open("mydata", collection.Options{}); err != nil || len(c.Queries) == 0 {
		t.Errorf("the labelled collection: %v", err)
	}
}

// What import says is how the judgements come to use.
func TestLabelsImportSaysHowToGoOn(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	mustRun(t, "labels export --data mydata --run bm25.run --out sheet.csv")
	fillSheet(t, "sheet.csv", "filled.csv", func(string) string { return "1" })
	for out, want := range map[string]string{
		"mydata/qrels/new.tsv":  "encbench eval --data mydata --split new",
		"mydata/qrels/test.tsv": "encbench eval --data mydata",
		"mine.tsv":              "encbench score mine.tsv RUN; eval reads it as DIR/qrels/test.tsv of the collection",
	} {
		got := mustRun(t, "labels import filled.csv --key sheet.key.json --out "+out)
		if !strings.HasSuffix(got, "\nuse         "+want+"\n") {
			t.Errorf("%s: printed\n%s\nwant at its end %s", out, got, want)
		}
	}
	c, err := collection.Open("mydata", collection.Options{Split: "new"})
	if err != nil || c.Split != "new" || len(c.Queries) != 12 {
		t.Errorf("the split new: %v", err)
	}
}

// The same sheet may be made again, which leaves its key as it is.
func TestLabelsExportAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	const line = "labels export --data mydata --run bm25.run --out sheet.csv"
	first := mustRun(t, line)
	key, err := os.ReadFile("sheet.key.json")
	if err != nil {
		t.Fatal(err)
	}
	if again := mustRun(t, line); again != first {
		t.Errorf("printed\n%s\nthen\n%s", first, again)
	}
	for _, other := range []string{" --seed 2", " --run minilm.run", " --bm25"} {
		if r := encbench("", strings.Fields(line+other)...); r.code != exitUsage {
			t.Errorf("%s: exit %d, %s", other, r.code, r.stderr)
		}
	}
	if after, err := os.ReadFile("sheet.key.json"); err != nil || string(after) != string(key) {
		t.Errorf("the key changed, %v", err)
	}
}

// Labels do not change the hash of a sheet's collection, documents and queries do.
func TestUnlabelledHash(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	a := &app{}
	hash := func() string {
		c, err := a.openUnlabelled(context.Background(), "mydata", true)
		if err != nil {
			t.Fatal(err)
		}
		return c.SHA256
	}
	before := hash()
	put(t, map[string]string{"mydata/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq0\td3\t2\n"})
	if hash() != before {
		t.Error("labels change the hash")
	}
	put(t, map[string]string{"mydata/queries.jsonl": "{\"_id\":\"q0\",\"text\":\"another\"}\n"})
	queries := hash()
	put(t, map[string]string{"mydata/corpus.jsonl": "{\"_id\":\"d0\",\"text\":\"another\"}\n"})
	if queries == before || hash() == queries {
		t.Error("documents or queries do not change the hash")
	}
}

// A split is not made in the cache, by name or by path.
func TestLabelsSplitLeavesTheCacheAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	if err := os.MkdirAll("cache", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("mydata", "cache/mydata"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("cache/mydata", "link"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ENCBENCH_CACHE", "cache")
	for _, name := range []string{"cache/mydata", "link"} {
		r := encbench("", "labels", "split", name, "--share", "0.5")
		if want := "encbench labels split: " + name + " lies in the cache, which all projects on this machine share, and so would its split; split a copy of it\nSee `encbench labels split --help`.\n"; r.code != exitUsage || r.stderr != want {
			t.Errorf("exit %d, %s\nwant %s", r.code, r.stderr, want)
		}
	}
	if _, err := os.Stat("cache/mydata/heldout.json"); err == nil {
		t.Error("a ledger was made in the cache")
	}
}
