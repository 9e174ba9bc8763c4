package eval

import (
	"context"
	"io"
	"testing"

	"encbench/bench/assets"
	"encbench/bench/assets/assettest"
	"encbench/bench/collection"
	"encbench/corpus"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
	"encbench/engine/ort"
)

// techdocsQA gives the embedded collection, limited.
func techdocsQA(t *testing.T, docs, queries int) Input {
	t.Helper()
	wheel := assettest.Need(t, "techdocs")
	store, err := assets.Open("", assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The place and the name of the command's, so that it is built once.
	path, err := store.Derived(context.Background(), corpus.TechdocsQARule+".jsonl", func(w io.Writer) error {
		_, err := corpus.BuildTechdocsQA(wheel, w)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.Open(path, collection.Options{Name: corpus.TechdocsQA, Documents: docs, Queries: queries, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: c.Name, Collection: c}
}

// openModel opens a model directory on ONNX Runtime, ungated.
func openModel(t *testing.T, rt *ort.Runtime, dir string, longest int) (engine.Encoder, tokenize.Tokenizer) {
	t.Helper()
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	tok, _, err := tokenize.LoadFile(m.TokenizerPath)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := onnx.Build(m, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	enc, err := ort.Open(rt, ort.Graph{
		Bytes: bytes, WeightsDir: onnx.Folder(m), Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}}, Output: onnx.Output,
		Dim: m.Dim(), Vocab: m.Config.Vocab, MaxLen: longest, Pooling: string(m.Pooling),
		FLOP: func(rows, length int) float64 { return onnx.FLOP(m, rows, length) },
	}, ort.Options{Layout: ort.Plan(2, 512, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { enc.Close() })
	return enc, tok
}

// A damaged model scores clearly lower than the intact one, and BM25 beside both
// stays what it is.
func TestDamagedModelScoresLower(t *testing.T) {
	dir := assettest.Need(t, "all-minilm-l6-v2")
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	in := techdocsQA(t, 150, 60)
	value := func(dir string) (v, bm25 Value) {
		s := Setup{
			Inputs: []Input{in}, Measures: measures(t, "nDCG@10"), K: 100, MaxTokens: 64, Pool: PoolMax, Similarity: Cosine, Normalized: true,
			BM25: func(Input) bool { return true }, Batch: 512, Workers: 2, Seed: 1,
			Searcher: func(dim int, _ Store) (engine.Searcher, int, error) {
				s, err := cpu.NewSearcher(cpu.Options{Dim: dim, Store: cpu.StoreF32})
				return s, 4 * dim, err
			},
		}
		s.Encoder, s.Tokenizer = openModel(t, rt, dir, s.MaxTokens)
		c := &evaluate(t, s).Collections[0]
		return c.Values[0], c.BM25.Values[0]
	}
	intact, words := value(dir)
	if intact.N != 60 || intact.Mean < 0.3 || intact.Mean > 0.9 {
		t.Errorf("the intact model: %s %.4f over %d queries", intact.Measure, intact.Mean, intact.N)
	}
	for name, fault := range map[string]modeltest.Fault{
		"pooling of the first token": {Pooling: model.PoolCLS},
		"one weight": {
			Tensor: "encoder.layer.5.output.LayerNorm.weight", Index: 7, Add: 100,
		},
	} {
		damaged, same := value(modeltest.Damage(t, dir, fault))
		t.Logf("%s: %s %.4f, intact %.4f, BM25 %.4f", name, damaged.Measure, damaged.Mean, intact.Mean, words.Mean)
		if damaged.Mean > intact.Mean-0.05 {
			t.Errorf("%s: %s %.4f, intact %.4f: not clearly lower", name, damaged.Measure, damaged.Mean, intact.Mean)
		}
		if same.Mean != words.Mean {
			t.Errorf("%s: BM25 moved from %v to %v", name, words.Mean, same.Mean)
		}
	}
}
