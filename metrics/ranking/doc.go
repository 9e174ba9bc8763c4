// Package ranking holds ranked lists on their way from a run file to the
// judgements: queries, documents and scores in columns, identifiers as bytes, and
// the rule that puts a query's documents in order.
//
// Identifiers are byte strings. They have no locale, no normal form and no
// numeric reading: "10" comes before "9#1". The order of a ranking is total, so
// that the same file gives the same ranks on every machine, and it depends on
// scores and identifiers (or, where asked for, on the file's lines or rank
// column), never on judgements.
package ranking
