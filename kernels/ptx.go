package kernels

import _ "embed"

//go:embed ptx/sm_80.ptx
var ptx80 []byte

// PTX is the code of all kernels for compute capability 8.0 and above, as text. The
// caller must not change it.
func PTX() []byte { return ptx80 }
