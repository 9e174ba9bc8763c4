package tokenize

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// charsmap is what SentencePiece compiles its rewriting rules to: a double array
// trie of UTF-8 keys in the form of darts-clone, whose values are places in images,
// each image ending with a NUL.
type charsmap struct {
	units  []uint32
	images []byte
	root   uint32
}

// A unit holds a label and the distance to the children, combined by exclusive or.
const (
	dartsLabel = 1<<31 | 0xFF
	dartsLeaf  = 1 << 8
	dartsValue = 1<<31 - 1
)

func dartsOffset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// maxCharsmap bounds what a file can ask for; the largest in use has 240 kB.
const maxCharsmap = 16 << 20

// parseCharsmap reads a precompiled_charsmap.
func parseCharsmap(text string) (*charsmap, error) {
	if len(text) > maxCharsmap {
		return nil, fmt.Errorf("precompiled_charsmap of %d characters is %w; supported: up to %d", len(text), ErrUnsupported, maxCharsmap)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap is not base64: %w", err)
	}
	if len(data) < 4 {
		return nil, fmt.Errorf("precompiled_charsmap has %d bytes, expected the size of its trie in 4", len(data))
	}
	size, rest := binary.LittleEndian.Uint32(data), data[4:]
	if uint64(size) > uint64(len(rest)) {
		return nil, fmt.Errorf("precompiled_charsmap ends early: a trie of %d bytes is announced, %d follow", size, len(rest))
	}
	m := &charsmap{units: make([]uint32, size/4)}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	m.images = rest[4*len(m.units):]
	if len(m.units) == 0 {
		return nil, fmt.Errorf("precompiled_charsmap has an empty trie")
	}
	if !utf8.Valid(m.images) {
		return nil, fmt.Errorf("precompiled_charsmap has replacements that are not UTF-8")
	}
	m.root = dartsOffset(m.units[0])
	return m, m.check()
}

// check makes sure that no key leads out of the trie or to a place that is no
// beginning of an image. The reference finds out when it meets the key.
func (m *charsmap) check() error {
	seen := make([]uint64, len(m.units)/64+1)
	todo := []uint32{m.root}
	for len(todo) > 0 {
		node := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if int(node|0xFF) >= len(m.units) {
			return fmt.Errorf("precompiled_charsmap points to unit %d of a trie of %d units", node|0xFF, len(m.units))
		}
		if bit(seen, node) {
			continue
		}
		seen[node>>6] |= 1 << (node & 63)
		for c := uint32(1); c < 256; c++ {
			u := m.units[node^c]
			if u&dartsLabel != c {
				continue
			}
			child := node ^ c ^ dartsOffset(u)
			todo = append(todo, child)
			if u&dartsLeaf == 0 || int(child|0xFF) >= len(m.units) {
				continue
			}
			v := int(m.units[child] & dartsValue)
			if v > len(m.images) || v < len(m.images) && !utf8.RuneStart(m.images[v]) {
				return fmt.Errorf("precompiled_charsmap points to byte %d of %d bytes of replacements, where none begins", v, len(m.images))
			}
		}
	}
	return nil
}

// lookup gives the image of the shortest key that text begins with. A NUL ends text.
func (m *charsmap) lookup(text []byte) (image []byte, ok bool) {
	node := m.root
	for _, c := range text {
		node ^= uint32(c)
		u := m.units[node]
		if c == 0 || u&dartsLabel != uint32(c) {
			return nil, false
		}
		node ^= dartsOffset(u)
		if u&dartsLeaf != 0 {
			image = m.images[m.units[node]&dartsValue:]
			if end := bytes.IndexByte(image, 0); end >= 0 {
				image = image[:end]
			}
			return image, true
		}
	}
	return nil, false
}

// hasPrefix says whether text is a key or the beginning of one.
func (m *charsmap) hasPrefix(text []byte) bool {
	node := m.root
	for _, c := range text {
		node ^= uint32(c)
		u := m.units[node]
		if c == 0 || u&dartsLabel != uint32(c) {
			return false
		}
		node ^= dartsOffset(u)
	}
	return true
}

// precompiledStep rewrites a text by a charsmap.
//
// The reference looks up whole grapheme clusters, where they have fewer than six
// bytes, and takes the shortest key that the cluster begins with for all of it:
// what follows that key in the cluster is lost. SentencePiece itself does not
// know of clusters.
type precompiledStep struct {
	*charsmap
	mapped    [utf8.RuneSelf]bool // has an image alone
	printable bool                // some of those from ' ' to '~' have
}

func newPrecompiled(m *charsmap) *precompiledStep {
	p := &precompiledStep{charsmap: m}
	for c := range p.mapped {
		_, p.mapped[c] = m.lookup([]byte{byte(c)})
		p.printable = p.printable || p.mapped[c] && c >= ' ' && c <= '~'
	}
	return p
}

func (p *precompiledStep) apply(_ *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	text := in.text
	for i := 0; i < len(text); {
		if !p.printable {
			n := printableLength(text[i:])
			if i += n; i == len(text) {
				break
			}
			if n > 0 && text[i] >= utf8.RuneSelf {
				i-- // what follows may join it
			}
		}
		end := i + 1
		if i+1 < len(text) && (text[i]|text[i+1] >= utf8.RuneSelf || text[i] == '\r') {
			end = i + clusterLength(text[i:])
		} else if !p.mapped[text[i]] {
			i++
			continue
		}
		if end-i < 6 {
			if image, ok := p.lookup(text[i:end]); ok {
				w.replace(i, end, image)
				i = end
				continue
			}
		}
		for i < end {
			_, size := utf8.DecodeRune(text[i:])
			if image, ok := p.lookup(text[i : i+size]); ok {
				w.replace(i, i+size, image)
			}
			i += size
		}
	}
	return w.finish()
}

// printableLength counts the bytes of s from ' ' to '~' before the first other one.
func printableLength(s []byte) int {
	n := 0
	for n+8 <= len(s) && odd(binary.LittleEndian.Uint64(s[n:])) == 0 {
		n += 8
	}
	for n < len(s) && s[n] >= ' ' && s[n] <= '~' {
		n++
	}
	return n
}

// clusterLength gives the length of the extended grapheme cluster (UAX 29) that s
// begins with. Regional indicators count as ordinary characters: a cluster of two
// of them is too long to be looked up whole, as is one with something else, so that
// it makes no difference.
func clusterLength(s []byte) int {
	r, n := utf8.DecodeRune(s)
	if r == '\r' && n < len(s) && s[n] == '\n' {
		return 2
	}
	last := normalFlags(r)
	picture, conjunct := pictureAfter(0, r, last), conjunctAfter(0, last)
	for n < len(s) {
		r, size := utf8.DecodeRune(s[n:])
		f := normalFlags(r)
		switch {
		case (last|f)&isBreaking != 0:
			return n
		case f&isJoining != 0 || last&isPrepended != 0:
		case f&isPictograph != 0 && picture == 2, f&isConsonant != 0 && conjunct == 2:
		case last>>hangulShift != 0 && f>>hangulShift != 0 && syllable(last>>hangulShift, f>>hangulShift):
		default:
			return n
		}
		picture, conjunct = pictureAfter(picture, r, f), conjunctAfter(conjunct, f)
		last, n = f, n+size
	}
	return n
}

// pictureAfter follows a pictograph and what extends it (1) and a joiner (2).
func pictureAfter(state int, r rune, f uint16) int {
	switch {
	case f&isPictograph != 0:
		return 1
	case state == 1 && f&isExtending != 0:
		return 1
	case state == 1 && r == zeroWidthJoiner:
		return 2
	}
	return 0
}

const zeroWidthJoiner = 0x200D

// conjunctAfter follows a consonant (1) with a linker (2).
func conjunctAfter(state int, f uint16) int {
	switch {
	case f&isConsonant != 0:
		return 1
	case state > 0 && f&isLinker != 0:
		return 2
	case f&isConjunct != 0:
		return state
	}
	return 0
}

// syllable says whether Hangul of kind b goes on from kind a.
func syllable(a, b uint16) bool {
	switch a {
	case hangulLead:
		return b != hangulTail
	case hangulOpen, hangulVowel:
		return b == hangulVowel || b == hangulTail
	}
	return b == hangulTail
}
