package cuda

import "fmt"

// LeastMajor is the lowest compute capability that the kernels are written for: 8.0,
// A100 and what came after it.
const LeastMajor = 8

// Driver is what was found when the program started. It says what is missing where no
// device can be used, and is never an error itself.
type Driver struct {
	Built   bool     // with the tag cuda
	Path    string   // of the driver library that was looked for
	Error   string   // why it was not opened; "" where it was
	Fake    bool     // a driver of tests, on no GPU
	Init    int      // the code of cuInit, 0 where the driver is ready
	Version int      // major × 1000 + minor × 10; 0 where there is none
	Missing []string // functions that the driver lacks
}

// Info describes a device.
type Info struct {
	Ordinal        int
	Name           string
	UUID           string // GPU-… as nvidia-smi prints it; of a MIG slice MIG-…
	PCI            string
	Major, Minor   int   // compute capability
	Memory         int64 // bytes
	SMs            int
	ClockKHz       int // the highest
	MemoryClockKHz int
	BusBits        int   // of the memory
	L2             int64 // bytes
	SharedPerBlock int   // bytes, the most that a kernel can ask for
	SharedPerSM    int
	RegistersPerSM int
	ECC            bool
	Integrated     bool
}

// Supported gives the error of a device that the kernels do not run on.
func (i Info) Supported() error {
	if i.Major < LeastMajor {
		return fmt.Errorf("device %d, %s, has compute capability %d.%d; %d.0 or more is needed (A100, A10, L4, L40S, H100 and later)", i.Ordinal, i.Name, i.Major, i.Minor, LeastMajor)
	}
	return nil
}

// Bandwidth is the peak of the memory in bytes a second by its clock and bus, two
// transfers a clock; 0 where the driver does not give them.
func (i Info) Bandwidth() float64 {
	return 2 * float64(i.MemoryClockKHz) * 1e3 * float64(i.BusBits) / 8
}
