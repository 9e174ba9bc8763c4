// Package synth writes stand-ins for encoders: directories with the exact
// architecture, sizes and file layout of a public model and with random weights, for
// measuring speed and memory where the model itself is not at hand.
//
// It keeps one invariant: a shape, a seed and an element type give the same bytes on
// every machine, and weights that keep every activation finite in float16 for any
// input. Every directory says in config.json that it is synthetic, so that nothing
// measures quality with it.
//
// Left out: tokenizers, which the caller brings.
package synth
