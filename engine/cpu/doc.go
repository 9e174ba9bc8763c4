// Package cpu holds what runs on the processor without a runtime: a plain encoder
// and an exact search.
//
// Reference is the plain definition: BERT as the paper writes it (Devlin et al.,
// 2018), in Go, one row at a time, every step under the paper's name. It exists
// to judge faster encoders, so it shares nothing with them but the model's
// description, and it is written to be read.
//
// Precision: states and weights are stored as float32, as the checkpoint has
// them. Every sum (dot products, means, variances, softmax, norms) runs in
// float64 in the order of the index and is rounded once, so what separates a
// float32 encoder from the reference is that encoder's own rounding.
package cpu
