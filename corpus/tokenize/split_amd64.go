//go:build !noasm

package tokenize

// classesOf64 finds the classes of s.
func classesOf64(s *[blockSize]byte, w *classes64) {
	if hasAVX2 {
		classesAVX2(s, w)
	} else {
		classes64Generic(s, w)
	}
}

// indexPair gives the first position in text with a byte of first and one of second
// behind it, or nothing behind it; the length of text when there is none.
func indexPair(text []byte, first, second *byteSet) int {
	at := 0
	if hasAVX2 {
		at = indexPairAVX2(text, first, second)
	}
	return at + indexPairGeneric(text[at:], first, second)
}

// classesAVX2 is classes64Generic, 32 bytes at a time.
//
//go:noescape
func classesAVX2(s *[blockSize]byte, w *classes64)

// indexPairAVX2 gives a position up to which indexPairGeneric finds nothing, and
// where it finds something or fewer than 33 bytes are left.
//
//go:noescape
func indexPairAVX2(text []byte, first, second *byteSet) int
