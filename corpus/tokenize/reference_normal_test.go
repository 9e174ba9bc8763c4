package tokenize

import "strings"

// What the steps of a normalizer do, written plainly, a pass of the whole text each.
// It defines the answer of normal_*.go and precompiled.go.

func (n *normalizer) plain(chars []char) []char {
	for _, p := range n.steps {
		chars = plainStep(p, chars)
	}
	return chars
}

func plainStep(p step, chars []char) []char {
	is := func(c char, flags uint8) bool { return propertyOf(c.r).flags&flags != 0 }
	switch p := p.(type) {
	case *runeStep:
		return each(chars, func(r rune, _ uint8) []rune {
			if p.hits(r) {
				return p.by(nil, r)
			}
			return []rune{r}
		})
	case *formStep:
		return plainForm(p, chars)
	case stripStep:
		for p.left && len(chars) > 0 && is(chars[0], isSpace) {
			chars = chars[1:]
		}
		for p.right && len(chars) > 0 && is(chars[len(chars)-1], isSpace) {
			chars = chars[:len(chars)-1]
		}
		return chars
	case prependStep:
		if len(chars) == 0 {
			return chars
		}
		var out []char
		for _, r := range p.text {
			out = append(out, char{r, chars[0].start, chars[0].end})
		}
		return append(out, chars...)
	case *replaceStep:
		old := []rune(string(p.old))
		return replaceAll(chars, string(p.by), func(chars []char) int {
			for i, r := range old {
				if i == len(chars) || chars[i].r != r {
					return 0
				}
			}
			return len(old)
		})
	case *spacesStep:
		return replaceAll(chars, string(p.by), func(chars []char) int {
			n := 0
			for n < len(chars) && (chars[n].r == ' ' || p.all && is(chars[n], isSpace)) {
				n++
			}
			if n < 2 && !p.all {
				return 0
			}
			return n
		})
	case *precompiledStep:
		return plainPrecompiled(p, chars)
	}
	panic("tokenize: no plain twin of this step")
}

// replaceAll replaces the matches in chars, whose lengths match gives, by text.
func replaceAll(chars []char, text string, match func([]char) int) []char {
	var out []char
	for len(chars) > 0 {
		n := match(chars)
		if n == 0 {
			out, chars = append(out, chars[0]), chars[1:]
			continue
		}
		e := extent(chars[:n])
		for _, r := range text {
			out = append(out, char{r, int(e.Start), int(e.End)})
		}
		chars = chars[n:]
	}
	return out
}

// plainForm is UAX 15: decompose, reorder, compose.
func plainForm(p *formStep, chars []char) []char {
	chars = each(chars, func(r rune, _ uint8) []rune {
		if p.compat {
			return appendCompatible(nil, r)
		}
		return appendDecomposed(nil, r)
	})
	reorder(chars)
	if !p.compose {
		return chars
	}
	var out []char
	starter := -1
	for _, c := range chars {
		rank := propertyOf(c.r).rank
		blocked := starter < 0
		for i := starter + 1; i < len(out) && !blocked; i++ {
			blocked = propertyOf(out[i].r).rank >= rank
		}
		if !blocked {
			if r := plainComposed(out[starter].r, c.r); r != 0 {
				out[starter] = char{r, min(out[starter].start, c.start), max(out[starter].end, c.end)}
				continue
			}
		}
		if rank == 0 {
			starter = len(out)
		}
		out = append(out, c)
	}
	return out
}

func plainComposed(a, b rune) rune {
	for _, p := range composePairs {
		if p[0] == a && p[1] == b {
			return p[2]
		}
	}
	return composedHangul(a, b)
}

// plainPrecompiled looks up every cluster of fewer than six bytes, and else every
// character. The image of the shortest key that the text looked up begins with
// stands for all of it.
func plainPrecompiled(p *precompiledStep, chars []char) []char {
	var out []char
	image := func(chars []char) bool {
		var text []byte
		for _, c := range chars {
			if c.r == 0 {
				break
			}
			text = append(text, string(c.r)...)
		}
		for n := range len(text) {
			if by, ok := imageOf(p, text[:n+1]); ok {
				e := extent(chars)
				for _, r := range by {
					out = append(out, char{r, int(e.Start), int(e.End)})
				}
				return true
			}
		}
		return false
	}
	for len(chars) > 0 {
		n := 1
		for n < len(chars) && joinsPlainly(chars[:n], chars[n].r) {
			n++
		}
		size := 0
		for _, c := range chars[:n] {
			size += len(string(c.r))
		}
		if size >= 6 || !image(chars[:n]) {
			for i := range n {
				if !image(chars[i : i+1]) {
					out = append(out, chars[i])
				}
			}
		}
		chars = chars[n:]
	}
	return out
}

// joinsPlainly says whether r belongs to the cluster of the characters before it,
// rule by rule of UAX 29. Regional indicators are left out: a cluster of two of them
// is too long to be looked up, as is one with something else.
func joinsPlainly(before []char, r rune) bool {
	last := before[len(before)-1].r
	a, b := normalFlags(last), normalFlags(r)
	switch {
	case last == '\r' && r == '\n': // GB3
		return true
	case (a|b)&isBreaking != 0: // GB4, GB5
		return false
	}
	switch a, b := a>>hangulShift, b>>hangulShift; {
	case a == hangulLead && b != 0 && b != hangulTail: // GB6
		return true
	case (a == hangulOpen || a == hangulVowel) && (b == hangulVowel || b == hangulTail): // GB7
		return true
	case (a == hangulClosed || a == hangulTail) && b == hangulTail: // GB8
		return true
	}
	if b&isJoining != 0 || a&isPrepended != 0 { // GB9, GB9a, GB9b
		return true
	}
	if b&isConsonant != 0 { // GB9c
		i, linked := len(before)-1, false
		for ; i > 0 && normalFlags(before[i].r)&(isLinker|isConjunct) != 0; i-- {
			linked = linked || normalFlags(before[i].r)&isLinker != 0
		}
		if linked && normalFlags(before[i].r)&isConsonant != 0 {
			return true
		}
	}
	if b&isPictograph != 0 && last == 0x200D { // GB11
		i := len(before) - 2
		for i > 0 && normalFlags(before[i].r)&isExtending != 0 {
			i--
		}
		return i >= 0 && normalFlags(before[i].r)&isPictograph != 0
	}
	return false
}

// imageOf gives the image of a key in the trie of p.
func imageOf(p *precompiledStep, key []byte) (image string, ok bool) {
	below := func(node, unit uint32) uint32 {
		if unit&0x200 != 0 {
			return node ^ unit>>10<<8
		}
		return node ^ unit>>10
	}
	node, leaf := below(0, p.units[0]), false
	for _, c := range key {
		node ^= uint32(c)
		unit := p.units[node]
		if unit&0x800000FF != uint32(c) {
			return "", false
		}
		node, leaf = below(node, unit), unit&0x100 != 0
	}
	if !leaf {
		return "", false
	}
	image, _, _ = strings.Cut(string(p.images[p.units[node]&0x7FFFFFFF:]), "\x00")
	return image, true
}
