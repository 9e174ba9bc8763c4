package tokenize

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
)

// benchText is used where the assets are not there.
const benchText = `The reader end of a pipe returns what was written to its other end. Reads wait
until a writer arrives or the write end is closed; if the write end is closed with an error, that error is returned.
func (r *PipeReader) Read(data []byte) (n int, err error) { return r.pipe.read(data) } // io.ErrClosedPipe, x1 := 0x1F
`

const sampleBytes = 16 << 20

// goSource reads Go source from GOROOT, where a toolchain is.
func goSource(b *testing.B) (docs []string) {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("go env GOROOT: %v", err)
	}
	size := 0
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || size > sampleBytes {
			return err
		}
		data, err := os.ReadFile(path)
		docs, size = append(docs, string(data)), size+len(data)
		return err
	})
	if err != nil {
		b.Skipf("read Go source: %v", err)
	}
	return docs
}

// techDocs gathers the documentation strings of the service descriptions in a
// botocore wheel, one document per service.
func techDocs(b *testing.B) (docs []string) {
	b.Helper()
	z, err := zip.OpenReader(assettest.Need(b, "techdocs"))
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	size := 0
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "/service-2.json.gz") || size > sampleBytes {
			continue
		}
		var doc any
		if err := readGzipJSON(f, &doc); err != nil {
			b.Fatalf("%s: %v", f.Name, err)
		}
		text := documentation(nil, doc)
		for len(text) > 0 { // documents of a few paragraphs
			n := min(len(text), 8)
			docs = append(docs, strings.Join(text[:n], "\n"))
			size += len(docs[len(docs)-1])
			text = text[n:]
		}
	}
	return docs
}

func readGzipJSON(f *zip.File, v any) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	g, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(g)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// documentation appends the "documentation" strings below v, without their HTML
// tags.
func documentation(dst []string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[name].(string); ok && name == "documentation" {
				dst = append(dst, withoutTags(s))
			} else {
				dst = documentation(dst, v[name])
			}
		}
	case []any:
		for _, child := range v {
			dst = documentation(dst, child)
		}
	}
	return dst
}

func withoutTags(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<")
		b.WriteString(before)
		if _, s, _ = strings.Cut(rest, ">"); !found {
			return b.String()
		}
		b.WriteByte(' ')
	}
}

// BenchmarkAppendIDs tokenizes whole samples: warm, with the caches emptied
// before every pass over the sample (what a benchmark run does), and with the
// caches emptied before every document.
func BenchmarkAppendIDs(b *testing.B) { benchAppend(b, false) }

// BenchmarkAppendSpans is the same with spans.
func BenchmarkAppendSpans(b *testing.B) { benchAppend(b, true) }

func benchAppend(b *testing.B, withSpans bool) {
	builtin := func(*testing.B) []string { return []string{strings.Repeat(benchText, 20)} }
	tiny := func(b *testing.B) Tokenizer { t, _ := load(b, uncased+".tokenizer.json"); return t }
	real := func(b *testing.B) Tokenizer { t, _ := miniLM(b); return t }
	bpe := func(b *testing.B) Tokenizer { t, _ := modernBERT(b); return t }
	named := func(path string) func(*testing.B) Tokenizer {
		return func(b *testing.B) Tokenizer { t, _ := load(b, path+".tokenizer.json"); return t }
	}
	for _, c := range []struct {
		name      string
		tokenizer func(*testing.B) Tokenizer
		docs      func(*testing.B) []string
	}{
		{"tiny/builtin", tiny, builtin},
		{"minilm/builtin", real, builtin},
		{"minilm/gostd", real, goSource},
		{"minilm/techdocs", real, techDocs},
		{"modernbert/gostd", bpe, goSource},
		{"modernbert/techdocs", bpe, techDocs},
		{"roberta/techdocs", named(roberta), techDocs},
		{"llama3/gostd", named(llama3), goSource},
		{"llama3/techdocs", named(llama3), techDocs},
		{"gemma/gostd", named(gemma), goSource},
		{"gemma/techdocs", named(gemma), techDocs},
		{"xlmr/gostd", named(xlmr), goSource},
		{"xlmr/techdocs", named(xlmr), techDocs},
	} {
		b.Run(c.name, func(b *testing.B) {
			t := c.tokenizer(b)
			size, docs := 0, [][]byte{}
			for _, d := range c.docs(b) {
				docs, size = append(docs, []byte(d)), size+len(d)
			}
			for _, mode := range []string{"warm", "cold-per-pass", "cold-per-document"} {
				b.Run(mode, func(b *testing.B) {
					benchPasses(b, t, docs, size, mode, withSpans)
				})
			}
		})
	}
}

func benchPasses(b *testing.B, t Tokenizer, docs [][]byte, size int, mode string, withSpans bool) {
	var dst []int32
	var spans []Span
	pass := func() (ids int) {
		if mode == "cold-per-pass" {
			t.Reset()
		}
		for _, d := range docs {
			if mode == "cold-per-document" {
				t.Reset()
			}
			if withSpans {
				dst, spans = t.AppendSpans(dst[:0], spans[:0], d)
			} else {
				dst = t.AppendIDs(dst[:0], d)
			}
			ids += len(dst)
		}
		return ids
	}
	ids := pass()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
	b.ReportMetric(float64(ids)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtok/s")
}

func BenchmarkPlain(b *testing.B) {
	t, _ := load(b, uncased+".tokenizer.json")
	p := &plain{model: modelOf(t)}
	text := []byte(strings.Repeat(benchText, 20))
	b.SetBytes(int64(len(text)))
	var dst []int32
	for b.Loop() {
		dst = p.AppendIDs(dst[:0], text)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name string
		path func(*testing.B) string
	}{
		{"tiny", func(*testing.B) string { return uncased + ".tokenizer.json" }},
		{"minilm", func(b *testing.B) string {
			return filepath.Join(assettest.Need(b, "all-minilm-l6-v2"), "tokenizer.json")
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			data, err := os.ReadFile(c.path(b))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Load(bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
