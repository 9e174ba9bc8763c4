package corpus

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenCorpusPicksTheFormat(t *testing.T) {
	const object = `{"id":"a","text":"x"}`
	for _, c := range []struct{ name, content, format, want string }{
		{"c.jsonl", object, "", FormatJSONL},
		{"C.JSONL", object, "", FormatJSONL},
		{"c.ndjson", object, "", FormatJSONL},
		{"c.jsonl", "not json", "", FormatJSONL}, // the name settles it; its lines are broken
		{"c.tsv", "a\tb\tc\td", "", FormatTSV},
		{"c.txt", object, "", FormatText},
		{"c.md", "a\tb", "", FormatText},
		{"c.json", "\xef\xbb\xbf\n " + object, "", FormatJSONL},
		{"c", "1\ttext here\n2\tmore\n", "", FormatTSV},
		{"c", "1\ttitle\ttext\n", "", FormatTSV},
		{"c", "a\tb\tc\td\n", "", FormatText},
		{"c", "Words.\n", "", FormatText},
		{"c", "", "", FormatText},
		{"c.go", "package p\n", "", FormatText},
		{"c.jsonl.gz", string(gzipped(t, []byte("junk"))), "", FormatJSONL},
		{"c.TSV.zst", string(zstandard(t, []byte("junk"))), "", FormatTSV},
		{"c.jsonl", object, FormatText, FormatText},
		{"c.txt", object, FormatJSONL, FormatJSONL},
		{"c.txt", object, FormatTSV, FormatTSV},
	} {
		s, err := OpenCorpus(write(t, c.name, []byte(c.content)), Options{Format: c.format})
		if err != nil {
			t.Errorf("%s %q: %v", c.name, c.content, err)
			continue
		}
		if s.Format() != c.want {
			t.Errorf("%s %q, format %q: got %s, want %s", c.name, c.content, c.format, s.Format(), c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenCorpusOfBEIRFolder(t *testing.T) {
	for _, name := range []string{"corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst"} {
		root := tree(t, map[string]string{name: `{"_id":"a","text":"x"}`, "queries.jsonl": "{}", "qrels/test.tsv": "q"})
		for format, want := range map[string]string{"": FormatJSONL, FormatJSONL: FormatJSONL, FormatDir: FormatDir} {
			s, err := OpenCorpus(root, Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			if s.Format() != want {
				t.Errorf("%s, format %q: %s", name, format, s.Format())
			}
			docs, _, err := drain(t, s)
			if n := map[string]int{FormatJSONL: 1, FormatDir: 3}[want]; len(docs) != n || err != nil {
				t.Errorf("%s, format %q: %v, %v", name, format, docs, err)
			}
		}
	}
}

func TestOpenCorpusRefuses(t *testing.T) {
	_, err := OpenCorpus("nosuchcorpus", Options{})
	wantError(t, err, ErrUnknownCorpus, `unknown corpus "nosuchcorpus": neither a file or folder here nor one of techdocs, techdocs-law, gostd, techdocs-qa`)

	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	_, err = OpenCorpus(missing, Options{})
	wantError(t, err, os.ErrNotExist, "open corpus: stat "+missing+": no such file or directory")

	file := write(t, "c.jsonl", []byte("{}"))
	_, err = OpenCorpus(file, Options{Format: "csv"})
	wantError(t, err, ErrFormat, `unknown corpus format "csv": the formats are jsonl, tsv, text, dir`)
	_, err = OpenCorpus(file, Options{Format: FormatDir})
	wantError(t, err, nil, "open corpus "+file+": format dir, but it is no folder")
	_, err = OpenCorpus("-", Options{Format: FormatDir})
	wantError(t, err, nil, "open corpus: format dir cannot be read from standard input")

	dir := t.TempDir()
	_, err = OpenCorpus(dir, Options{Format: FormatTSV})
	wantError(t, err, nil, "open corpus "+dir+": format tsv, but it is a folder")

	for _, content := range []string{"PAR1....", "\x7fELF\x02\x01\x01\x00", "h\x00i\x00"} {
		path := write(t, "c.bin", []byte(content))
		_, err = OpenCorpus(path, Options{})
		wantError(t, err, ErrFormat, "unknown corpus format: "+path+" is binary: the formats are jsonl, tsv, text, dir, plain, gzip or zstd")
	}
	stdin(t, []byte("a\x00b"))
	_, err = OpenCorpus("-", Options{})
	wantError(t, err, ErrFormat, "unknown corpus format: standard input is binary: the formats are jsonl, tsv, text, dir, plain, gzip or zstd")
}

func TestOpenCorpusOfALinkToNothing(t *testing.T) {
	link := filepath.Join(t.TempDir(), "techdocs-of-mine")
	if err := os.Symlink("gone", link); err != nil {
		t.Fatal(err)
	}
	_, err := OpenCorpus(link, Options{})
	wantError(t, err, os.ErrNotExist, "open corpus "+link+": the link points nowhere: file does not exist")
	t.Chdir(filepath.Dir(link))
	_, err = OpenCorpus("techdocs-of-mine", Options{})
	wantError(t, err, os.ErrNotExist, "open corpus techdocs-of-mine: the link points nowhere: file does not exist")
	if errors.Is(err, ErrUnknownCorpus) {
		t.Error("a link is taken for the name of a corpus")
	}
}

// TestNothingIsNoDocument opens inputs of zero bytes, which say nothing of their
// format.
func TestNothingIsNoDocument(t *testing.T) {
	for _, format := range []string{"", FormatJSONL, FormatTSV, FormatText} {
		stdin(t, nil)
		for _, path := range []string{
			"-", "/dev/null", write(t, "c", nil), write(t, "c.txt", nil), write(t, "c.md.gz", gzipped(t, nil)), write(t, "c.zst", zstandard(t, nil)),
		} {
			s, err := OpenCorpus(path, Options{Format: format, Strict: true})
			if err != nil {
				t.Errorf("%s, format %q: %v", path, format, err)
				continue
			}
			if docs, skipped, err := drain(t, s); docs != nil || skipped.Broken != 0 || err != nil {
				t.Errorf("%s, format %q: %q, %+v, %v; want no document", path, format, docs, skipped, err)
			}
		}
	}
}

// failsOnce gives a text, an error once, and then the end.
type failsOnce struct {
	text string
	err  error
}

func (f *failsOnce) Read(p []byte) (int, error) {
	if f.text != "" {
		n := copy(p, f.text)
		f.text = f.text[n:]
		return n, nil
	}
	err := f.err
	if f.err = io.EOF; err == nil {
		err = io.EOF
	}
	return 0, err
}

func TestOpenReaderKeepsTheFirstError(t *testing.T) {
	gone := errors.New("connection reset")
	const line = `{"id":1,"text":"a"}` + "\n"
	for _, text := range []string{line, strings.Repeat(line, 3), strings.Repeat(line, 2*sniffBytes/len(line)), strings.Repeat(line, 400<<10/len(line))} {
		for _, format := range []string{"", FormatJSONL, FormatText} {
			s, err := OpenReader(&failsOnce{text, gone}, "in", Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			docs, _, err := drain(t, s)
			if !errors.Is(err, gone) || s.Format() == FormatText && docs != nil {
				t.Errorf("%d bytes, format %q: %d documents, %v, want %v", len(text), format, len(docs), err, gone)
			}
		}
	}
	_, err := OpenReader(&failsOnce{"", gone}, "in", Options{})
	wantError(t, err, gone, "read in: connection reset")
	_, err = OpenReader(&failsOnce{"short", gone}, "in", Options{})
	wantError(t, err, gone, "read in: connection reset")
}

func TestBrokenLinesNameTheFile(t *testing.T) {
	path := write(t, "c.jsonl.gz", gzipped(t, []byte(`{"id":1,"text":"a"}`+"\nbroken\n")))
	s, err := OpenCorpus(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, skipped, err := drain(t, s)
	if err != nil || len(skipped.First) != 1 {
		t.Fatalf("%+v, %v", skipped, err)
	}
	if got, want := skipped.First[0].Error(), path+":2: not JSON at byte 1: expected an object"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	stdin(t, []byte("{broken\n"+strings.Repeat("x", sniffBytes)))
	s, err = OpenCorpus("-", Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = drain(t, s)
	wantError(t, err, nil, "standard input:1: not JSON at byte 2: expected a key in quotes")
}
