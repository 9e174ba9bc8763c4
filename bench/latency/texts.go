package latency

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"encbench/corpus/tokenize"
)

// tries bounds the words that are looked at for one text, as a multiple of its tokens.
const tries = 200

// Texts makes count texts that tok turns into exactly n ids each, out of real ones: the
// words of a source, then of the next, joined by spaces, until there are n ids; a word
// that would go beyond is passed over. Sources come in an order drawn from seed. A
// text begins where a source does. prompt stands in front of every text, without a
// separator and not among the n ids; the results hold it.
func Texts(tok tokenize.Tokenizer, prompt string, sources []string, n, count int, seed uint64) ([]string, error) {
	words := make([][]string, 0, len(sources))
	for _, s := range sources {
		if w := strings.Fields(s); len(w) > 0 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no query with a word among %d, to make texts of %d tokens of", len(sources), n)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	var ids []int32
	length := func(text string) int {
		ids = tok.AppendIDs(ids[:0], []byte(text))
		return len(ids)
	}
	want := length(prompt) + n
	source := 0
	one := func() (string, bool) {
		text, sep, looked := prompt, "", 0
		for looked < tries*n+tries {
			for _, w := range words[source%len(words)] {
				looked++
				longer := text + sep + w
				switch k := length(longer); {
				case k == want:
					return longer, true
				case k < want:
					text, sep = longer, " "
				}
			}
			source++
		}
		return "", false
	}
	out := make([]string, count)
	for i := range out {
		text, ok := one()
		if !ok {
			return nil, fmt.Errorf("no text of exactly %d tokens can be made of the words of %d queries; choose another --tokens or other queries", n, len(sources))
		}
		out[i] = text
		source++
	}
	return out, nil
}
