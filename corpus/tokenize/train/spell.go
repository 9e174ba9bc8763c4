package train

import "strings"

// byteRunes gives the character that stands for each byte in the vocabulary of a
// byte-level encoding (GPT-2): itself where it prints and is no space, else one of
// those from U+0100 on.
var byteRunes = func() (t [256]rune) {
	next := rune(0x100)
	for b := range t {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®') {
			r = next
			next++
		}
		t[b] = r
	}
	return t
}()

// spellBytes spells a word as the vocabulary of a byte-level encoding does.
func spellBytes(w string) string {
	var b strings.Builder
	for i := range len(w) {
		b.WriteRune(byteRunes[w[i]])
	}
	return b.String()
}

// byteAlphabet lists the characters of all bytes, in the order of the characters.
func byteAlphabet() []string {
	var out []string
	for r := rune('!'); r < 0x100+256; r++ {
		for _, b := range byteRunes {
			if b == r {
				out = append(out, string(r))
			}
		}
	}
	return out
}

// spaceMark stands for a space in the vocabularies of SentencePiece.
const spaceMark = "▁"

// spellSpaces spells a word as the vocabularies of SentencePiece do.
func spellSpaces(w string) string { return strings.ReplaceAll(w, " ", spaceMark) }
