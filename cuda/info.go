package cuda

import (
	"fmt"
	"strings"
)

// LeastMajor is the lowest compute capability that the kernels are written for: 8.0,
// A100 and what came after it.
const LeastMajor = 8

// Versions of the driver, as Driver.Version counts them. LeastVersion has all functions
// that are called and reads PTX 7.0, that of the portable kernels. HopperVersion has
// tensor maps and clusters and reads PTX 8.0, that of the kernels for sm_90a.
const (
	LeastVersion  = 11040
	HopperVersion = 12000
)

// Driver is what was found when the program started. It says what is missing where no
// device can be used, and is never an error itself.
type Driver struct {
	Built   bool     // with the tag cuda
	Path    string   // of the driver library that was looked for
	Error   string   // why it was not opened; "" where it was
	Fake    bool     // a driver of tests, on no GPU
	Init    int      // the code of cuInit, 0 where the driver is ready
	Version int      // major × 1000 + minor × 10; 0 where there is none
	Release string   // of the driver package, 550.54.15; "" where libnvidia-ml is not there
	Missing []string // functions that the driver lacks, also such as are never called
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
	MIG            bool    // a slice of a device
	Watts          float64 // the power limit in force; 0 where it is not told
	FormFactor     string  // SXM, PCIe or NVL by the name; "" where it does not say
}

// SM is the compute capability as compilers have it: sm_90.
func (i Info) SM() string { return fmt.Sprintf("sm_%d%d", i.Major, i.Minor) }

// Supported gives the error of a device that the kernels do not run on.
func (i Info) Supported() error {
	if i.Major < LeastMajor {
		return fmt.Errorf("cuda:%d is a %s (%s): encbench needs sm_80 or later (A100, L4, L40S, H100, ...)", i.Ordinal, i.Name, i.SM())
	}
	return nil
}

// supported gives the error of a driver whose version cannot do.
func (d Driver) supported() error {
	switch {
	case d.Version == 0:
		return fmt.Errorf("the driver %s does not say which CUDA it is for: encbench needs CUDA 11.4 (driver 470) or later", d.Path)
	case d.Version < LeastVersion:
		return fmt.Errorf("the driver %s is for CUDA %s: encbench needs CUDA 11.4 (driver 470) or later", d.Path, versionText(d.Version))
	}
	return nil
}

// versionText is 12.4 of 12040.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Bandwidth is the peak of the memory in bytes a second by its clock and bus, two
// transfers a clock; 0 where the driver does not give them.
func (i Info) Bandwidth() float64 {
	return 2 * float64(i.MemoryClockKHz) * 1e3 * float64(i.BusBits) / 8
}

// formFactor reads the form factor off a name. Of H100, H200 and A100 the boards without
// a suffix, or with that of their memory alone, are SXM modules.
func formFactor(name string) string {
	switch words := " " + strings.ToUpper(strings.ReplaceAll(name, "-", " ")) + " "; {
	case strings.Contains(words, " NVL "):
		return "NVL"
	case strings.Contains(words, "PCIE"):
		return "PCIe"
	case strings.Contains(words, " SXM"), strings.Contains(words, " H100 80GB HBM3 "), strings.Contains(words, " H200 "):
		return "SXM"
	case strings.Contains(words, " L4 "), strings.Contains(words, " L40 "), strings.Contains(words, " L40S "), strings.Contains(words, " A10 "):
		return "PCIe"
	}
	return ""
}
