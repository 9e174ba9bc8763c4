// Package cuda is a device of NVIDIA's through the driver API: memory, streams, events,
// modules and graphs. It is the only package that imports gorgonia.org/cu, and what that
// package lacks is in a small C shim beside it.
//
// A Worker is a goroutine on a thread of its own that holds the device's primary context,
// which other libraries of the process share. All calls that touch the device are methods
// of a Context, and a Context is only there inside Worker.Do:
//
//	err := w.Do(func(c *cuda.Context) error {
//		b, err := c.Alloc(1 << 20)
//		…
//	})
//
// Objects belong to their Worker. They are freed by Context.Free, which takes nil and
// what was freed before; Live counts what is not freed yet, and tests bring it to zero.
//
// Errors are *Error, with the operation, the driver's code and its text. Some codes are
// sticky: the context is lost, and every later call on the Worker gives the first error
// again without asking the driver.
//
// Kernel arguments are 8 bytes wide, all of them (see Arg).
//
// The package is empty but for State, Devices and Findings without the build tag cuda, which needs
// one header of CUDA's (BUILD.md). With the tag the program still starts on machines
// without a driver; see package stub.
//
// Left out: textures, arrays, managed memory, cooperative launches, and devices below
// compute capability 8.0, which Open refuses by name.
package cuda
