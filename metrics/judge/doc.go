// Package judge looks ranked lists up in judgements and scores them: blocks of a
// run in, one value a query and measure out, with an account of everything that
// did not fit.
//
// A result depends on the run, the judgements and the options alone: not on the
// order or size of the blocks, nor on how many goroutines added them. Means are
// added in the byte order of the query ids.
//
// A document may stand in a ranking once. A query of the judgements that the run
// misses has an empty ranking, and the convention says whether it is averaged. A
// query of the run without judgements is counted and otherwise ignored. A run that
// has no query in common with the judgements is an error, never a zero.
package judge
