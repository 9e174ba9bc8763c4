// Package gpu searches on devices of NVIDIA's: the rows and scores of engine/cpu, bit for
// bit.
//
// A search goes over the rows in panels. Tensor cores score 16-bit copies of queries and
// rows, and what passes a query's threshold is kept; after each panel the lists are cut
// to their best and the thresholds rise. The kept rows are then scored by the rule of all
// backends (engine.Dot64), and the bound of bound.go says whether a row that was not kept
// could be among the best. Where it could, more are kept, and at last every row is scored
// by the rule: no result rests on the tensor cores' rounding.
//
// Left out: int8 rows, and several rows of a document, which Append refuses.
package gpu
