// Package train makes tokenizers: it learns the merges of byte-pair encodings, or
// the pieces of a Unigram model, from texts, and writes them as tokenizer.json in the
// layout of a known family, unused ids and special tokens included.
//
// What it makes stands in for a tokenizer that is not at hand, to measure the speed
// of models with it. It keeps one invariant: the same texts give the same bytes on
// every machine. Fast trainers have a plain twin in the tests, and the reference
// library's own trainer as oracle.
//
// Left out: tokenizing, which package tokenize does, and any claim that token counts
// are those of the real tokenizer.
package train
