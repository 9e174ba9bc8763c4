package synth

import "encbench/engine/model"

// Prompts as the models' cards give them. The models' own directories often leave
// them to the card; a stand-in writes them down.
var (
	promptsE5   = map[string]string{"query": "query: ", "passage": "passage: "}
	promptsNone = map[string]string{"query": "", "document": ""}
	promptsBGE  = map[string]string{"query": "Represent this sentence for searching relevant passages: "}
)

// shapes lists the stand-ins. Sizes are those of the models' public configurations,
// parameter counts those of their model cards; both are held by tests.
var shapes = []Shape{
	modernBERT("granite-english-r2", "ibm-granite/granite-embedding-english-r2", 22, 768, 12, 1152, 80_000),
	modernBERT("granite-small-english-r2", "ibm-granite/granite-embedding-small-english-r2", 12, 384, 12, 1536, 80_000),
	// The smaller multilingual model's local layers rotate by the larger base.
	modernBERT("granite-97m-multilingual-r2", "ibm-granite/granite-embedding-97m-multilingual-r2", 12, 384, 12, 1536, 150_000).with(func(s *Shape) {
		s.LocalTheta, s.Act = 160_000, model.SiLU
		s.Vocab, s.Positions, s.MaxSeq, s.Vocabulary = 180_000, 32_768, 32_768, BPEO200k
		s.Special = Special{PAD: 179_935, BOS: 179_934, EOS: 179_938, CLS: 179_934, SEP: 179_938}
		s.Normalize, s.Prompts = true, promptsNone
	}),
	modernBERT("granite-311m-multilingual-r2", "ibm-granite/granite-embedding-311m-multilingual-r2", 22, 768, 12, 1152, 150_000).with(func(s *Shape) {
		s.LocalTheta = 160_000
		s.Vocab, s.Positions, s.MaxSeq, s.Vocabulary = 262_152, 32_768, 32_768, BPEGemma
		s.Special = Special{PAD: 0, BOS: 2, EOS: 1, CLS: 2, SEP: 1}
		s.Normalize, s.Prompts = true, promptsNone
	}),
	modernBERT("modernbert-base", "answerdotai/ModernBERT-base", 22, 768, 12, 1152, 160_000).with(func(s *Shape) { s.Pooling, s.Normalize = model.PoolMean, true }),
	modernBERT("modernbert-large", "answerdotai/ModernBERT-large", 28, 1024, 16, 2624, 160_000).with(func(s *Shape) { s.Pooling, s.Normalize = model.PoolMean, true }),
	modernBERT("gte-modernbert-base", "Alibaba-NLP/gte-modernbert-base", 22, 768, 12, 1152, 160_000),

	bert("bge-small", "BAAI/bge-small-en-v1.5", 12, 384, 12, 1536).with(func(s *Shape) { s.Prompts, s.LowerCase = promptsBGE, true }),
	bert("bge-base", "BAAI/bge-base-en-v1.5", 12, 768, 12, 3072).with(func(s *Shape) { s.Prompts, s.LowerCase = promptsBGE, true }),
	bert("bge-large", "BAAI/bge-large-en-v1.5", 24, 1024, 16, 4096).with(func(s *Shape) { s.Prompts, s.LowerCase = promptsBGE, true }),
	bert("e5-small", "intfloat/e5-small-v2", 12, 384, 12, 1536).with(func(s *Shape) { s.Pooling, s.Prompts = model.PoolMean, promptsE5 }),
	bert("e5-base", "intfloat/e5-base-v2", 12, 768, 12, 3072).with(func(s *Shape) { s.Pooling, s.Prompts = model.PoolMean, promptsE5 }),
	bert("minilm-l6", "sentence-transformers/all-MiniLM-L6-v2", 6, 384, 12, 1536).with(func(s *Shape) { s.Pooling, s.MaxSeq = model.PoolMean, 256 }),

	// A BERT with the vocabulary of XLM-RoBERTa, whose fairseq ids it keeps.
	bert("multilingual-e5-small", "intfloat/multilingual-e5-small", 12, 384, 12, 1536).with(func(s *Shape) {
		s.Vocab, s.Vocabulary = 250_037, UnigramXLMR
		s.Pooling, s.Prompts = model.PoolMean, promptsE5
	}),
	xlmr("multilingual-e5-base", "intfloat/multilingual-e5-base").with(func(s *Shape) { s.Prompts = promptsE5 }),

	{
		Name: "qwen3-embedding-0.6b", Hub: "Qwen/Qwen3-Embedding-0.6B", Family: Qwen3, Kind: model.Embedder,
		Layers: 28, Hidden: 1024, FFN: 3072, Heads: 16, KVHeads: 8, HeadDim: 128,
		Vocab: 151_669, Positions: 32_768, Act: model.SiLU, NormEps: 1e-6, GlobalTheta: 1_000_000,
		Pooling: model.PoolLast, Normalize: true,
		Prompts: map[string]string{
			"query":    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
			"document": "",
		},
		Vocabulary: BPEQwen, Special: Special{PAD: -1, BOS: 151_643, EOS: 151_643, CLS: -1, SEP: -1},
	},

	bert("ms-marco-minilm-l12", "cross-encoder/ms-marco-MiniLM-L12-v2", 12, 384, 12, 1536).with(func(s *Shape) { s.Kind, s.Normalize, s.MaxSeq = model.Reranker, false, 0 }),
	xlmr("bge-reranker-base", "BAAI/bge-reranker-base").with(func(s *Shape) {
		s.Kind, s.Pooling, s.Normalize, s.MaxSeq = model.Reranker, model.PoolCLS, false, 0
	}),
	modernBERT("gte-reranker-modernbert-base", "Alibaba-NLP/gte-reranker-modernbert-base", 22, 768, 12, 1152, 160_000).with(func(s *Shape) {
		s.Kind, s.Pooling, s.MaxSeq = model.Reranker, model.PoolMean, 0
	}),
	modernBERT("granite-reranker-english-r2", "ibm-granite/granite-embedding-reranker-english-r2", 22, 768, 12, 1152, 80_000).with(func(s *Shape) {
		s.Kind, s.MaxSeq = model.Reranker, 0
	}),
}
