package collection

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared gives a real collection that lies beside the repository, where it does.
func shared(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "collections", name)
	if !isDir(path) {
		skip := t.Skipf
		if os.Getenv("ENCBENCH_REQUIRE_COLLECTIONS") != "" {
			skip = t.Fatalf
		}
		skip("no collection at %s", path)
	}
	return path
}

// grades counts the judgements of each gain.
func grades(c *Collection) map[float64]int {
	n := map[float64]int{}
	for i := range c.Qrels.Len() {
		_, grades := c.Qrels.Judged(i)
		for _, g := range grades {
			n[g]++
		}
	}
	return n
}

// count compares the size of a collection: documents, queries, judgements.
func count(t *testing.T, c *Collection, documents, queries, judgments int) {
	t.Helper()
	if c.Documents != documents || len(c.Queries) != queries || c.Integrity.Judgments != judgments {
		t.Errorf("%s: %d documents, %d queries, %d judgements, want %d, %d, %d", c.Name, c.Documents, len(c.Queries), c.Integrity.Judgments, documents, queries, judgments)
	}
}

func TestCranfield(t *testing.T) {
	c := open(t, shared(t, "cranfield"), Options{})
	count(t, c, 1400, 225, 1837)
	// Codes 1, 2, 3, 4 and -1.
	if n := grades(c); n[4] != 128 || n[3] != 387 || n[2] != 734 || n[1] != 363 || n[0] != 225 {
		t.Errorf("gains %v", n)
	}
	// The third query has .I 004, and judgements under 3.
	if q := c.Queries[2]; q.ID != "3" || q.Text != "what problems of heat conduction in composite slabs have been solved so far ." {
		t.Errorf("third query %+v", q)
	}
	if c.Integrity.DocumentsEmpty != 2 || c.Integrity.JudgedEmpty != 1 || c.Integrity.JudgmentsAbsent != 0 {
		t.Errorf("%+v", c.Integrity)
	}
	if i, _ := c.Qrels.Find("125"); i != 124 {
		t.Errorf("query 125 is number %d", i)
	} else if g, ok := c.Qrels.Grade(i, "995"); !ok || g <= 0 {
		t.Errorf("the empty document 995 has gain %g for query 125", g)
	}
	for _, d := range texts(t, c) {
		id, text, _ := strings.Cut(d, ": ")
		switch {
		case (text == "") != (id == "471" || id == "995"):
			t.Errorf("document %s has %d bytes of text", id, len(text))
		case id == "240" && !strings.HasSuffix(text, "transfer in a laminar separated flow ."),
			id == "576" && !strings.HasSuffix(text, "blades is included ."),
			id == "578" && !strings.HasSuffix(text, "/ air ."):
			t.Errorf("document %s is cut: %s", id, text)
		}
	}
	if want := "26347125b8f379e4e454117aad6eaa8b72f9694f2b2975f74f63a8c9662d37c9"; c.SHA256 != want {
		t.Errorf("hash %s, want %s", c.SHA256, want)
	}
}

func TestNPL(t *testing.T) {
	c := open(t, shared(t, "npl-vaswani"), Options{})
	count(t, c, 11429, 93, 2083)
	if n := grades(c); n[1] != 2083 {
		t.Errorf("gains %v", n)
	}
	if q := c.Queries[0]; q.ID != "1" || q.Text != "measurement of dielectric constant of liquids by the use of microwave techniques" {
		t.Errorf("first query %+v", q)
	}
	if !slices.Contains(c.Notes, "topics in capitals are lower-cased") {
		t.Errorf("notes %q", c.Notes)
	}
}

func TestMTRAGUN(t *testing.T) {
	path := shared(t, "mtrag-un")
	c := open(t, path, Options{})
	count(t, c, 1152, 332, 851)
	if c.Judged != 842 || c.Integrity.Queries != 507 || c.Integrity.QueriesUnjudged != 175 || c.Integrity.JudgedWithoutText != 0 {
		t.Errorf("%d judged documents, %+v", c.Judged, c.Integrity)
	}
	distinct := map[string]bool{}
	for _, d := range texts(t, c) {
		_, text, _ := strings.Cut(d, ": ")
		distinct[text] = true
	}
	if len(distinct) != 1140 {
		t.Errorf("%d distinct texts, want 1140", len(distinct))
	}
	for _, q := range c.Queries {
		if !strings.HasPrefix(q.ID, q.Group+"<::>") {
			t.Errorf("query %s is of group %s", q.ID, q.Group)
		}
	}
	all := open(t, path, Options{Form: "allturns"})
	if !strings.HasSuffix(all.Queries[0].Text, c.Queries[0].Text) || len(all.Queries[0].Text) <= len(c.Queries[0].Text) {
		t.Errorf("all turns %q, last turn %q", all.Queries[0].Text, c.Queries[0].Text)
	}
	for split, want := range map[string][2]int{"clapnq": {83, 181}, "cloud": {86, 251}, "fiqa": {58, 158}, "govt": {105, 261}} {
		count(t, open(t, path, Options{Split: split}), 1152, want[0], want[1])
	}
}
