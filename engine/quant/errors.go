package quant

import "errors"

// Errors of a conversion; each is wrapped with tensor, place and value.
var (
	// ErrRange: the value is beyond what the new type can hold.
	ErrRange = errors.New("value out of range")
	// ErrNotFinite: the stored value is infinite or no number.
	ErrNotFinite = errors.New("value not finite")
	// ErrStored: the weights are stored in a type that lost what the new one needs.
	ErrStored = errors.New("weights already quantised")
	// ErrShape: the tensor's shape has no int8 form.
	ErrShape = errors.New("unsupported shape")
)
