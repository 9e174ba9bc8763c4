package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/bench/peers"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/synth"
)

// tinyModels gives a models part at work with a directory of ModernBERT's architecture
// and small sizes: a layer for all pairs, two with a window, one for all pairs.
func tinyModels(t *testing.T, flags *peersFlags) (m *modelsRun, dir string, out *bytes.Buffer) {
	t.Helper()
	assettest.Need(t, "onnxruntime")
	out = &bytes.Buffer{}
	a := &app{stdout: out, stderr: out}
	file, err := openOut("", nil)
	if err != nil {
		t.Fatal(err)
	}
	m = &modelsRun{peersRun: &peersRun{peersFlags: flags, app: a, dir: t.TempDir(), file: file}, name: "tiny"}
	if m.rt, err = a.runtime(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	shape, err := synth.Find("modernbert-base")
	if err != nil {
		t.Fatal(err)
	}
	shape.Layers, shape.Hidden, shape.FFN, shape.Heads, shape.KVHeads, shape.HeadDim = 4, 64, 64, 4, 4, 16
	tokenizer, _, _ := tinyTokenizer(t, "roberta-like-bpe")
	dir = filepath.Join(m.dir, "model")
	opt := synth.Options{Seed: 1, DType: model.F32, Tokenizer: (&synthTokenizer{path: tokenizer}).copyTo, Kind: model.SyntheticStandIn}
	if _, err := synth.WriteDirectory(t.Context(), dir, shape, opt); err != nil {
		t.Fatal(err)
	}
	return m, dir, out
}

// TestDenseForms: the forms give the same vectors, and what is timed is one row of
// long ones.
func TestDenseForms(t *testing.T) {
	m, dir, out := tinyModels(t, &peersFlags{threads: 2, pairs: 8})
	t.Setenv("ENCBENCH_CACHE", "")
	lm, err := m.app.openModel(t.Context(), modelOptions{name: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer lm.close()
	l := &lengthRun{modelsRun: m, model: lm, lengthCase: lengthCase{tokens: 300, rows: 2, overDense: 1e-9, long: true}}
	corpora := testCorpora(t, strings.Repeat("Reader implements buffering for an io.Reader object. ", 90), strings.Repeat("Writer writes; Flush flushes. ", 160))
	if l.texts, err = longRows(corpora, lm.tok, 2, 300); err != nil {
		t.Fatal(err)
	}
	for _, form := range denseForms {
		if err := l.dense(t.Context(), "tiny, "+form.row, form); err != nil {
			t.Fatal(err)
		}
	}
	rows := m.result.Rows
	if len(rows) != 2 {
		t.Fatalf("%d rows\n%s", len(rows), out)
	}
	for i, r := range rows {
		if len(r.Ours) != apartSamples || !r.Unpaired || (r.Bar != nil) != denseForms[i].bar || r.Unit != "chunks/s" ||
			!strings.HasPrefix(r.Note, "ids equal, cosine of vectors at least 1.0000") || !strings.HasSuffix(r.Note, "both: "+ort.Plan(2, 1, 0).String()) {
			t.Errorf("%+v", r)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
	if rows[0].Name != "tiny, against dense masks" || !rows[0].Judge().Met {
		t.Errorf("%s: %+v", rows[0].Name, rows[0].Judge())
	}
	if layout, err := l.layout(t.Context(), "tiny: "); err != nil || layout.Batch > 2 || strings.Count(out.String(), "tiny: ours ") != 2 {
		t.Errorf("layout %v, %v\n%s", layout, err, out)
	}
	if got := pairBytes(lm.dir, 300); got != 4*4*300*300 {
		t.Errorf("a layer's pairs take %d bytes", got)
	}
	l.tokens = 1 << 20 // whose pairs no machine holds
	if err := l.dense(t.Context(), "huge", denseForms[0]); err != nil || len(m.result.Notes) != 1 || !strings.HasPrefix(m.result.Notes[0], "huge was left out: the dense form needs about 70369 GB at once, ") {
		t.Errorf("%v, notes %q", err, m.result.Notes)
	}
	// A form that gives other vectors is not timed.
	other, done, err := l.side(t.Context(), l.texts[1:], ort.Plan(2, 1, 0), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	mine, end, err := l.side(t.Context(), l.texts[:1], ort.Plan(2, 1, 0), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	_, err = sameVectors("the other row", mine.vectors, other.vectors, lm.dir.Dim())
	if !errors.Is(err, errDisagree) || !strings.HasPrefix(err.Error(), "the vectors differ from ours: the other row gives a cosine of ") {
		t.Errorf("other vectors: %v", err)
	}
	if err := m.refused("a row", err); err != nil || !strings.HasPrefix(m.result.Notes[1], "a row was not timed: the vectors differ from ours: ") {
		t.Errorf("%v, notes %q", err, m.result.Notes)
	}
}

// TestImport: what is read, copied and converted.
func TestImport(t *testing.T) {
	m, dir, out := tinyModels(t, &peersFlags{threads: 1, pairs: 6})
	if err := m.importOf("import of the tiny one", dir); err != nil {
		t.Fatal(err)
	}
	r := m.result.Rows[0]
	if len(r.Ours) != 6 || *r.Bar != importSeconds || !r.Ceiling || !r.Judge().Met {
		t.Errorf("%+v\n%s", r, out)
	}
	if !strings.Contains(r.Note, "weights of 13 MB, without their sha256; ") || !strings.HasSuffix(r.Note, "; no weight copied or converted but in the runtime, which packs matrices") {
		t.Errorf("note %q", r.Note)
	}
	seen := imported{weights: 300e6, allocated: 1500e3, graph: 40e3, narrow: 300e6, wide: 600e6}
	if want := "weights of 300 MB, without their sha256; 1.5 MB allocated, a graph of 40 kB that points into the weights file; 300 MB are widened to 600 MB of float32 by the runtime"; seen.String() != want {
		t.Errorf("got  %s\nwant %s", seen, want)
	}
	if _, err := m.importOnce(filepath.Join(dir, "none")); err == nil {
		t.Error("an absent directory was opened")
	}
}

// TestInt8Cost: ours in int8 is measured as model verify does, and a ready graph too.
func TestInt8Cost(t *testing.T) {
	needAll(t)
	ctx := context.Background()
	out := &bytes.Buffer{}
	a := &app{stdout: out, stderr: out}
	flags := &peersFlags{threads: 1, pairs: 2, rows: 2}
	file, err := openOut("", nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &int8Run{modelsRun: &modelsRun{peersRun: &peersRun{peersFlags: flags, app: a, dir: t.TempDir(), file: file}}, docs: 8, queries: 4}
	if q.rt, err = a.runtime(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if q.in, err = a.peerInputs(ctx, flags, q.dir); err != nil {
		t.Fatal(err)
	}
	defer q.in.close()
	if q.model, err = q.in.model.as(ctx, a, "int8"); err != nil {
		t.Fatal(err)
	}
	defer q.model.close()
	if err := q.value(ctx); err != nil {
		t.Fatal(err)
	}
	r := q.result.Rows[0]
	if r.Name != int8Value || r.Unit != "of float32's nDCG@10" || *r.Bar != 0.99 || !r.Counted || !(r.Ours[0] > 0.5) {
		t.Errorf("%+v", r)
	}
	if c := q.ours; c.Texts != 12 || c.Documents != 8 || c.Queries != 4 || !(c.Min > int8Near) || c.Min > c.Mean || !(c.Mean < 1) {
		t.Errorf("%+v", c)
	}
	if q.values.tokens != 256 || q.values.maxTokens != 256 {
		t.Errorf("texts are cut at %d tokens, those for a bare graph at %d", q.values.tokens, q.values.maxTokens)
	}
	// A graph that says nothing of its width has the model's.
	bare, err := q.bare(filepath.Join("..", "..", "..", "engine", "ort", "testdata", "states.onnx"))
	if err != nil || bare.dir != nil || bare.form.Dim == 0 {
		t.Errorf("%+v, %v", bare, err)
	}
	if _, err := q.bare(filepath.Join(q.dir, "none.onnx")); err == nil {
		t.Error("an absent graph was opened")
	}
}

// TestModelsWithoutPeers: what needs Python says so, and a file that is missing leaves
// out its rows.
func TestModelsWithoutPeers(t *testing.T) {
	needAll(t)
	python := filepath.Join(t.TempDir(), "bin", "python")
	r := encbench("", "peers", "--part", "models", "--small", "--only", "langchain4j", "--python", python)
	want := int8Others + " was left out: int8 graph: no file " + filepath.Join(filepath.Dir(python), int8GraphName) + "; " + peers.ErrMissing.Error() + ", or name the file with --int8-graph\n"
	if r.code != 0 || r.stderr != want || r.stdout != "" {
		t.Errorf("exit %d, %q\nwant %q", r.code, r.stderr, want)
	}
	r = encbench("", "peers", "--part", "models", "--small", "--only", "onnxruntime's own", "--python", python)
	if r.code != 1 || !strings.Contains(r.stderr, peers.ErrMissing.Error()) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

// TestRunRecord: a process of its own that fails is shown.
func TestRunRecord(t *testing.T) {
	var record bench.Record
	// The test binary stands for encbench: it knows no such flag.
	if _, err := runRecord(t.Context(), &record, "-no-such-flag"); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this test, and the kernel cannot start another program of its architecture")
	} else if err == nil || !strings.Contains(err.Error(), "-no-such-flag: exit status 2; its last lines:\n") {
		t.Errorf("a failing process: %v", err)
	}
	if _, err := runRecord(t.Context(), &record, "-test.list=^TestRunRecord$"); err == nil || !strings.HasPrefix(err.Error(), "encbench -test.list=^TestRunRecord$: read the record: ") {
		t.Errorf("a record that is none: %v", err)
	}
}
