package tokenize

// Flags of a code point in the tables of normal_gen.go, for the general normalisers;
// _gen/normal_tables.py writes them. What BertNormalizer needs is in unicode.go: the
// reference's libraries do not agree on what a mark is.
const (
	isCombining  = 1 << iota // removed by StripAccents
	notNFD                   // the form changes it, alone or for what stands before it
	notNFC                   //
	notNFKD                  //
	notNFKC                  //
	isJoining                // never begins a grapheme cluster that has something before it
	isExtending              // may stand between a pictograph and a joiner
	isBreaking               // a cluster of its own
	isPrepended              // takes what follows into its cluster
	isPictograph             // joins another one behind a joiner
	isConsonant              // joins another one behind a linker (Indic conjuncts)
	isLinker                 //
	isConjunct               // may stand beside a linker
	hangulShift  = iota
)

// Kinds of Hangul, in the three bits from hangulShift on.
const (
	hangulLead   = 1 + iota
	hangulVowel  // also joins a lead or a vowel before it
	hangulTail   //
	hangulOpen   // syllable without a tail
	hangulClosed // syllable with one
)

func normalFlags(r rune) uint16 {
	return normalRecords[uint32(normalBlocks[r>>7])<<7|uint32(r)&127]
}

// appendCompatible appends the full compatibility decomposition of r, r itself when
// it has none. Reordering is left to the caller.
func appendCompatible(dst []rune, r rune) []rune {
	if block := int(r >> 6); block < len(compatBlocks) {
		if n := compatNumbers[int(compatBlocks[block])<<6|int(r)&63]; n > 0 {
			return append(dst, compatRunes[compatStarts[n-1]:compatStarts[n]]...)
		}
	}
	return appendDecomposed(dst, r)
}

// compositions holds composePairs by hash, with room so that a search is short.
var compositions = func() (table [1 << composeBits][3]rune) {
	for _, p := range composePairs {
		i := composeHash(p[0], p[1])
		for table[i][0] != 0 {
			i = (i + 1) % len(table)
		}
		table[i] = p
	}
	return table
}()

const composeBits = 11

func composeHash(a, b rune) int {
	return int((uint64(a)<<21 | uint64(b)) * hashMul0 >> (64 - composeBits))
}

// composed gives the one code point that a and b are canonically equivalent to, 0
// when there is none.
func composed(a, b rune) rune {
	if r := composedHangul(a, b); r != 0 {
		return r
	}
	for i := composeHash(a, b); compositions[i][0] != 0; i = (i + 1) % len(compositions) {
		if p := &compositions[i]; p[0] == a && p[1] == b {
			return p[2]
		}
	}
	return 0
}

// composedHangul is composed of a lead and a vowel, or of both and a tail.
func composedHangul(a, b rune) rune {
	switch {
	case a >= jamoLead && a < jamoLead+jamoLeads && b >= jamoVowel && b < jamoVowel+jamoVowels:
		return hangulFirst + ((a-jamoLead)*jamoVowels+b-jamoVowel)*jamoTails
	case a >= hangulFirst && a < hangulFirst+hangulCount && (a-hangulFirst)%jamoTails == 0 && b > jamoTail && b < jamoTail+jamoTails:
		return a + b - jamoTail
	}
	return 0
}

const jamoLeads = hangulCount / (jamoVowels * jamoTails)
