//go:build !amd64 || noasm

package tokenize

func classifySpaces(c *chunk, s []byte, carry uint64, set [4]byte) uint64 {
	return classifySpacesGeneric(c, s, carry, set)
}
