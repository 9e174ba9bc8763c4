// Package peak measures the fp32 multiply-add peak of this machine's CPUs, the
// denominator of MFU and HFU: what the instruction set delivers at the clock
// that these CPUs sustain, in this virtual machine, on this many threads. A
// figure from a data sheet knows none of these.
//
// The kernels are one template in C (kernel.h) over the vector types: AVX-512F,
// AVX2 with FMA, SSE2 (multiply and add apart), NEON. Each keeps enough
// independent accumulators in registers to hide the latency of the operation and
// touches no memory. They count in the accumulators, so that the result proves
// every operation was done. All paths that the CPU has are tried, because the
// widest is not always the fastest.
//
// Without cgo, or on another architecture, Measure gives ErrNotBuilt.
package peak
