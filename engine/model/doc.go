// Package model opens a Hugging Face model directory and gives one description
// of it: where each weight lies, what each layer computes, how the states are
// pooled, which prompts and length limits the model's authors wrote down.
//
// It keeps one invariant: a Model that Open returned is complete and
// consistent. Every tensor of the description exists in the weights, has the
// shape that config.json asks for and lies inside its file, and no tensor of the
// encoder is left over, so that what is built from the description (an ONNX
// graph, the reference encoder) need not check again. What the package does not
// know, it refuses by name. Families lists what it knows; a family is one file
// here, which turns its config.json and tensor names into the common description.
//
// Weights are never loaded as a whole: a Weights value holds the headers of the
// safetensors files and the open files, and gives tensors on request. Their
// sha256 is computed when it is asked for, and need not be twice (HashCache).
// Nothing is downloaded; ResolveHub looks only in the user's own Hugging Face
// cache.
//
// Left out: tokenization, any runtime, and weights in PyTorch's own format.
package model
