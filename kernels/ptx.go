package kernels

import (
	_ "embed"
	"fmt"
)

var (
	//go:embed ptx/sm_80.ptx
	ptx80 []byte
	//go:embed ptx/sm_90a.ptx
	ptx90a []byte
)

// Variant is one of the two texts of the kernels.
type Variant int

const (
	// SM80 runs on every device of compute capability 8.0 and above.
	SM80 Variant = iota
	// SM90A runs on devices of 9.0 only: it multiplies by warpgroups, and the copy engine
	// fetches. It is the default once it has been verified and measured on a device.
	SM90A
)

// PTX is the code for compute capability 8.0 and above. The caller must not change it.
func PTX() []byte { return SM80.PTX() }

// PTX is the code as text. The caller must not change it.
func (v Variant) PTX() []byte {
	if v == SM90A {
		return ptx90a
	}
	return ptx80
}

// String is the architecture as the assembler has it.
func (v Variant) String() string {
	if v == SM90A {
		return "sm_90a"
	}
	return "sm_80"
}

// RunsOn says whether a device of a compute capability takes the code; the error says why
// not.
func (v Variant) RunsOn(major, minor int) error {
	switch {
	case v == SM90A && (major != 9 || minor != 0):
		return fmt.Errorf("kernels: sm_90a is for devices of compute capability 9.0, this one has %d.%d; use sm_80", major, minor)
	case major < 8:
		return fmt.Errorf("kernels: sm_80 is for devices of compute capability 8.0 and above, this one has %d.%d", major, minor)
	}
	return nil
}
