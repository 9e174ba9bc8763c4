//go:build cgo

package assettest

// cgo says whether this test can open a shared library at all.
const cgo = true
