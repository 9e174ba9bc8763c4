package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResultsPage keeps the committed page and the JSON beside it together; the
// target "results" of the Makefile runs it with -update.
func TestResultsPage(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "results")
	files, err := Results(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join(dir, name)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/results/%s is not what the JSON files beside it give (%v): run make results", name, err)
		}
	}
}

func TestResultsGolden(t *testing.T) {
	files, err := Results(filepath.Join("testdata", "results"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "results.md.golden", files[ResultsPage])
	again, err := Results(filepath.Join("testdata", "results"))
	if err != nil || !bytes.Equal(again[ResultsPage], files[ResultsPage]) {
		t.Errorf("a second rendering differs (%v)", err)
	}
}

func TestResultsOfNothing(t *testing.T) {
	files, err := Results(t.TempDir())
	if err != nil || !strings.Contains(string(files[ResultsPage]), "Nothing has been measured yet.") {
		t.Errorf("%s, %v", files[ResultsPage], err)
	}
}

func TestResultsErrorNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := os.WriteFile(path, []byte(`{"title": 3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Results(dir)
	if want := "render results: read result " + path + `:1:11: field "title" is a JSON number, expected string`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
