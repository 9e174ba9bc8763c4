package cpu

import (
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/corpus/tokenize"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// TestMiniLM encodes texts with the real all-MiniLM-L6-v2 and compares with
// sentence-transformers. Texts above 100 tokens take long under the race detector and
// are left to the encoder that is tested against the reference.
func TestMiniLM(t *testing.T) {
	dir := assettest.Need(t, "all-minilm-l6-v2")
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if enc, pooler := m.Parameters(); enc != 22_565_376 || pooler != 147_840 {
		t.Errorf("%d parameters and %d of the pooler", enc, pooler)
	}
	if m.Pooling != model.PoolMean || !m.Normalize || m.MaxSeqLength != 256 || m.TokenizerMaxLength != 512 || m.MaxPositions() != 512 {
		t.Errorf("pooling %s, normalize %t, max_seq_length %d, model_max_length %d, positions %d",
			m.Pooling, m.Normalize, m.MaxSeqLength, m.TokenizerMaxLength, m.MaxPositions())
	}
	r, err := NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	tok, _, err := tokenize.LoadFile(m.TokenizerPath)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts      []string    `json:"texts"`
		Embeddings [][]float32 `json:"embeddings_max512"`
	}
	modeltest.ReadJSON(t, "../model/testdata/minilm-l6-golden.json", &golden)
	compared := 0
	for i, text := range golden.Texts {
		ids := withSpecials(tok, text)
		if len(ids) > 100 {
			continue
		}
		compared++
		v := encode(t, r, ids)
		if c := cosine(v, golden.Embeddings[i]); !(c >= minCosine) {
			t.Errorf("text %d of %d tokens: cosine %v, limit %v", i, len(ids), c, minCosine)
		}
		if d := furthest(v, golden.Embeddings[i]); !(d <= maxAbs) {
			t.Errorf("text %d of %d tokens: off by %v, limit %v", i, len(ids), d, maxAbs)
		}
	}
	if compared < 20 {
		t.Errorf("only %d texts of %d compared", compared, len(golden.Texts))
	}
}

// withSpecials tokenizes a text and puts the model's special tokens around it.
func withSpecials(tok tokenize.Tokenizer, text string) []int32 {
	var ids []int32
	for _, p := range tok.Template().Single {
		if p.Text == 0 {
			ids = append(ids, p.ID)
		} else {
			ids = tok.AppendIDs(ids, []byte(text))
		}
	}
	return ids
}

// BenchmarkReferenceMiniLM512 encodes a row of 512 tokens.
func BenchmarkReferenceMiniLM512(b *testing.B) {
	r := load(b, assettest.Need(b, "all-minilm-l6-v2"))
	ids := make([]int32, 512)
	for i := range ids {
		ids[i] = int32(1000 + 37*i)
	}
	for b.Loop() {
		encode(b, r, ids)
	}
	b.ReportMetric(512*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
