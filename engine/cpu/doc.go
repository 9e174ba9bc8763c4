// Package cpu holds what runs on the processor without a runtime: a plain encoder
// and an exact search.
//
// Reference is the plain definition of an encoder, in Go, one row at a time: what
// engine/model describes, every step under the name that its paper gave it. It exists
// to judge faster encoders, so it shares nothing with them but the description, and
// it is written to be read.
//
// Precision: weights are held as float32, or int8 with a scale for each row, exactly as
// the checkpoint has them. Everything that is computed from them is float64: states,
// sums in the order of the index, rotation angles. Only the output is rounded, to
// float32, so what separates a float32 encoder from the reference is that encoder's
// own rounding. Work is spread over the processors by outputs, never by parts of a sum:
// their number does not change a bit.
//
// Memory, besides the weights: five states for each token of a row, and scores of 64
// queries for each processor, never one for each pair of tokens.
package cpu
