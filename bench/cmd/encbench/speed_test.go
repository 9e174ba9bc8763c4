package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/engine/model/modeltest"
)

// short makes speed take one small sample.
var short = []string{"--sample", "4", "--repeats", "1", "--min-time", "0s", "--format", "json"}

// speedRecord gives the record of one small sample, of short chunks unless args say
// their size: the gate's rows are as long.
func speedRecord(t *testing.T, stdin string, args ...string) bench.Record {
	t.Helper()
	if !slices.Contains(args, "--chunk") {
		args = append([]string{"--chunk", "128"}, args...)
	}
	r := encbench(stdin, append(append([]string{"speed"}, short...), args...)...)
	if r.code != 0 {
		t.Fatalf("speed %v: exit %d\n%s", args, r.code, r.stderr)
	}
	var rec bench.Record
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

const someDocs = `{"_id":"a","title":"Title","text":"some text"}
{"_id":"b","text":"more text, of another document"}
`

// The same documents from a file, compressed or not, and from standard input are
// the same corpus.
func TestCorpusForms(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write([]byte(someDocs))
	w.Close()
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	os.WriteFile("d.jsonl.gz", gz.Bytes(), 0o644)
	want := speedRecord(t, "", "--corpus", "d.jsonl")
	for name, rec := range map[string]bench.Record{
		"gzip":            speedRecord(t, "", "--corpus", "d.jsonl.gz"),
		"standard input":  speedRecord(t, someDocs, "--corpus", "-", "--corpus-format", "jsonl"),
		"standard stream": speedRecord(t, someDocs, "--corpus", "-", "--corpus-format", "jsonl", "--sample", "all"),
		"whole file":      speedRecord(t, "", "--corpus", "d.jsonl", "--sample", "all"),
	} {
		if rec.Corpus.SHA256 != want.Corpus.SHA256 {
			t.Errorf("%s: corpus %s, want %s", name, rec.Corpus.SHA256, want.Corpus.SHA256)
		}
		if got, want := rec.Corpus.Selection.SHA256, want.Corpus.Selection.SHA256; got != want || rec.Corpus.Documents != 2 {
			t.Errorf("%s: %d documents, input %s, want 2 and %s", name, rec.Corpus.Documents, got, want)
		}
	}
}

// Broken lines are counted and named; --strict stops at the first.
func TestBrokenLines(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs+"{\"_id\":\"c\",\n"+someDocs), 0o644)
	r := encbench("", append([]string{"speed", "--corpus", "d.jsonl"}, short...)...)
	if r.code != 0 || !strings.Contains(r.stderr, "skipped d.jsonl:3: ") {
		t.Errorf("exit %d, standard error %q", r.code, r.stderr)
	}
	var rec bench.Record
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	if rec.Truncation.BadLines != 1 || rec.Corpus.Documents != 4 {
		t.Errorf("%d bad lines, %d documents; want 1 and 4", rec.Truncation.BadLines, rec.Corpus.Documents)
	}
	r = encbench("", append([]string{"speed", "--corpus", "d.jsonl", "--strict"}, short...)...)
	if r.code != exitFailure || !strings.Contains(r.stderr, "encbench speed: scan corpus d.jsonl: d.jsonl:3: ") || r.stdout != "" {
		t.Errorf("--strict: exit %d, standard error %q", r.code, r.stderr)
	}
}

// A run that fails leaves an existing record as it was, and nothing beside it.
func TestFailingRunKeepsTheRecord(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	os.WriteFile("empty.jsonl", nil, 0o644)
	os.WriteFile("broken.jsonl", []byte("{\n{\n"), 0o644)
	const precious = `{"schema":1,"tool":{},"status":"complete","precious":true}`
	os.WriteFile("r.json", []byte(precious), 0o644)
	for _, args := range [][]string{
		{"--ort-library", "missing.so"},
		{"--corpus", "empty.jsonl"},
		{"--model", t.TempDir()},
		{"--corpus", "broken.jsonl"},
	} {
		r := encbench("", append(append([]string{"speed", "--out", "r.json"}, short...), args...)...)
		if r.code != exitFailure || r.stdout != "" {
			t.Errorf("%v: exit %d, printed %q", args, r.code, r.stdout)
		}
		if got, _ := os.ReadFile("r.json"); string(got) != precious {
			t.Errorf("%v: the record is now %q", args, got)
		}
		if left, _ := filepath.Glob("r.json.*"); len(left) > 0 {
			t.Errorf("%v: left %v", args, left)
		}
	}
}

// interruptAfterASample runs the program and ends its context once a sample has
// been saved in r.json.partial. The file is empty while --out is only probed.
func interruptAfterASample(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if st, err := os.Stat("r.json.partial"); err == nil && st.Size() > 0 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return encbenchContext(ctx, "", args...)
}

// Ctrl-C after the first samples: the report is printed and marked, the record
// written.
func TestInterrupted(t *testing.T) {
	needAll(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	r := interruptAfterASample(t, "speed", "--corpus", "d.jsonl", "--min-time", "10m", "--out", "r.json")
	if r.code != exitFailure || !strings.Contains(r.stderr, "interrupted; the report holds what was measured so far") {
		t.Errorf("exit %d, standard error %q", r.code, r.stderr)
	}
	if !strings.Contains(strings.ToUpper(r.stdout), "INTERRUPTED") {
		t.Errorf("the report is not marked:\n%.400s", r.stdout)
	}
	rec, err := bench.ReadRecord("r.json")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != bench.StatusInterrupted || len(rec.Samples) == 0 || rec.Verdict.Publishable {
		t.Errorf("status %s, %d samples, publishable %t", rec.Status, len(rec.Samples), rec.Verdict.Publishable)
	}
	if left, _ := filepath.Glob("r.json.*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "encbench-s*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	if r := encbenchContext(cancelled, "", "speed", "--corpus", "d.jsonl", "--out", "none.json"); r.code != exitFailure || r.stdout != "" {
		t.Errorf("interrupted before the first sample: exit %d, printed %q", r.code, r.stdout)
	}
	if left, _ := filepath.Glob("none.json*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// An interrupted run does not take the place of a complete one.
func TestInterruptedKeepsACompleteRecord(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	speedRecord(t, "", "--corpus", "d.jsonl", "--out", "r.json")
	r := interruptAfterASample(t, "speed", "--corpus", "d.jsonl", "--min-time", "10m", "--out", "r.json")
	if r.code != exitFailure || !strings.Contains(r.stderr, "record written to r.json.partial") {
		t.Errorf("exit %d, standard error %q", r.code, r.stderr)
	}
	for name, want := range map[string]string{"r.json": bench.StatusComplete, "r.json.partial": bench.StatusInterrupted} {
		if rec, err := bench.ReadRecord(name); err != nil || rec.Status != want {
			t.Errorf("%s: %v, want status %s", name, err, want)
		}
	}
}

// A pipe that nobody writes to does not hold up Ctrl-C.
func TestInterruptedWhileReading(t *testing.T) {
	needAll(t)
	pr, pw := io.Pipe()
	defer pw.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	for _, sample := range []string{"all", "8"} {
		var out, errs bytes.Buffer
		a := &app{stdin: pr, stdout: &out, stderr: &errs}
		done := make(chan int)
		go func() {
			done <- a.run(ctx, []string{"speed", "--corpus", "-", "--corpus-format", "jsonl", "--sample", sample})
		}()
		select {
		case code := <-done:
			if code != exitFailure {
				t.Errorf("--sample %s: exit %d\n%s", sample, code, errs.String())
			}
		case <-time.After(time.Minute):
			t.Fatalf("--sample %s: still running a minute after Ctrl-C", sample)
		}
	}
}

// A model of the Hugging Face cache, which is made of links, and its revision.
func TestHubModel(t *testing.T) {
	needAll(t)
	dir := assettest.Need(t, "all-minilm-l6-v2")
	const commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
	t.Setenv("HF_HUB_CACHE", modeltest.Hub(t, "", dir, "acme/minilm", commit, "main"))
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	rec := speedRecord(t, "", "--corpus", "d.jsonl", "--model", "acme/minilm@main")
	if rec.Model.Revision != commit || rec.Model.Source != "hub-cache" || rec.Model.Name != "acme/minilm@main" {
		t.Errorf("model %+v", rec.Model)
	}
	r := encbench("", "speed", "--model", "acme/other@v2")
	want := fmt.Sprintf("encbench speed: acme/other@v2 is not in the Hugging Face cache (looked in %s); get it with: hf download acme/other --revision v2\n", os.Getenv("HF_HUB_CACHE"))
	if r.code != exitFailure || r.stderr != want {
		t.Errorf("exit %d, standard error %q, want %q", r.code, r.stderr, want)
	}
	if r := encbench("", "model", "list"); !strings.Contains(r.stdout, "acme/minilm") {
		t.Errorf("model list: %s", r.stdout)
	}
}

// A damaged model fails the gate of the intact one's references: no pass, no
// rate.
func TestNoPassNoRate(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	// A reference that another implementation would give for other weights.
	dir := assettest.Need(t, "all-minilm-l6-v2")
	rows := [][]float32{make([]float32, 384)}
	rows[0][0] = 1
	writeNPY(t, "v.npy", rows)
	os.WriteFile("v.ids.json", []byte(`[[101, 7592, 102]]`), 0o644)
	r := encbench("", "model", "verify", dir, "--reference", "v.npy")
	if r.code != exitFailure || !strings.Contains(r.stdout, "FAILED: 3 tokens: cosine") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := encbench("", "model", "verify", dir); r.code != 0 || strings.Count(r.stdout, "passed (reference)") != 2 {
		t.Errorf("intact model: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// A ready graph beside a tokenizer is gated against itself only, and is never
// publishable.
func TestBareGraph(t *testing.T) {
	needAll(t)
	dir := assettest.Need(t, "all-minilm-l6-v2")
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	if err := os.MkdirAll("bare", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("bare", name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := encbench("", "model", "import", dir, "--out", "bare/model.onnx"); r.code != 0 {
		t.Fatalf("import: %s", r.stderr)
	}
	rec := speedRecord(t, "", "--corpus", "d.jsonl", "--model", "bare/model.onnx")
	if rec.Accuracy.Level != bench.LevelConsistency || !rec.Accuracy.Passed || rec.Verdict.Publishable {
		t.Errorf("accuracy %+v, verdict %+v", rec.Accuracy, rec.Verdict)
	}
	if !strings.Contains(strings.Join(rec.Verdict.Reasons, "\n"), "consistency-only") {
		t.Errorf("reasons %q do not say consistency-only", rec.Verdict.Reasons)
	}
}

// Records of different input are refused with the field named.
func TestCompareRefuses(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	os.WriteFile("e.jsonl", []byte(someDocs+`{"_id":"z","text":"one more"}`+"\n"), 0o644)
	for name, args := range map[string][]string{
		"a.json": {"--corpus", "d.jsonl"}, "b.json": {"--corpus", "d.jsonl"},
		"input.json": {"--corpus", "e.jsonl"}, "region.json": {"--corpus", "d.jsonl", "--region", "encode"},
		"protocol.json": {"--corpus", "d.jsonl", "--overlap", "50"},
	} {
		speedRecord(t, "", append(args, "--out", name)...)
	}
	if r := encbench("", "compare", "a.json", "b.json"); r.code != 0 {
		t.Errorf("equal protocols: exit %d\n%s", r.code, r.stderr)
	}
	for name, field := range map[string]string{"input.json": "corpus", "region.json": "protocol.region", "protocol.json": "protocol.overlap"} {
		r := encbench("", "compare", "a.json", name)
		if r.code != exitFailure || !strings.Contains(r.stderr, "a.json and "+name+" cannot be compared: ") || !strings.Contains(r.stderr, field) {
			t.Errorf("%s: exit %d, %q does not name %s", name, r.code, r.stderr, field)
		}
	}
}

// writeNPY writes float32 rows as numpy would.
func writeNPY(t *testing.T, path string, rows [][]float32) {
	t.Helper()
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(rows), len(rows[0]))
	header += strings.Repeat(" ", (64-(len(header)+11)%64)%64) + "\n"
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	for _, r := range rows {
		for _, x := range r {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
