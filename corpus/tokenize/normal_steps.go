package tokenize

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// repairStep replaces invalid UTF-8 (see decode) and counts what it replaced.
type repairStep struct{}

func (repairStep) apply(s *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	for i := 0; i < len(in.text); {
		r, size, ok := decode(in.text[i:])
		if !ok {
			s.repaired++
			from, to := w.from(i, i+size)
			w.same(i)
			w.putRune(r, from, to)
			w.skip(i + size)
		}
		i += size
	}
	return w.finish()
}

// runeStep replaces code points one by one, whatever stands beside them.
type runeStep struct {
	ascii   [utf8.RuneSelf]bool // is replaced
	anASCII bool                // some of them are
	drops   bool                // some code points are left out
	hits    func(rune) bool     // another code point is replaced
	by      func(dst []rune, r rune) []rune
}

// newRuneStep makes a step of the two functions; by is asked of what hits is true of,
// and drops says whether it may give nothing.
func newRuneStep(hits func(rune) bool, drops bool, by func([]rune, rune) []rune) *runeStep {
	p := &runeStep{hits: hits, drops: drops, by: by}
	for c := range p.ascii {
		p.ascii[c] = hits(rune(c))
		p.anASCII = p.anASCII || p.ascii[c]
	}
	return p
}

func (p *runeStep) apply(s *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	for i := 0; i < len(in.text); {
		r, size := rune(in.text[i]), 1
		if r < utf8.RuneSelf {
			if !p.anASCII {
				i += asciiLength(in.text[i:])
				continue
			}
			if !p.ascii[r] {
				i++
				continue
			}
		} else if r, size = utf8.DecodeRune(in.text[i:]); !p.hits(r) {
			i += size
			continue
		}
		w.same(i)
		from, to := w.from(i, i+size)
		s.runes = p.by(s.runes[:0], r)
		for _, r := range s.runes {
			w.putRune(r, from, to)
		}
		i += size
		w.skip(i)
	}
	return w.finish()
}

// asciiLength counts the bytes of s before the first that is not ASCII.
func asciiLength(s []byte) int {
	n := 0
	for n+8 <= len(s) && binary.LittleEndian.Uint64(s[n:])&highs == 0 {
		n += 8
	}
	for n < len(s) && s[n] < utf8.RuneSelf {
		n++
	}
	return n
}

func has(flags uint8) func(rune) bool {
	return func(r rune) bool { return propertyOf(r).flags&flags != 0 }
}

func dropped(dst []rune, _ rune) []rune { return dst }
func spaced(dst []rune, _ rune) []rune  { return append(dst, ' ') }

func newLowercase() step {
	return newRuneStep(has(hasLower), false, func(dst []rune, r rune) []rune { return appendLower(dst, r, propertyOf(r)) })
}

func newStripAccents() step {
	return newRuneStep(func(r rune) bool { return normalFlags(r)&isCombining != 0 }, true, dropped)
}

// newNmt is what SentencePiece does to controls and white space for translation.
func newNmt() step {
	spaces := []rune{'\t', '\n', '\f', '\r', 0x1680, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD}
	drops := []rune{'\v', 0x7F, 0x8F, 0x9F}
	for c := rune(1); c < ' '; c++ {
		if c < '\t' || c > '\r' {
			drops = append(drops, c)
		}
	}
	return newRuneStep(
		func(r rune) bool { return slices.Contains(spaces, r) || slices.Contains(drops, r) }, true,
		func(dst []rune, r rune) []rune {
			if slices.Contains(drops, r) {
				return dst
			}
			return append(dst, ' ')
		})
}

// newBert gives the passes of BertNormalizer.
func newBert(o bertOptions) (steps []step) {
	if o.clean {
		steps = append(steps, newRuneStep(has(isDropped), true, dropped), newRuneStep(has(isSpace), false, spaced))
	}
	if o.cjk {
		steps = append(steps, newRuneStep(has(isCJK), false, func(dst []rune, r rune) []rune { return append(dst, ' ', r, ' ') }))
	}
	if o.strip {
		steps = append(steps, &formStep{changed: notNFD}, newRuneStep(has(isMark), true, dropped))
	}
	if o.lower {
		steps = append(steps, newLowercase())
	}
	return steps
}

// newByteLevel writes every byte as a visible character of its own.
func newByteLevel() step {
	return newRuneStep(
		func(r rune) bool { return r <= ' ' || r >= 0x7F }, false,
		func(dst []rune, r rune) []rune {
			for _, b := range []byte(string(r)) {
				dst = append(dst, byteRunes[b])
			}
			return dst
		})
}

// byteRunes is how the reference makes bytes visible: those that print in Latin-1
// stand for themselves, the others for the code points from 256 on.
var byteRunes = func() (runes [256]rune) {
	next := rune(256)
	for b := range runes {
		if runes[b] = rune(b); b <= ' ' || b >= 0x7F && b <= 0xA0 || b == 0xAD {
			runes[b] = next
			next++
		}
	}
	return runes
}()

// stripStep removes white space from the ends of the text.
type stripStep struct{ left, right bool }

func (p stripStep) apply(_ *normalScratch, out, in *normalText) bool {
	at, end := p.ends(in.text)
	if end-at == len(in.text) {
		return false
	}
	w := rewrite{in: in, out: out}
	w.skip(at)
	w.same(end)
	return true
}

// ends gives the range of s, which need not be valid UTF-8, that is left.
func (p stripStep) ends(s []byte) (at, end int) {
	end = len(s)
	for p.left && at < end {
		r, size := utf8.DecodeRune(s[at:end])
		if propertyOf(r).flags&isSpace == 0 {
			break
		}
		at += size
	}
	for p.right && at < end {
		r, size := utf8.DecodeLastRune(s[at:end])
		if propertyOf(r).flags&isSpace == 0 {
			break
		}
		end -= size
	}
	return at, end
}

// prependStep puts text before every text that is not empty. It counts as part of
// the first character.
type prependStep struct{ text string }

func (p prependStep) apply(_ *normalScratch, out, in *normalText) bool {
	if len(in.text) == 0 || p.text == "" {
		return false
	}
	w := rewrite{in: in, out: out}
	_, size := utf8.DecodeRune(in.text)
	from, to := w.from(0, size)
	out.text = append(out.text, p.text...)
	w.mark(0, from, to)
	w.skip(0)
	return w.finish()
}

// replaceStep replaces one text by another, from left to right.
type replaceStep struct{ old, by []byte }

func (p *replaceStep) apply(_ *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	for at := 0; ; {
		i := bytes.Index(in.text[at:], p.old)
		if i < 0 {
			return w.finish()
		}
		at += i
		w.replace(at, at+len(p.old), p.by)
		at += len(p.old)
	}
}

// spacesStep replaces every run of white space: of two spaces and more, or with all
// set of any white space in any number.
type spacesStep struct {
	all bool
	by  []byte
}

func (p *spacesStep) apply(_ *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	for i := 0; i < len(in.text); {
		n := p.length(in.text[i:])
		if n == 0 {
			_, size := utf8.DecodeRune(in.text[i:])
			i += size
			continue
		}
		if n > 1 || string(in.text[i:i+n]) != string(p.by) {
			w.replace(i, i+n, p.by)
		}
		i += n
	}
	return w.finish()
}

// length gives the length of the run that s begins with, 0 when it is none.
func (p *spacesStep) length(s []byte) (n int) {
	if !p.all {
		for n < len(s) && s[n] == ' ' {
			n++
		}
		if n < 2 {
			return 0
		}
		return n
	}
	for n < len(s) {
		r, size := utf8.DecodeRune(s[n:])
		if propertyOf(r).flags&isSpace == 0 {
			break
		}
		n += size
	}
	return n
}
