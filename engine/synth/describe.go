package synth

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	"encbench/engine/model"
)

// dtypeNames are the spellings of config.json.
var dtypeNames = map[model.DType]string{model.F32: "float32", model.F16: "float16", model.BF16: "bfloat16"}

// Describe gives the files of a stand-in's directory but weights and tokenizer, by
// their path in it: config.json in the keys of the family, and for embedders the
// modules, pooling, prompts and length limits of sentence-transformers.
func (s Shape) Describe(seed int64, dtype model.DType, tokenizer string) map[string][]byte {
	config := s.config(dtype)
	config["encbench_synthetic"] = model.Synthetic{Shape: s.Name, Seed: seed, Tokenizer: tokenizer}
	files := map[string][]byte{
		"config.json":           indented(config),
		"tokenizer_config.json": indented(s.tokenizerConfig()),
		"README.md":             s.readme(seed, dtype, tokenizer),
	}
	if s.Kind == model.Reranker {
		return files
	}
	kinds := []string{"Transformer", "Pooling", "Normalize"}
	if !s.Normalize {
		kinds = kinds[:2]
	}
	var list []map[string]any
	for i, kind := range kinds {
		m := map[string]any{"idx": i, "name": fmt.Sprint(i), "path": "", "type": "sentence_transformers.models." + kind}
		if i > 0 {
			m["path"] = fmt.Sprintf("%d_%s", i, kind)
		}
		list = append(list, m)
	}
	files["modules.json"] = indented(list)
	files[path.Join("1_Pooling", "config.json")] = indented(s.pooling())
	prompts := s.Prompts
	if prompts == nil {
		prompts = map[string]string{}
	}
	files["config_sentence_transformers.json"] = indented(map[string]any{
		"prompts": prompts, "default_prompt_name": nil, "similarity_fn_name": "cosine",
	})
	if s.MaxSeq > 0 {
		files["sentence_bert_config.json"] = indented(map[string]any{"max_seq_length": s.MaxSeq, "do_lower_case": s.LowerCase})
	}
	return files
}

// float is a number that JSON readers of Python are to take for a float: 2 is
// written 2.0, as Python writes it.
type float float64

// MarshalJSON writes the shortest form that has a point or an exponent.
func (f float) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

func indented(v any) []byte {
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("synth: " + err.Error()) // maps, strings and numbers
	}
	return append(out, '\n')
}

func (s Shape) pooling() map[string]any {
	p := map[string]any{"word_embedding_dimension": s.Hidden, "include_prompt": true}
	for mode, key := range map[model.Pooling]string{
		model.PoolCLS: "cls_token", model.PoolMean: "mean_tokens", model.PoolMax: "max_tokens", model.PoolLast: "lasttoken",
		"sqrt": "mean_sqrt_len_tokens", "weighted": "weightedmean_tokens",
	} {
		p["pooling_mode_"+key] = s.Pooling == mode
	}
	return p
}

// tokenizerClasses are the classes of transformers that read the vocabularies.
var tokenizerClasses = map[Vocabulary]string{
	WordPieceEnglish: "BertTokenizer", UnigramXLMR: "XLMRobertaTokenizer", BPEModernBERT: "PreTrainedTokenizerFast",
	BPEO200k: "PreTrainedTokenizerFast", BPEGemma: "PreTrainedTokenizerFast", BPEQwen: "PreTrainedTokenizerFast",
}

// specialTokens are the special tokens of the vocabularies, by their role.
var specialTokens = map[Vocabulary]map[string]any{
	WordPieceEnglish: {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"},
	BPEModernBERT:    {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"},
	UnigramXLMR: {
		"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>",
		"pad_token": "<pad>", "mask_token": "<mask>",
	},
	BPEGemma: {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"},
	BPEO200k: {"bos_token": "<|startoftext|>", "eos_token": "<|return|>", "pad_token": "<|endoftext|>"},
	BPEQwen:  {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
}

func (s Shape) tokenizerConfig() map[string]any {
	c := map[string]any{"model_max_length": s.Positions, "tokenizer_class": tokenizerClasses[s.Vocabulary]}
	if s.Vocabulary == WordPieceEnglish {
		c["do_lower_case"] = true
	}
	maps.Copy(c, specialTokens[s.Vocabulary])
	return c
}

// config gives config.json in the keys that transformers uses for the family.
func (s Shape) config(dtype model.DType) map[string]any {
	c := map[string]any{
		"hidden_size": s.Hidden, "intermediate_size": s.FFN,
		"num_hidden_layers": s.Layers, "num_attention_heads": s.Heads,
		"vocab_size": s.Vocab, "torch_dtype": dtypeNames[dtype],
		"initializer_range": float(0.02),
	}
	for key, id := range map[string]int{
		"pad_token_id": s.Special.PAD, "bos_token_id": s.Special.BOS, "eos_token_id": s.Special.EOS,
		"cls_token_id": s.Special.CLS, "sep_token_id": s.Special.SEP,
	} {
		if id >= 0 {
			c[key] = id
		}
	}
	class := ""
	switch s.Family {
	case BERT, XLMR:
		class = s.bertConfig(c)
	case ModernBERT:
		class = s.modernBERTConfig(c)
	case Qwen3:
		class = "Qwen3"
		maps.Copy(c, map[string]any{
			"model_type": "qwen3", "max_position_embeddings": s.Positions, "hidden_act": string(s.Act),
			"num_key_value_heads": s.KVHeads, "head_dim": s.HeadDim, "rms_norm_eps": float(s.NormEps), "rope_theta": float(s.GlobalTheta),
			"attention_bias": false, "attention_dropout": float(0.0), "max_window_layers": s.Layers, "rope_scaling": nil,
			"sliding_window": nil, "use_sliding_window": false, "tie_word_embeddings": true, "use_cache": true,
		})
	}
	if s.Kind == model.Reranker {
		c["architectures"] = []string{class + "ForSequenceClassification"}
		c["id2label"], c["label2id"] = map[string]string{"0": "LABEL_0"}, map[string]int{"LABEL_0": 0}
	} else {
		c["architectures"] = []string{class + "Model"}
	}
	return c
}

func (s Shape) bertConfig(c map[string]any) (class string) {
	maps.Copy(c, map[string]any{
		"model_type": "bert", "max_position_embeddings": s.Positions + s.firstPosition(), "type_vocab_size": s.Types,
		"hidden_act": string(s.Act), "layer_norm_eps": float(s.NormEps), "position_embedding_type": "absolute",
		"attention_probs_dropout_prob": float(0.1), "hidden_dropout_prob": float(0.1), "classifier_dropout": nil, "use_cache": true,
	})
	if s.Family == XLMR {
		c["model_type"] = "xlm-roberta"
		return "XLMRoberta"
	}
	return "Bert"
}

func (s Shape) modernBERTConfig(c map[string]any) (class string) {
	maps.Copy(c, map[string]any{
		"model_type": "modernbert", "max_position_embeddings": s.Positions,
		"hidden_activation": string(s.Act), "classifier_activation": "gelu",
		"norm_eps": float(s.NormEps), "layer_norm_eps": float(s.NormEps),
		"global_attn_every_n_layers": 3, "local_attention": 128,
		"global_rope_theta": float(s.GlobalTheta), "local_rope_theta": float(s.LocalTheta), "position_embedding_type": "absolute",
		"attention_bias": false, "mlp_bias": false, "norm_bias": false, "classifier_bias": false, "decoder_bias": true,
		"attention_dropout": float(0.0), "embedding_dropout": float(0.0), "mlp_dropout": float(0.0), "classifier_dropout": float(0.0),
		"classifier_pooling": "cls", "deterministic_flash_attn": false, "initializer_cutoff_factor": float(2),
		"sparse_prediction": false, "sparse_pred_ignore_index": -100, "tie_word_embeddings": true,
	})
	if s.Pooling == model.PoolMean || s.Kind == model.Embedder && s.Vocabulary == BPEModernBERT {
		// Granite's English models say mean here and pool the CLS state all the same:
		// a reader that takes this for the pooling shows.
		c["classifier_pooling"] = "mean"
	}
	return "ModernBert"
}

func (s Shape) readme(seed int64, dtype model.DType, tokenizer string) []byte {
	words := map[string]string{
		model.SyntheticReal:    "The tokenizer is the one of the real model.",
		model.SyntheticStandIn: "The tokenizer is a stand-in too: one of the same family, trained on another text.\nToken counts, and so documents per second, differ from the real model's.",
	}
	encoder, pooler := s.Parameters()
	return fmt.Appendf(nil, `# %s: a stand-in

This directory has the exact architecture of %s and **random weights**:
%d parameters, drawn from seed %d, stored as %s. It serves to
measure speed and memory only. Its vectors and scores mean nothing.

%s

Written by "encbench model synth %s"; the same command and seed give the same
bytes on every machine. config.json says so under the key encbench_synthetic.
`, s.Name, s.Hub, encoder+pooler, seed, dtypeNames[dtype], words[tokenizer], s.Name)
}
