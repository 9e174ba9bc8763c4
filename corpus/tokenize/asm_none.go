//go:build !amd64 || noasm

package tokenize

func classifyBlocks(c *chunk, s []byte, carry, fold uint64) uint64 {
	return classifyGeneric(c, s, carry, fold)
}

func (t *walker) walkIDs(dst []int32, s []byte, blocks int, other misses) []int32 {
	return t.walkGeneric(dst, s, blocks, other)
}
