//go:build !amd64 || noasm

package tokenize

func classesOf64(s *[blockSize]byte, w *classes64) { classes64Generic(s, w) }

func indexPair(text []byte, first, second *byteSet) int {
	return indexPairGeneric(text, first, second)
}
