package train

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rule is the version of what is learnt: another one may learn otherwise.
const Rule = "tokenizer-1"

// Layout is a tokenizer without what it learnt: the pipeline of a family, and which
// ids are special, which are unused.
type Layout struct {
	Name string // of the family's best known member
	Size int    // ids in all

	normalizer, preTokenizer, postProcessor, decoder string // JSON

	split Split
	kind  kind

	head  []string // tokens from id 0 on
	tail  []string // tokens up to the last id
	added []added  // in the order of their ids
	// only says how many of the last ids are added tokens that the model's own
	// vocabulary lacks.
	only   int
	unused string // format of the name of an id that nothing uses
}

// kind is the model of a layout.
type kind int

const (
	byteLevel      kind = iota // BPE over bytes
	byteLevelWhole             // the same, a word in the vocabulary taken whole
	byteFallback               // BPE over characters, others as bytes
	unigram                    // pieces with probabilities
)

// added is a token that is looked for before everything else.
type added struct {
	id                          int
	content                     string
	lstrip, normalized, special bool
}

// Tokenizer is a trained tokenizer in its layout.
type Tokenizer struct {
	Layout *Layout
	Vocab  []string  // by id, the added tokens that the model lacks left out
	Merges []Merge   // of BPE, by id
	Scores []float64 // of Unigram, by id
	Unused int       // ids that stand for nothing
}

// alphabet gives the tokens that words are made of at first.
func (l *Layout) alphabet(words map[string]int64) []string {
	if l.kind == byteLevel || l.kind == byteLevelWhole {
		return byteAlphabet()
	}
	counts := map[string]int64{}
	for w, n := range words {
		for _, r := range w {
			counts[string(r)] += n
		}
	}
	if l.kind == byteFallback {
		// A character that comes once is left to the bytes.
		maps.DeleteFunc(counts, func(_ string, n int64) bool { return n < minPair })
	}
	return slices.Sorted(maps.Keys(counts))
}

// Train learns as many merges as the layout has ids for and the counted words
// support, and gives the rest of the ids to tokens that are never used. The counter
// must be of the layout's split (Layout.Counter). progress is told the tokens so far
// and those wanted. The error of ctx ends it.
func (l *Layout) Train(ctx context.Context, c *Counter, progress func(done, total int)) (*Tokenizer, error) {
	spell := spellBytes
	if l.kind == byteFallback || l.kind == unigram {
		spell = spellSpaces
	}
	words := make(map[string]int64, len(c.counts))
	for w, n := range c.counts {
		words[spell(w)] += *n
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("train tokenizer %s: %d texts have no words", l.Name, c.Texts)
	}
	alphabet := l.alphabet(words)
	room := l.Size - len(l.head) - len(l.tail)
	if len(alphabet) > room {
		return nil, fmt.Errorf("train tokenizer %s: the text has %d characters, there are ids for %d", l.Name, len(alphabet), room)
	}
	t, err := &Tokenizer{Layout: l}, error(nil)
	if l.kind == unigram {
		err = t.unigram(ctx, words, room, progress)
	} else {
		err = t.bpe(ctx, words, alphabet, room, progress)
	}
	if err != nil {
		return nil, fmt.Errorf("train tokenizer %s: %w", l.Name, err)
	}
	n := 0
	for i, token := range t.Vocab {
		if token == "" {
			t.Vocab[i] = fmt.Sprintf(l.unused, n)
			n++
		}
	}
	t.Unused = n
	t.Vocab = append(t.Vocab, l.tail...)[:l.Size-l.only]
	return t, nil
}

// bpe learns merges. An id that stands for nothing has the name "".
func (t *Tokenizer) bpe(ctx context.Context, words map[string]int64, alphabet []string, room int, progress func(done, total int)) error {
	l := t.Layout
	enc, err := BPE(ctx, words, alphabet, room, progress)
	if err != nil {
		return err
	}
	taken := map[string]int32{}
	for i, token := range l.head {
		taken[token] = int32(i)
	}
	for i, token := range l.tail {
		taken[token] = int32(l.Size - len(l.tail) + i)
	}
	t.Vocab = slices.Concat(l.head, enc.Tokens)
	// A token that the layout has an id for already keeps that one.
	ids := make([]int32, len(enc.Tokens))
	for i, token := range enc.Tokens {
		ids[i] = int32(len(l.head) + i)
		if id, ok := taken[token]; ok {
			t.Vocab[ids[i]] = ""
			ids[i] = id
		}
	}
	for _, m := range enc.Merges {
		t.Merges = append(t.Merges, Merge{ids[m.Left], ids[m.Right], ids[m.ID]})
	}
	t.Vocab = append(t.Vocab, make([]string, len(l.head)+room-len(t.Vocab))...)
	return nil
}

// unigram learns pieces. An id that stands for nothing has the name "" and the score
// of the least probable piece.
func (t *Tokenizer) unigram(ctx context.Context, words map[string]int64, room int, progress func(done, total int)) error {
	l := t.Layout
	pieces, err := Unigram(ctx, words, room, progress)
	if err != nil {
		return err
	}
	t.Vocab, t.Scores = slices.Clone(l.head), make([]float64, l.Size)
	for i := range room {
		piece := Piece{"", pieces[len(pieces)-1].Score}
		if i < len(pieces) {
			piece = pieces[i]
		}
		t.Scores[len(t.Vocab)] = piece.Score
		t.Vocab = append(t.Vocab, piece.Text)
	}
	return nil
}

// Counter gives a counter for the words of the layout.
func (l *Layout) Counter() *Counter {
	c := NewCounter(l.split)
	c.spaced = l.kind == unigram
	return c
}

// Find gives the layout of this name.
func Find(name string) (*Layout, error) {
	for _, l := range layouts() {
		if l.Name == name {
			return l, nil
		}
	}
	var names []string
	for _, l := range layouts() {
		names = append(names, l.Name)
	}
	return nil, fmt.Errorf("unknown tokenizer family %q; known are %s", name, strings.Join(names, ", "))
}
