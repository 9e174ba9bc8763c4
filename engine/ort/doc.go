// Package ort runs encoder graphs on ONNX Runtime. It is the only package that
// imports onnxruntime_go, whose state is process-wide: Load owns it.
//
// An Encoder holds one session and a number of workers that call it
// concurrently, each with its own buffers outside the Go heap. A batch is sorted
// by length and split into groups, the physical micro-batches; idle workers take
// groups from all slots in flight, so no worker waits for the end of a batch.
// Rows come back in the batch's order.
//
// Note: one-thread workers beat one run with many threads on a CPU, because an
// encoder's operators are short and a thread pool meets at the end of each. The
// figures are in docs/results. Long rows are the exception: Layout.For.
package ort
