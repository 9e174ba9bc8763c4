package report

import (
	"bytes"
	"strings"
	"testing"
)

// Counts have separators, and nothing else that is a number does.
func TestCounted(t *testing.T) {
	for in, want := range map[string]string{
		"techdocs-qa (1200 of 9982 documents, 300 of 9982 queries, seed 2024)": "techdocs-qa (1,200 of 9,982 documents, 300 of 9,982 queries, seed 2024)",
		"limited to 9000 of 9982 documents, the 9000 judged ones of the rest":  "limited to 9,000 of 9,982 documents, the 9,000 judged ones of the rest",
		"trec-2019 queries":              "trec-2019 queries",
		"9982":                           "9982",
		"queries of context length 2048": "queries of context length 2048",
		"1234 of them":                   "1234 of them",
		"99999999999999999999 documents": "99999999999999999999 documents",
	} {
		if got := counted(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A long name keeps its beginning and its end in the text table, and all of it in
// JSON.
func TestShortenedNames(t *testing.T) {
	c := evalComparison()
	name := "collection-" + strings.Repeat("of-many-words-", 10) + "[dev]"
	for i := range c.Rows {
		c.Rows[i].Collection = name
	}
	for format, want := range map[string]string{"text": "  collection-of-many-words…rds-of-many-words-[dev]  nDCG@10", "json": `"` + name + `"`} {
		var buf bytes.Buffer
		if err := WriteEvalComparison(&buf, format, c); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(buf.String(), want) {
			t.Errorf("%s lacks %q:\n%s", format, want, buf.String())
		}
	}
	if n := len([]rune(shortened(name))); n != nameLimit {
		t.Errorf("%d characters, want %d", n, nameLimit)
	}
}

// A search deeper than the collection keeps every document, and says so.
func TestDepthOverSmallCollection(t *testing.T) {
	r := quality()
	r.Collections[0].Documents = 40
	if got := headlines(r)[0]; !strings.HasSuffix(got, "40"+gap+"documents, all of which are ranked (k 1,000)") {
		t.Errorf("%s", got)
	}
}
