package tokenize

// byteSet is a set of bytes in a form that vector instructions look up: a byte below
// 128 is in it when low[its low four bits] has the bit of its high four bits set.
// Bytes from 128 on are in it all or not at all.
type byteSet struct {
	low  [16]uint8
	high bool
}

func (s *byteSet) add(c byte) {
	if c >= 0x80 {
		s.high = true
		return
	}
	s.low[c&15] |= 1 << (c >> 4)
}

func (s *byteSet) addAll() {
	s.high = true
	for i := range s.low {
		s.low[i] = 0xFF
	}
}

func (s *byteSet) has(c byte) bool {
	if c >= 0x80 {
		return s.high
	}
	return s.low[c&15]>>(c>>4)&1 != 0
}

// indexPairGeneric gives the first position in text with a byte of first and one of
// second behind it, or nothing behind it; the length of text when there is none.
func indexPairGeneric(text []byte, first, second *byteSet) int {
	for i, c := range text {
		if first.has(c) && (i+1 == len(text) || second.has(text[i+1])) {
			return i
		}
	}
	return len(text)
}
