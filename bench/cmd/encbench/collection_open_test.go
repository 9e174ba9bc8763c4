package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/bench/collection"
	"encbench/corpus"
)

// The embedded collection is built into the cache and read back as it is pinned.
func TestOpenEmbeddedCollection(t *testing.T) {
	assettest.Need(t, "techdocs")
	var errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &errs, stderr: &errs}
	c, err := a.openCollection(context.Background(), "techdocs-qa", collection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := corpus.Describe(corpus.TechdocsQA)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != e.Name || c.Corpus.Rule != e.Rule || c.Corpus.SHA256 != e.SHA256 || int64(c.Documents) != e.Documents || int64(len(c.Queries)) != e.Queries {
		t.Errorf("opened %s, %+v, %d queries; described %+v", c.Name, c.Corpus, len(c.Queries), e)
	}
	if want := (collection.Integrity{Documents: c.Documents, Queries: c.Documents, Judgments: c.Documents}); c.Integrity != want {
		t.Errorf("%+v", c.Integrity)
	}
	if want := "rule techdocs-qa-1, " + e.Summary; len(c.Notes) != 1 || c.Notes[0] != want {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
	if want := "524fc59d7f66b8977ee71d5b7cd21facc7973855260a51ceb22b8204a3ae616e"; c.SHA256 != want {
		t.Errorf("hash %s, want %s; a change of the rule needs a new version of it", c.SHA256, want)
	}

	limited, err := a.openCollection(context.Background(), "techdocs-qa", collection.Options{Documents: 1200, Queries: 300})
	if err != nil {
		t.Fatal(err)
	}
	if want := "techdocs-qa (1200 of 9982 documents, 300 of 9982 queries, seed 0)"; limited.Name != want {
		t.Errorf("name %q, want %q", limited.Name, want)
	}
}

func TestOpenCollectionErrors(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(absent, link); err != nil {
		t.Fatal(err)
	}
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	for _, test := range []struct{ name, want string }{
		{"nope", `unknown collection "nope": neither a folder or file nor one of: techdocs-qa`},
		{"techdocs", `corpus "techdocs" has no queries; labelled are: techdocs-qa`},
		{link, "open collection " + link + ": no such file or directory"},
	} {
		if _, err := a.openCollection(context.Background(), test.name, collection.Options{}); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}
