// Package peers runs other programs that do encbench's work (onnxruntime from
// Python, OpenVINO, transformers, sentence-transformers, Hugging Face tokenizers) and
// lets their times and results be compared with ours.
//
// A peer is a child process ([Worker]) of a pinned Python environment that
// speaks one JSON object a line; its scripts are part of this package and need
// no installation. [Arms] lists what is compared, with the arrangements in which
// a peer may be at its best; [Calibrate] picks one and [Interleave] times both
// sides in ABBA order, so that a machine that slows down slows both.
//
// The package keeps one invariant: a peer's clock covers its own work only, on
// the same rows, with the same number of threads. It starts no engine and knows
// nothing of encbench's own but its median and its reader of vectors; the caller passes ours as a function.
// No peer process outlives it: the whole process group ends with the [Worker], and
// the process ends itself when its parent is gone. Its tests need no Python.
package peers
