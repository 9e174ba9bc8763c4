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
// Rows stay on the device as far as they fit. The rest lies in page-locked memory of the
// host and comes block by block in two slots, the copy of the next under the search of
// this one. Thresholds are carried from block to block: the score by the rule of the k-th
// best so far, less the bound, is as good as any that the device could find. What fits
// is decided by Layout, without a device.
//
// Over several devices each holds a share of the rows and answers for it exactly; the
// answers are merged on the host. Documents of several rows are folded on the host too,
// and more than MostPass rows of a query are asked for in rounds, each below the last row
// of the one before.
//
// Left out: int8 rows.
package gpu
