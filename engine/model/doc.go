// Package model opens a Hugging Face model directory and gives one description
// of it: where each weight lies, what each layer computes, how the states are
// pooled, which prompts and length limits the model's authors wrote down.
//
// It keeps one invariant: a Model that Open returned is complete and
// consistent. Every tensor of the description exists in the weights file, has
// the shape that config.json asks for and lies inside the file, so that what is
// built from the description (an ONNX graph, the reference encoder) need not
// check again. What the package does not know, it refuses by name.
//
// Weights are never loaded as a whole: a Weights value holds the header of the
// safetensors file and an open file, and gives tensors on request. Nothing is
// downloaded; ResolveHub looks only in the user's own Hugging Face cache.
//
// Left out: tokenization, any runtime, and every family but BERT.
package model
