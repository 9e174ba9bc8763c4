//go:build !(cuda && linux && cgo && (amd64 || arm64))

package cuda

import "slices"

// State says what was found when the program started.
func State() Driver { return Driver{} }

// Devices lists the devices that the driver shows. The error is ErrNotBuilt.
func Devices() ([]Info, error) { return nil, ErrNotBuilt }

// Findings says that the program was built without CUDA.
func Findings() []Finding { return slices.Clone(notBuilt) }
