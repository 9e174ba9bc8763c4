//go:build !cgo

package assettest

const cgo = false
