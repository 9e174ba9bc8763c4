// Package rerank puts the first documents of a run into the order of a cross-encoder:
// a model that reads a query and a document together and gives one number, the
// logit, for the pair.
//
// # Pairs
//
// A pair is the tokenizer's own template around two texts, CLS query SEP document SEP
// for BERT, with the token types that the template says. The query is cut to its
// first [Cut.QueryTokens] content tokens, special tokens not counted, and the
// document to what the query leaves of the model's length: what Hugging Face
// tokenizers call only_second, behind a query that was cut before. Every pair is one
// row; nothing is split into windows.
//
// # Order
//
// The first [Setup.Top] documents of a query, its candidates, are put in the order of
// their logits, and equal logits keep the order of the first stage. Below them come
// the candidates that could not be scored because the collection does not hold them,
// then the rest of the list, both as the first stage had them. The scores that are
// written fall strictly from each document to the next (see [Rescore]), so that every
// reader of the run sees this order, whatever its rule for equal scores.
//
// # Invariants
//
// A document is read and tokenized once, however many queries want it: rows go
// through the encoder in the order of the collection, and the logits come back to
// their place. Memory holds the run, a number for each pair, and a bounded amount of
// text. Nothing of a collection is written before all of its pairs are scored.
//
// # What it leaves out
//
// Listwise and generative rerankers, scores of several windows of a document, the
// choice of the backend, and files: it is given an engine.Encoder and writers.
package rerank
