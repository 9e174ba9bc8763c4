package corpus

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mask stands for the masked words of a query of techdocs-qa, one or many in a row.
// It is punctuation to every tokenizer and no token to a lexical index: it says
// neither which words stood there nor how many. (A word such as [MASK] is a special
// token to some models and not to others.)
const mask = "…"

// maskName gives sentence with the words of an operation's name masked, so that a
// query does not say the name of what it looks for.
//
//   - The words of the name are those of its capitals: CreateDBCluster is create,
//     DB, cluster; an acronym's plural stays one word (ListWebACLs: list, web, ACLs).
//   - The words of the sentence are its runs of letters and digits, taken apart at
//     capitals in the same way, so that a name of code in the sentence is met too.
//   - Two words are the same when their roots are: lower case, without the endings
//     ies, ied, ing, ion, ed, es, s, e, y, at and doubled last consonants, taken off
//     one after another while three bytes stay (creates, created, creating and
//     creation have the root of create). The rule takes off too much rather than too
//     little: a word masked in vain costs nothing.
//   - Words run together and words taken apart are met as well: up to three words of
//     the one side against one of the other (health check against Healthcheck,
//     workgroup against WorkGroup).
//
// Masked words that only spaces or hyphens keep apart become one mask.
func maskName(name string, sentence []byte) []byte {
	roots := map[string]bool{}
	words := nameWords([]byte(name))
	for i := range words {
		joined := ""
		for j := i; j < min(i+3, len(words)); j++ {
			joined += string(words[j].of([]byte(name)))
			roots[root(joined)] = true
		}
	}
	all := nameWords(sentence)
	masked := make([]bool, len(all))
	for i := range all {
		joined := ""
		for j := i; j < min(i+3, len(all)); j++ {
			if j > i && !near(sentence[all[j-1].end:all[j].start]) {
				break
			}
			joined += string(all[j].of(sentence))
			if roots[root(joined)] {
				for k := i; k <= j; k++ {
					masked[k] = true
				}
			}
		}
	}
	var out []byte
	at := 0 // what of the sentence is written
	for i := 0; i < len(all); i++ {
		if !masked[i] {
			continue
		}
		last := i
		for last+1 < len(all) && masked[last+1] && near(sentence[all[last].end:all[last+1].start]) {
			last++
		}
		out = append(append(out, sentence[at:all[i].start]...), mask...)
		at, i = all[last].end, last
	}
	return append(out, sentence[at:]...)
}

// span is a word's place.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// near says whether what lies between two words keeps them together.
func near(between []byte) bool {
	return len(bytes.Trim(between, " -")) == 0
}

// nameWords gives the words of a text: runs of letters and digits, taken apart
// before a capital that follows a small letter or a digit, and before the last of
// several capitals that a small letter follows, unless that is a plural's s.
func nameWords(text []byte) (words []span) {
	const (
		other = iota
		small // and letters without case
		digit
		capital
	)
	kind := func(i int) (int, int) {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case unicode.IsUpper(r):
			return capital, n
		case unicode.IsDigit(r):
			return digit, n
		case unicode.IsLetter(r), unicode.IsMark(r):
			return small, n
		}
		return other, n
	}
	start, before, capitals, lastCapital := -1, other, 0, 0
	end := func(at int) {
		if start >= 0 && at > start {
			words = append(words, span{start, at})
		}
	}
	for i := 0; i < len(text); {
		k, n := kind(i)
		switch {
		case k == other:
			end(i)
			start = -1
		case start < 0:
			start, capitals = i, 0
		case k == capital && (before == small || before == digit):
			end(i)
			start, capitals = i, 0
		case k == small && before == capital && capitals > 1 && !pluralS(text[i:]):
			end(lastCapital)
			start, capitals = lastCapital, 1
		}
		if k == capital {
			capitals++
			lastCapital = i
		}
		before = k
		i += n
	}
	end(len(text))
	return words
}

// pluralS says whether text begins with the s of an acronym's plural.
func pluralS(text []byte) bool {
	if text[0] != 's' {
		return false
	}
	next, _ := utf8.DecodeRune(text[1:])
	return !unicode.IsLower(next)
}

// endings that root takes off, in order.
var endings = []struct{ ending, instead string }{
	{"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ion", ""}, {"ed", ""}, {"es", ""}, {"s", ""}, {"e", ""}, {"y", ""}, {"at", ""},
}

// root gives what inflections of a word have in common; see maskName.
func root(word string) string {
	w := strings.ToLower(word)
cut:
	for {
		for _, e := range endings {
			stem, ok := strings.CutSuffix(w, e.ending)
			if ok && len(stem) >= 3 && !(e.ending == "s" && (strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "u"))) {
				w = stem + e.instead
				continue cut
			}
		}
		n := len(w)
		if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bcdfghjklmnpqrstvwxz", w[n-1]) >= 0 {
			w = w[:n-1]
			continue
		}
		return w
	}
}
