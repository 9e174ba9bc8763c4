// Package eval measures the quality of an encoder on labelled collections: it
// encodes documents and queries, searches exactly, judges the rankings, and keeps
// every query's values in a Record.
//
// One pass makes everything. Documents are tokenized, cut to the model's length or
// into windows, encoded, and appended to the searcher while encoding goes on; then
// queries are encoded and searched in blocks, and each block is judged and written
// to the run file before the next is searched. Document vectors are held once, in
// the searcher, and queries' vectors once beside them; nothing else grows with the
// corpus but a number and an identifier a document.
//
// What is guaranteed: for the same vectors the values are the same bits, whatever
// the number of threads, the block of queries or the instruction set, because the
// search follows the one summation rule of package engine and per-query values are
// averaged in query order. Vectors themselves depend on the encoder: a batch of
// another size lets it group rows in another way, which moves a value by about
// 1e-7 and may swap two documents whose scores are that close.
//
// The package is handed encoders and searchers as values and imports no backend.
// It does not check the vectors: whoever opens the encoder gates it first.
package eval
