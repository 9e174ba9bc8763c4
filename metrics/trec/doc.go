// Package trec reads and writes rankings and judgements as text: TREC's run and
// qrels files, the tab-separated files of BEIR, MTEB and MS MARCO, and the JSON
// that MTEB and ranx write.
//
// Reading is strict. A line with the wrong number of columns, a score or grade
// that is not wholly a number, a NaN: each is an error that names file, line,
// column, what was found and what was expected. A lenient reader skips such lines
// and counts them. Identifiers are bytes: any encoding, no white space. A byte
// order mark is removed and counted, lines may end in CR LF, columns may be
// separated by any number of spaces and tabs. # begins no comment unless asked.
//
// Runs are read in blocks of whole queries, in memory that depends on the longest
// ranking and the number of queries, not on the file. The rows of a query have to
// stand together for that; where they do not, the reader says so, and [Collect]
// reads such a file in memory. The package knows no files and no compression:
// whoever calls it opens and unpacks.
package trec
