// Package vectors reads and writes matrices of vectors, a row each: numpy's .npy,
// safetensors, and .ebvec, a format of this module that can be written while
// encoding goes on, with the identifiers of its rows.
//
// Files are read as a stream in blocks of bounded size, never whole, and memory
// grows with what is really there, whatever a header claims. Elements are float32,
// float16 or bfloat16, in row order, little-endian, and stay what they are: no
// reader converts. Every fault names the file, what was expected and what was found.
//
// The values themselves are not looked at; whoever searches them refuses a NaN.
package vectors
