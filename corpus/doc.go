// Package corpus reads collections: documents, streaming, from the formats of
// the field, and the embedded technical-documentation corpora.
//
// A [Scanner] gives one [Doc] after another as views into memory that it
// reuses, so a collection of any size streams in constant memory and, for JSONL
// and TSV, without one allocation per document. [OpenCorpus] picks the scanner:
//
//   - jsonl: one JSON object a line, as in BEIR's corpus.jsonl; a line without an
//     id is named by its number;
//   - tsv: `id <tab> text` or `id <tab> title <tab> text`;
//   - text: one file, one document;
//   - dir: a folder of text files, one document each.
//
// Two more scanners read the documents of labelled collections, for package
// collection: [NewSMART] (Cranfield, CISI, CACM) and [NewTREC].
//
// Each may be plain, gzip or zstd, and may come from standard input (path "-").
// An input without a byte of text is a collection of no documents, whatever its
// format. [Open] and [OpenReader] recognise compression by content and guard
// against decompression bombs, [Create] compresses by name; no other package of
// the module reads or writes compressed text.
//
// A broken line is never lost silently and never fatal on its own: it is counted
// and the first ones are kept with file and line (see [Skipper]);
// [Options].Strict makes the first one the end.
//
// # Invariants
//
// Each fast path has a plain twin that defines the answer: the JSONL parser
// equals encoding/json (parsePlain, in the tests), the TSV splitter equals bytes.Split. Fuzz
// tests hold the pairs together. A corpus is identified by a [Manifest], whose
// checksum covers id, title and text of every document in order.
//
// # What it leaves out
//
// It is a leaf: it knows nothing of tokens (a corpus whose rule speaks of tokens
// is handed a counter) or of judgements, and it downloads nothing. Of queries it
// knows what it writes beside the documents of techdocs-qa, and skips it as a scanner.
// Invalid UTF-8 passes through unchanged; the tokenizer repairs and counts it
// ([AppendJSONL], which must write valid JSON, repairs it by the same rule).
package corpus
