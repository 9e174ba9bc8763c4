//go:build !amd64 || noasm

package tokenize

func classifyBlocks(c *chunk, s []byte, carry, fold uint64) uint64 {
	return classifyGeneric(c, s, carry, fold)
}

func (t *wordPiece) walkIDs(dst []int32, s []byte, blocks int) []int32 {
	return t.walkGeneric(dst, s, blocks)
}
