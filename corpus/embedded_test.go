package corpus_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/corpus"
	"encbench/corpus/tokenize"
)

// pinned fails unless m is what Describe says.
func pinned(t *testing.T, m corpus.Manifest, longest int64) {
	t.Helper()
	e, err := corpus.Describe(m.Name)
	if err != nil {
		t.Fatal(err)
	}
	want := corpus.Manifest{Name: e.Name, Rule: e.Rule, Documents: e.Documents, TextBytes: e.TextBytes, Longest: longest, SHA256: e.SHA256}
	if m != want {
		t.Errorf("built %+v\nwant  %+v\na change of the rule needs a new version of it", m, want)
	}
}

// TestTechdocsIsPinned builds techdocs from the wheel. The prototype that the
// rule was taken from had 20,027 documents, 75 MB, the longest of 445,378
// characters.
func TestTechdocsIsPinned(t *testing.T) {
	wheel := assettest.Need(t, "techdocs")
	path := filepath.Join(t.TempDir(), "techdocs.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := corpus.BuildTechdocs(wheel, f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	pinned(t, m, 444_409)

	s, err := corpus.OpenCorpus(path, corpus.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := corpus.Scan(s, m.Name, m.Rule, nil); err != nil || got != m {
		t.Errorf("read back: %+v, %v, want %+v", got, err, m)
	}
}

// TestTechdocsQAIsPinned builds techdocs-qa from the wheel.
func TestTechdocsQAIsPinned(t *testing.T) {
	wheel := assettest.Need(t, "techdocs")
	all := sha256.New()
	qa, err := corpus.BuildTechdocsQA(wheel, all)
	if err != nil {
		t.Fatal(err)
	}
	pinned(t, qa.Manifest, 441_054)
	// The manifest is of the documents, this of the queries too.
	if got, want := hex.EncodeToString(all.Sum(nil)), "663bbb6c6786e8b023b671fe7e8b7cde2aaa411266965e53fc255924ba636ba9"; got != want {
		t.Errorf("sha256 of the file %s, want %s", got, want)
	}
	if e, _ := corpus.Describe(corpus.TechdocsQA); qa.Queries != e.Queries ||
		qa.Operations != 20_018 || qa.ShortText != 1_214 || qa.ShortQuery != 5_631 || qa.SharedQuery != 3_191 {
		t.Errorf("%+v", qa)
	}
}

// TestTechdocsLawIsPinned builds techdocs-law with the tokens of the pinned BERT
// model.
func TestTechdocsLawIsPinned(t *testing.T) {
	if raceDetector {
		t.Skip("regrouping is of one goroutine, and TestTechdocsIsPinned has run the readers: the detector would find nothing and take a minute")
	}
	wheel, model := assettest.Need(t, "techdocs"), assettest.Need(t, "all-minilm-l6-v2")
	tok, _, err := tokenize.LoadFile(filepath.Join(model, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int32
	law, err := corpus.BuildTechdocsLaw(wheel, io.Discard, func(text []byte) int {
		ids = tok.AppendIDs(ids[:0], text)
		return len(ids)
	})
	if err != nil {
		t.Fatal(err)
	}
	pinned(t, law.Manifest, 1_459_116)
	if law.Shortest != 2 || law.LongestTokens != 329_116 || law.Tokens != 23_000*1_873 {
		t.Errorf("%+v", law)
	}
	if e, _ := corpus.Describe(corpus.TechdocsLaw); law.Repetition() != e.Repetition {
		t.Errorf("repetition %q, pinned %q", law.Repetition(), e.Repetition)
	}
}

// BenchmarkBuildTechdocs measures the building from the wheel, in bytes of JSONL.
func BenchmarkBuildTechdocs(b *testing.B) {
	wheel := assettest.Need(b, "techdocs")
	for b.Loop() {
		m, err := corpus.BuildTechdocs(wheel, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(m.TextBytes)
	}
}

// BenchmarkTechdocs scans techdocs from the page cache: plain, gzip and zstd (as
// the writers of this machine's compression package make them by default).
func BenchmarkTechdocs(b *testing.B) {
	wheel := assettest.Need(b, "techdocs")
	dir := b.TempDir()
	paths, err := corpus.WriteForTest(dir, func(w io.Writer) error { _, err := corpus.BuildTechdocs(wheel, w); return err })
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		b.Run(filepath.Ext(path)[1:], func(b *testing.B) {
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				s, err := corpus.OpenCorpus(path, corpus.Options{Strict: true})
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for s.Scan() {
					n++
				}
				if err := errors.Join(s.Err(), s.Close()); err != nil || n != 20_027 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
