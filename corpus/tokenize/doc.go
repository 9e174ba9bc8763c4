// Package tokenize turns text into token ids exactly as the model's reference
// tokenizer does.
//
// Load reads a Hugging Face tokenizer.json of one of three families:
//
//   - WordPiece behind BertNormalizer and BertPreTokenizer, cased or uncased (BERT,
//     MiniLM, BGE, E5, GTE, MPNet).
//   - BPE over bytes: ByteLevel, alone or behind the patterns of GPT-2, Llama 3,
//     Qwen2, Qwen3.5 and o200k, Digits and Punctuation (RoBERTa, ModernBERT, Granite,
//     Qwen3-Embedding); and over characters, with byte fallback and marks for spaces
//     (Gemma, Llama 2, Mistral).
//   - Unigram with Metaspace behind any of the normalizers (XLM-R, multilingual E5,
//     BGE-M3).
//
// Normalizers, added tokens with their flags and the post-processors are common to
// all. Whatever else a file asks for is refused by name: a tokenizer that is nearly
// right gives vectors that are nearly right, and nothing further down the line would
// notice. The truncation and padding that many files carry (128 tokens, often) are
// never honoured, only reported in Info: cutting text is the chunker's work.
//
// # What is exact
//
// Ids equal those of Hugging Face tokenizers 0.23.3, whose Unicode tables are neither
// Go's nor those of any one Unicode version: one library inside it knows other letters
// than the next. Character classes, case, decompositions, compositions and combining
// order are therefore generated from that library (_gen). Invalid UTF-8 is first
// repaired as Python's errors='replace' does it, and counted.
//
// The pre-tokenizers of the BPE family are regular expressions, which are recognised
// by their exact text and scanned by hand.
//
// # What is fast
//
// A text is cut at added tokens, which a vector search for their first two bytes
// finds, then into words by bit masks over 64 bytes at a time: runs and punctuation
// marks for WordPiece, whatever white space divides for Unigram, the matches of the
// pattern for BPE. Such a word is the unit of work, because nothing around it changes
// its ids: they come from a small cache keyed by its bytes, or else from a
// double-array trie, from the best path through a lattice, or from the longest tokens
// that merging leaves side by side. Words of up to 16 bytes are kept in sets of two,
// the one used last in front, words of up to 32 bytes in one place each. Nothing above
// one word is ever remembered, the caches have a fixed size, and Reset empties them.
// Time is linear in the text, whatever the text, and nothing is allocated for a text
// once scratch memory has grown.
//
// Every family is also written plainly, in reference_*_test.go, which defines the
// answer; tests and fuzz targets hold the two together.
//
// The package needs the standard library only. It leaves out decoding ids back to
// text; training is in the package train.
package tokenize
