// Package stub stands where the linker looks for NVIDIA's driver library. Each function
// of the driver is a jump through a slot, and the slots are filled from the library that
// is found when the program starts: one binary runs on machines with a driver and on
// machines without, and names libc alone as what it needs.
//
// Without a driver every function returns 100, the code of "no device". The code of
// cuInit is kept and 0 returned in its place, because gorgonia.org/cu calls it in an
// init function and ends the program on any other.
//
// ENCBENCH_CUDA_DRIVER names another library file, such as the one of tests.
//
// A program that imports gorgonia.org/cu imports this package too. Left out: Windows and
// macOS, which have no current driver or none at all.
package stub
