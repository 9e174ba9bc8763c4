package tokenize

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// plainBPE is the BPE family written plainly, step by step as the reference does it,
// from the file alone. It defines the answer that bpe is tested against.
type plainBPE struct {
	vocab         map[string]int32
	ranks         map[[2]int32]int
	results       []int32
	unk           int32 // -1: none
	fuse          bool
	fallback      bool
	ignore        bool
	added, addedN matcher
	normal        normalizer
	bytes         bool // there is a ByteLevel
	splits        []func(p plainPiece) []plainPiece
	repaired      int64
}

// plainPiece is a part of a text on its way through the pre-tokenizers.
type plainPiece struct {
	chars []char
	first bool // it begins the text
}

// newPlainBPE reads a file that loadBPE reads. It checks nothing.
func newPlainBPE(tb testing.TB, data []byte) *plainBPE {
	tb.Helper()
	var f struct {
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		AddedTokens  []struct {
			ID                         int32
			Content                    string
			Single                     bool `json:"single_word"`
			LStrip, RStrip, Normalized bool
		} `json:"added_tokens"`
		Model struct {
			Vocab    map[string]int32
			Merges   []any
			Unk      *string `json:"unk_token"`
			Fuse     bool    `json:"fuse_unk"`
			Fallback bool    `json:"byte_fallback"`
			Ignore   bool    `json:"ignore_merges"`
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		tb.Fatal(err)
	}
	m := &f.Model
	p := &plainBPE{vocab: m.Vocab, ranks: map[[2]int32]int{}, unk: -1, fuse: m.Fuse, fallback: m.Fallback, ignore: m.Ignore}
	if m.Unk != nil {
		p.unk = m.Vocab[*m.Unk]
	}
	for rank, g := range m.Merges {
		var left, right string
		if s, ok := g.(string); ok {
			left, right, _ = strings.Cut(s, " ")
		} else {
			left, right = g.([]any)[0].(string), g.([]any)[1].(string)
		}
		p.ranks[[2]int32{p.vocab[left], p.vocab[right]}] = rank
		p.results = append(p.results, p.vocab[left+right])
	}
	var err error
	if p.normal, err = parseNormalizer(f.Normalizer); err != nil {
		tb.Fatal(err)
	}
	var raw, normalized []addedToken
	for _, a := range f.AddedTokens {
		t := addedToken{content: a.Content, id: a.ID, single: a.Single, lstrip: a.LStrip, rstrip: a.RStrip}
		if a.Normalized {
			t.content = p.normal.string(t.content)
			normalized = append(normalized, t)
		} else {
			raw = append(raw, t)
		}
	}
	if p.added, err = newMatcher(raw); err != nil {
		tb.Fatal(err)
	}
	if p.addedN, err = newMatcher(normalized); err != nil {
		tb.Fatal(err)
	}
	p.parseSplits(tb, f.PreTokenizer)
	return p
}

func (p *plainBPE) parseSplits(tb testing.TB, data json.RawMessage) {
	tb.Helper()
	var s struct {
		Type       string
		List       []json.RawMessage `json:"pretokenizers"`
		Prefix     bool              `json:"add_prefix_space"`
		Regex      *bool             `json:"use_regex"`
		Pattern    struct{ Regex, String string }
		Behavior   string
		Individual bool   `json:"individual_digits"`
		Prepend    string `json:"prepend_scheme"`
		Split      *bool
	}
	if isNull(data) {
		return
	}
	if err := json.Unmarshal(data, &s); err != nil {
		tb.Fatal(err)
	}
	switch s.Type {
	case "Sequence":
		for _, data := range s.List {
			p.parseSplits(tb, data)
		}
	case "ByteLevel":
		p.bytes = true
		if s.Prefix {
			p.splits = append(p.splits, func(q plainPiece) []plainPiece { return []plainPiece{prefixed(q, ' ')} })
		}
		if s.Regex == nil || *s.Regex {
			p.splits = append(p.splits, isolated(parseRegex(tb, patterns[0].regex).match))
		}
	case "Split":
		if s.Pattern.Regex != "" {
			p.splits = append(p.splits, isolated(parseRegex(tb, s.Pattern.Regex).match))
		} else {
			p.splits = append(p.splits, literal([]rune(s.Pattern.String), s.Behavior))
		}
	case "Digits":
		p.splits = append(p.splits, byClass(func(r rune) bool { return categoryOf(r)&catNumeric != 0 }, s.Individual, false))
	case "Punctuation":
		p.splits = append(p.splits, byClass(func(r rune) bool { return propertyOf(r).flags&isPunct != 0 }, s.Behavior != "Contiguous", false))
	case "WhitespaceSplit":
		p.splits = append(p.splits, byClass(func(r rune) bool { return propertyOf(r).flags&isSpace != 0 }, false, true))
	case "Whitespace":
		p.splits = append(p.splits,
			byClass(func(r rune) bool { return propertyOf(r).flags&isSpace != 0 }, false, true),
			byClass(func(r rune) bool { return propertyOf(r).flags&isWordChar != 0 }, false, false))
	case "Metaspace":
		mark := []rune(spaceMark)[0]
		p.splits = append(p.splits, func(q plainPiece) []plainPiece {
			q.chars = each(q.chars, func(r rune, _ uint8) []rune {
				if r == ' ' {
					r = mark
				}
				return []rune{r}
			})
			if s.Prepend == "always" || s.Prepend == "first" && q.first {
				q = prefixed(q, mark)
			}
			return []plainPiece{q}
		})
		if s.Split == nil || *s.Split {
			p.splits = append(p.splits, literal([]rune{mark}, "MergedWithNext"))
		}
	default:
		tb.Fatalf("unknown pre-tokenizer %q", s.Type)
	}
}

// prefixed puts c in front of a piece that does not begin with it.
func prefixed(q plainPiece, c rune) plainPiece {
	if q.chars[0].r != c {
		q.chars = append([]char{{c, q.chars[0].start, q.chars[0].start}}, q.chars...)
	}
	return q
}

// isolated cuts at the matches, which are pieces.
func isolated(match func([]rune) int) func(plainPiece) []plainPiece {
	return func(q plainPiece) []plainPiece {
		var text []rune
		for _, c := range q.chars {
			text = append(text, c.r)
		}
		var out []plainPiece
		from := 0
		for at := 0; at < len(text); {
			n := match(text[at:])
			if n <= 0 {
				at++
				continue
			}
			if from < at {
				out = append(out, plainPiece{q.chars[from:at], q.first && from == 0})
			}
			out = append(out, plainPiece{q.chars[at : at+n], q.first && at == 0})
			at += n
			from = at
		}
		if from < len(text) {
			out = append(out, plainPiece{q.chars[from:], q.first && from == 0})
		}
		return out
	}
}

// byClass cuts between characters that are and that are not; alone makes a piece of
// each that is, drop leaves them out.
func byClass(is func(rune) bool, alone, drop bool) func(plainPiece) []plainPiece {
	return func(q plainPiece) []plainPiece {
		var out []plainPiece
		for i := 0; i < len(q.chars); {
			in, j := is(q.chars[i].r), i+1
			for j < len(q.chars) && is(q.chars[j].r) == in && !(in && alone) {
				j++
			}
			if !in || !drop {
				out = append(out, plainPiece{q.chars[i:j], q.first && i == 0})
			}
			i = j
		}
		return out
	}
}

// literal cuts at the occurrences of a text.
func literal(text []rune, behavior string) func(plainPiece) []plainPiece {
	return func(q plainPiece) []plainPiece {
		at := func(i int) bool {
			for k, r := range text {
				if i+k >= len(q.chars) || q.chars[i+k].r != r {
					return false
				}
			}
			return true
		}
		var ends []int // of what lies between and of the occurrences, in turn
		from := 0
		for i := 0; i < len(q.chars); {
			if !at(i) {
				i++
				continue
			}
			ends = append(ends, i, i+len(text))
			i += len(text)
			from = i
		}
		if from <= len(q.chars) {
			ends = append(ends, len(q.chars))
		}
		var out []plainPiece
		add := func(from, to int) {
			if from < to {
				out = append(out, plainPiece{q.chars[from:to], q.first && from == 0})
			}
		}
		from = 0
		for k, end := range ends {
			occurs := k%2 == 1
			switch {
			case behavior == "MergedWithPrevious" && !occurs && k+1 < len(ends):
				continue // the occurrence ends it
			case behavior == "MergedWithNext" && occurs:
				continue // the next ends it
			case behavior == "Removed" && occurs:
			default:
				add(from, end)
			}
			from = end
		}
		return out
	}
}

func (p *plainBPE) AppendIDs(dst []int32, text []byte) []int32 {
	dst, _ = p.AppendSpans(dst, nil, text)
	return dst
}

// AppendSpans gives every id the extent of its own pre-token, without regard to what
// happens when a text is cut there.
func (p *plainBPE) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	repairs := plain{}
	chars := repairs.chars(text)
	p.repaired += repairs.repaired
	for _, part := range splitAt(&p.added, chars) {
		if part.token {
			dst, spans = append(dst, part.id), append(spans, extent(part.chars))
			continue
		}
		first := part.chars[0].start == 0
		for _, part := range splitAt(&p.addedN, p.normal.plain(part.chars)) {
			if part.token {
				dst, spans, first = append(dst, part.id), append(spans, extent(part.chars)), false
				continue
			}
			pieces := []plainPiece{{part.chars, first}}
			for _, split := range p.splits {
				var next []plainPiece
				for _, q := range pieces {
					next = append(next, split(q)...)
				}
				pieces = next
			}
			for _, q := range pieces {
				from := len(dst)
				dst = p.appendWord(dst, q.chars)
				for range len(dst) - from {
					spans = append(spans, extent(q.chars))
				}
			}
			first = false
		}
	}
	return dst, spans
}

// appendWord does what the BPE model does: it makes symbols of the characters and
// joins the two neighbours whose merge comes first, leftmost first, until none is
// left to join.
func (p *plainBPE) appendWord(dst []int32, word []char) []int32 {
	var text []rune
	for _, c := range word {
		if !p.bytes {
			text = append(text, c.r)
			continue
		}
		for _, b := range utf8.AppendRune(nil, c.r) {
			text = append(text, byteRunes[b])
		}
	}
	if id, ok := p.vocab[string(text)]; ok && p.ignore {
		return append(dst, id)
	}
	syms := p.symbols(text)
	for {
		best, at := len(p.ranks), -1
		for i := range len(syms) - 1 {
			if rank, ok := p.ranks[[2]int32{syms[i], syms[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return append(dst, syms...)
		}
		syms[at] = p.results[best]
		syms = slices.Delete(syms, at+1, at+2)
	}
}

func (p *plainBPE) symbols(text []rune) []int32 {
	var syms []int32
	waiting := false // an unknown one
	for _, r := range text {
		if id, ok := p.vocab[string(r)]; ok {
			if waiting {
				syms, waiting = append(syms, p.unk), false
			}
			syms = append(syms, id)
			continue
		}
		if p.fallback {
			var ids []int32
			for _, b := range []byte(string(r)) {
				if id, ok := p.vocab["<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">"]; ok {
					ids = append(ids, id)
				}
			}
			if len(ids) == len(string(r)) {
				syms = append(syms, ids...)
				continue
			}
		}
		if p.unk < 0 {
			continue
		}
		if waiting && !p.fuse {
			syms = append(syms, p.unk)
		}
		waiting = true
	}
	if waiting {
		syms = append(syms, p.unk)
	}
	return syms
}
