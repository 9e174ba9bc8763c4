// Package tokentest makes texts that tokenizers get wrong: mixed scripts, emoji
// joined and modified, controls, every kind of white space and line end, long runs,
// combining marks in and out of order, letters whose case is special, unassigned
// code points, literal special tokens and parts of them, bytes that are not UTF-8.
//
// The texts depend on the seed alone, not on the machine, the Go release or the
// map order, so that another program can be asked about the same ones.
package tokentest

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// Generator makes texts, one after the other.
type Generator struct {
	rng     *rand.Rand
	special []string
}

// New gives the generator of this seed. special are the added tokens of the
// tokenizer that the texts are for.
func New(seed uint64, special []string) *Generator {
	return &Generator{rng: rand.New(rand.NewPCG(seed, 0x746F6B656E)), special: special}
}

// Text gives the next text, of some bytes to a few hundred, now and then of some
// thousands. It may hold invalid UTF-8.
func (g *Generator) Text() []byte {
	var b []byte
	for range g.parts() {
		b = g.part(b)
	}
	return b
}

func (g *Generator) parts() int {
	switch n := g.rng.IntN(20); {
	case n < 6:
		return 1 + n/3
	case n < 18:
		return n
	}
	if g.rng.IntN(50) == 0 {
		return 1200
	}
	return 60
}

func (g *Generator) part(b []byte) []byte {
	r := g.rng
	switch r.IntN(24) {
	case 0, 1, 2, 3:
		return append(append(b, pick(r, words)...), pick(r, gaps)...)
	case 4, 5:
		return append(b, pick(r, gaps)...)
	case 6, 7:
		return append(b, pick(r, scripts)...)
	case 8:
		return append(b, pick(r, emoji)...)
	case 9:
		return append(append(b, pick(r, apostrophes)...), pick(r, shortened)...)
	case 10:
		for range 1 + r.IntN(4) {
			b = append(b, punctuation[r.IntN(len(punctuation))])
		}
		return b
	case 11:
		return digits(b, r)
	case 12:
		for range 1 + r.IntN(6) {
			b = append(b, pick(r, marks)...)
		}
		return b
	case 13:
		return append(b, byte(r.IntN(0x20)), byte('a'+r.IntN(26)))
	case 14:
		return appendRune(b, r)
	case 15:
		for range 1 + r.IntN(5) {
			b = appendRune(b, r)
		}
		return b
	case 16:
		return append(b, pick(r, broken)...)
	case 17:
		return append(b, strings.Repeat(pick(r, repeated), 1+r.IntN(9)*r.IntN(9))...)
	case 18, 19:
		return g.literal(b)
	case 20:
		return append(b, pick(r, cased)...)
	case 21:
		return append(b, pick(r, code)...)
	}
	for range 1 + r.IntN(12) {
		b = append(b, letters[r.IntN(len(letters))])
	}
	return b
}

// literal appends a special token, whole, cut short, with spaces around it or
// against a word.
func (g *Generator) literal(b []byte) []byte {
	r := g.rng
	if len(g.special) == 0 {
		return append(b, "[CLS] <s></s><mask>"...)
	}
	s := pick(r, g.special)
	switch r.IntN(8) {
	case 0:
		return append(b, s[:r.IntN(len(s)+1)]...)
	case 1:
		return append(b, s[r.IntN(len(s)+1):]...)
	case 2:
		return append(append(append(b, pick(r, gaps)...), s...), pick(r, gaps)...)
	case 3:
		return append(append(append(b, 'x'), s...), 'y')
	case 4:
		return append(append(b, s...), pick(r, g.special)...)
	case 5:
		return append(b, strings.ToUpper(s)...)
	}
	return append(b, s...)
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// appendRune draws a code point: from all of Unicode, assigned or not, from the
// blocks where most scripts lie, or near the edges of the encoding's lengths.
func appendRune(b []byte, r *rand.Rand) []byte {
	switch r.IntN(6) {
	case 0:
		return utf8.AppendRune(b, rune(r.IntN(0x110000)))
	case 1:
		return utf8.AppendRune(b, rune(0x80+r.IntN(0x780)))
	case 2:
		return utf8.AppendRune(b, rune(0x800+r.IntN(0x2900)))
	case 3:
		return utf8.AppendRune(b, []rune{0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF}[r.IntN(10)])
	case 4:
		return utf8.AppendRune(b, rune(0x1D000+r.IntN(0x3000)))
	}
	return utf8.AppendRune(b, rune(0x3000+r.IntN(0x7000)))
}

// digits appends a number: of ASCII digits, of those of other scripts, of numbers
// that are no digits.
func digits(b []byte, r *rand.Rand) []byte {
	zero := []rune{'0', '0', '0', 0x660, 0x966, 0xFF10, 0x1D7CE, 0x2160, 0xBC}[r.IntN(9)]
	span := 10
	if zero == 0xBC {
		span = 3
	}
	for range 1 + r.IntN(9) {
		b = utf8.AppendRune(b, zero+rune(r.IntN(span)))
	}
	return b
}
