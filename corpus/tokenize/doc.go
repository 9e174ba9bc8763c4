// Package tokenize turns text into token ids exactly as the model's reference
// tokenizer does.
//
// Load reads a Hugging Face tokenizer.json. Supported is the BERT family:
// WordPiece behind BertNormalizer and BertPreTokenizer, cased or uncased, with
// TemplateProcessing, BertProcessing or RobertaProcessing. Whatever else a file
// asks for is refused by name: a tokenizer that is nearly right gives vectors
// that are nearly right, and nothing further down the line would notice. The
// truncation and padding that many files carry (128 tokens, often) are never
// honoured, only reported in Info: cutting text is the chunker's work.
//
// # What is exact
//
// Ids equal those of Hugging Face tokenizers 0.23.3, whose Unicode tables are
// neither Go's nor those of any one Unicode version. Character classes, case,
// decompositions and combining order are therefore generated from that library
// (_gen/unicode_tables.py). Invalid UTF-8 is first repaired as Python's
// errors='replace' does it, and counted.
//
// # What is fast
//
// A text is cut at added tokens, then into runs and punctuation marks by bit
// masks over 64 bytes at a time. Between ASCII white space and punctuation
// everything is context-free, so such a run is the unit of work: its ids come
// from a small cache keyed by its bytes, or else from a double-array trie. Runs of
// up to 16 bytes are kept in sets of two, the one used last in front, runs of up to
// 32 bytes in one place each. Nothing above one pre-token is ever remembered, the caches have a fixed
// size, and Reset empties them. Time is linear in the text, whatever the text.
//
// reference.go holds the same thing written plainly, which defines the answer. It
// also serves one rare case, slowly and with allocations: added tokens matched
// after normalisation (Info.Plain).
//
// The package needs the standard library only. It leaves out training, decoding
// ids back to text, and the byte-level and Unigram families.
package tokenize
