package peak

import "errors"

var (
	// ErrNotBuilt means that this program was built without the C kernels.
	ErrNotBuilt = errors.New("peak probe is not built in: build with cgo (CGO_ENABLED=1 and a C compiler) for amd64 or arm64; make build does")
	// ErrArithmetic means that a kernel did not do the operations it was timed for.
	ErrArithmetic = errors.New("peak probe computed a wrong result")
)
