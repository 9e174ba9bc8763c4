//go:build !noasm

package tokenize

func classifySpaces(c *chunk, s []byte, carry uint64, set [4]byte) uint64 {
	if hasAVX2 {
		return classifySpacesAVX2(c, s, carry, set)
	}
	return classifySpacesGeneric(c, s, carry, set)
}

// classifySpacesAVX2 is classifySpacesGeneric, 32 bytes at a time. len(s) must be a
// positive multiple of 64 and at most that of a chunk.
//
//go:noescape
func classifySpacesAVX2(c *chunk, s []byte, carry uint64, set [4]byte) uint64
