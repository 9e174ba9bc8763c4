// Package quant converts the weights of a model to another element type: float16 and
// bfloat16, int8 with scales, or float32 again.
//
// It keeps one invariant: what a Conversion writes opens as the same model, with the
// same tensors under the same names, and equal weights give equal bytes. A value that
// the new type cannot hold is an error that names it; nothing is clipped or left out.
//
// Values are rounded to the nearest, ties to even. int8 is for the linear maps of the
// layers alone: every row of a weight [out, in] is divided by its own scale, its
// largest magnitude ÷ 127, so that zero stays zero and no product overflows; the
// scales stand beside the weight as float32, under its name and model.ScaleSuffix.
// What else there is, embeddings, norms, biases, heads, stays as it is stored: it
// takes no time in a run, and its values reach every token.
//
// Weights are streamed: a piece or a row is in memory, never a tensor.
//
// Left out: activations, which the graph quantises (engine/onnx), calibration, and
// types below 8 bits.
//
// Note: float16 for the embeddings of an int8 file would save 23 of all-MiniLM-L6-v2's
// 59 MB on disk, but a graph that maps a float32 table reads the rows it needs, and one
// of float16 is widened as a whole when it is loaded: 47 MB more in memory.
package quant
