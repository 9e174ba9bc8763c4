//go:build !cgo || !(amd64 || arm64)

package peak

// paths lists the kernels of this build: none.
func paths() []path { return nil }
