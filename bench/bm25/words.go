package bm25

import (
	"unicode"
	"unicode/utf8"
)

// eachWord calls visit with each word of text in lower case, in order: maximal runs
// of letters, marks and digits. The word lives in buf, which is reused: it is valid
// during the call. The grown buf is given back.
func eachWord(text, buf []byte, visit func(word []byte)) []byte {
	buf = buf[:0]
	for i := 0; i < len(text); {
		ch := text[i]
		if ch < utf8.RuneSelf {
			i++
			if c := lowerASCII[ch]; c != 0 {
				buf = append(buf, c)
				continue
			}
		} else {
			r, n := utf8.DecodeRune(text[i:])
			i += n
			if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
				buf = utf8.AppendRune(buf, unicode.ToLower(r))
				continue
			}
		}
		if len(buf) > 0 {
			visit(buf)
			buf = buf[:0]
		}
	}
	if len(buf) > 0 {
		visit(buf)
	}
	return buf
}

// lowerASCII gives the lower case of ASCII letters, digits themselves, 0 for what
// belongs to no word.
var lowerASCII = func() (t [utf8.RuneSelf]byte) {
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = c, c
	}
	return t
}()
