// Package bm25 ranks documents by words: the baseline that stands beside an
// encoder's value, and what a damaged encoder is told by.
//
// [Build] reads a corpus into an inverted index in memory; [Index.Search] ranks it
// for one query, [Index.SearchAll] for many on all CPUs. The formula is BM25 as
// Lucene has it since version 8,
//
//	score(q, d) = Σ over words w of q:  count(w, q) · idf(w) · tf / (tf + k1·(1 − b + b·|d|/avg))
//	idf(w)      = ln(1 + (N − n(w) + ½) / (n(w) + ½))
//
// with tf the count of w in d, |d| the number of words of d, avg its mean over all
// N documents, n(w) the number of documents with w. Lengths are exact (Lucene rounds
// them to a byte). By default k1 is 0.9 and b is 0.4, the values of Anserini and of
// BEIR's baseline; both stand in the name, [Index.Name].
//
// Words are maximal runs of Unicode letters, marks and digits, in lower case. There
// is no stemming and no list of stop words: what little they add belongs to one
// language, and a baseline must be easy to repeat.
//
// # Invariants
//
// The same corpus, query and parameters give the same ids and the same score bits,
// whatever the number of threads: a score is summed over the words in the order of
// their first appearance in the query. Equal scores stand in the order of the corpus.
// A document without any word of the query is not in the list. A plain twin in the
// tests computes every score from the texts.
package bm25
