// Package run reads and writes run files in their compressed form, extension
// .ebrun: queries with their ranked lists, in columns, a few bytes a row.
//
// A file is written and read as a stream:
//
//	magic (8 bytes), length (u32), header as JSON, CRC-32C (u32) of all before
//	frames, each a head of 48 bytes and a payload of whole queries
//	index: mark, length (u32), body, CRC-32C
//	trailer of 48 bytes: where the index lies, totals, end mark
//
// All numbers are little-endian. A frame stands alone: its head carries the
// checksums of head and payload, its number and what came before it, so a damaged
// frame costs itself only and a file that was cut off is good up to its last whole
// frame. The payload holds the columns query identifiers, rows of each query,
// documents, document of each row, scores. Columns of integers are packed to bits,
// the others are zstd frames where that makes them smaller.
//
// The invariants of a file: no query occurs twice, no document twice in a list, no
// identifier is empty, no score is NaN; every score comes back bit for bit; each
// frame names its documents in ascending order of their bytes, so that comparing
// two codes compares two identifiers. Rows lie in trec_eval's order, score
// descending and then document identifier descending by bytes, unless the header
// says "given". This is the one place where equal scores are put in that order.
//
// Text formats, files and judgements lie elsewhere.
package run
