package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxBPE bounds ids and merges, so that a pair and its rank fit in 64 bits.
const maxBPE = 1 << 21

// bpeModel is what a file of the BPE family says. It is read-only after Load and
// shared by clones.
type bpeModel struct {
	core
	merges       []merge    // by rank
	unk          int32      // -1: characters outside the vocabulary are left out
	fuseUnk      bool       // unknown characters that stand together are one
	byteFallback bool       // an unknown character becomes the tokens of its bytes
	byteIDs      [256]int32 // these, -1 where there is none
	ignoreMerges bool       // a pre-token in the vocabulary is that token, whatever the merges say
	normal       normalizer
	split        splitting
	table        bpeTable

	forms      bool // normalisation is to Unicode's forms only
	asciiStays bool // normalisation leaves an ASCII text as it is
	contextual bool // normalisation of a part of a text may differ from that of the whole
	prepends   bool // it puts a space before every text
	units      bool // a text is one pre-token, cut at spaces where nothing in the vocabulary joins
}

// merge joins two tokens that stand together to a third.
type merge struct{ left, right, id int32 }

// loadBPE reads a file whose model is BPE.
func loadBPE(f *file) (Tokenizer, Info, error) {
	m, info := &bpeModel{}, Info{Kind: "BPE"}
	if err := m.parseModel(f.Model); err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	var err error
	if m.normal, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, Info{}, fmt.Errorf("normalizer: %w", err)
	}
	if m.split, err = parseSplitting(f.PreTokenizer); err != nil {
		return nil, Info{}, fmt.Errorf("pre_tokenizer: %w", err)
	}
	m.arrange()
	if m.split.prefix == prefixFirst && !m.forms {
		// The reference asks what the first piece comes from, which others may drop.
		return nil, Info{}, fmt.Errorf("pre_tokenizer: pre-tokenizer Metaspace with prepend_scheme \"first\" is %w behind a normalizer other than NFC, NFD, NFKC, NFKD; supported: always, never", ErrUnsupported)
	}
	if err := m.finish(f, &info, m.normal.string); err != nil {
		return nil, Info{}, err
	}
	if err := m.checkMarked(); err != nil {
		return nil, Info{}, fmt.Errorf("added_tokens: %w", err)
	}
	if err := m.prepare(); err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	info.Lowercase, info.StripAccents = m.normal.lower, m.normal.accents
	if len(m.split.cuts) == 0 {
		// With ignore_merges a part may be a token that the whole is not.
		m.contextual = m.contextual || m.ignoreMerges
		if m.units = m.table.isSymbol([]byte(" ")); m.units {
			m.split.cuts, m.split.window = []cutter{{"units", m.table.scanUnits}}, m.table.windowUnits
		} else {
			// What stands for a space, or nothing, may join what stands beside it.
			m.contextual = true
			m.split.cuts = []cutter{{"whole", func(s []byte) (int, bool) { return len(s), false }}}
		}
	}
	return newBPE(m), info, nil
}

// arrange makes spaces of the marks that the file makes of spaces: a text is then
// itself, most often, and need not be written anew. A text holds either marks or
// spaces then, so that nothing is lost.
func (m *bpeModel) arrange() {
	backward := &replaceStep{old: []byte(spaceMark), by: []byte(" ")}
	steps := m.normal.steps
	if len(steps) == 2 && steps[0] == (prependStep{spaceMark}) {
		m.prepends, steps = true, steps[1:]
	}
	forward, ok := (*replaceStep)(nil), false
	if len(steps) == 1 {
		forward, ok = steps[0].(*replaceStep)
	}
	other := func(c cutter) bool { return c.name != splitBy+" " }
	switch {
	case m.split.meta:
		m.normal.steps = append(m.normal.steps, backward)
		m.prepends = false
	case ok && string(forward.old) == " " && string(forward.by) == spaceMark && !m.split.bytes && !slices.ContainsFunc(m.split.cuts, other):
		m.split.marked, m.split.cuts = true, nil // no spaces are left to split by
		m.normal.steps = []step{backward}
		if m.prepends {
			m.normal.steps = []step{prependStep{" "}, backward}
		}
	default:
		m.prepends = false
	}
	m.forms, m.asciiStays = true, true
	for _, p := range m.normal.steps {
		switch p := p.(type) {
		case *formStep:
		case *replaceStep:
			m.forms, m.asciiStays = m.forms && p == backward, m.asciiStays && p == backward
		case *runeStep:
			m.forms, m.asciiStays = false, m.asciiStays && !p.anASCII
		default:
			m.forms, m.asciiStays = false, false
			m.contextual = m.contextual || p != (prependStep{" "}) || !m.prepends
		}
	}
}

// checkMarked refuses added tokens that would be matched otherwise where marks are
// spaces.
func (m *bpeModel) checkMarked() error {
	if !m.split.marked {
		return nil
	}
	for _, t := range m.addedN.tokens {
		if t.lstrip || t.rstrip || m.split.meta && strings.Contains(t.content, " ") {
			return fmt.Errorf("%.200q has normalized true and holds or strips spaces, which the file makes marks of: together they are %w", t.content, ErrUnsupported)
		}
	}
	return nil
}

func (m *bpeModel) parseModel(data json.RawMessage) error {
	var b struct {
		Type         string          `json:"type"`
		Dropout      *float64        `json:"dropout"`
		Unk          *string         `json:"unk_token"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		Suffix       *string         `json:"end_of_word_suffix"`
		FuseUnk      bool            `json:"fuse_unk"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
	}
	if err := strict(data, &b); err != nil {
		return err
	}
	switch {
	case b.Dropout != nil && *b.Dropout != 0:
		return fmt.Errorf("dropout of %v is %w; supported: none (dropout gives other ids every time)", *b.Dropout, ErrUnsupported)
	case b.Prefix != nil && *b.Prefix != "":
		return fmt.Errorf("continuing_subword_prefix %.200q is %w; supported: none", *b.Prefix, ErrUnsupported)
	case b.Suffix != nil && *b.Suffix != "":
		return fmt.Errorf("end_of_word_suffix %.200q is %w; supported: none", *b.Suffix, ErrUnsupported)
	case isNull(b.Vocab):
		return errors.New("BPE has no vocab")
	case isNull(b.Merges):
		return errors.New("BPE has no merges")
	}
	if err := m.parseVocab(b.Vocab); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if m.size > maxBPE {
		return fmt.Errorf("ids up to %d are %w; supported: up to %d", m.size-1, ErrUnsupported, maxBPE-1)
	}
	m.unk, m.special.UNK = -1, -1
	if b.Unk != nil {
		id, ok := m.vocab[*b.Unk]
		if !ok {
			return fmt.Errorf("unknown token %.200q is not in the vocabulary of %d tokens", *b.Unk, len(m.vocab))
		}
		m.unk, m.special.UNK = id, id
	}
	for b := range m.byteIDs {
		id, ok := m.vocab[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = -1
		}
		m.byteIDs[b] = id
	}
	m.fuseUnk, m.byteFallback, m.ignoreMerges = b.FuseUnk, b.ByteFallback, b.IgnoreMerges
	if err := m.parseMerges(b.Merges, maxBPE); err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	return nil
}

// parseMerges reads the list of merges, at most most of them. data is valid JSON: each
// is "a b" or ["a", "b"].
func (m *bpeModel) parseMerges(data json.RawMessage, most int) error {
	rest := skipSpace(data)
	if rest[0] != '[' {
		return fmt.Errorf("expected a list, found %s", shown(data))
	}
	first := make(map[[2]int32]int, len(data)/20)
	for rest = skipSpace(rest[1:]); rest[0] != ']'; {
		n := len(m.merges)
		left, right, after, err := scanMerge(rest)
		if err != nil {
			return fmt.Errorf("merge %d: %w", n, err)
		}
		if rest = skipSpace(after); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
		if strings.HasPrefix(left, "#version") && right == "" {
			continue // the first line of a merges.txt
		}
		ids := [3]int32{}
		for i, token := range []string{left, right, left + right} {
			id, ok := m.vocab[token]
			if !ok {
				what := ""
				if i == 2 {
					what = "their sum "
				}
				return fmt.Errorf("merge %d joins %.200q and %.200q, but %s%.200q is not in the vocabulary of %d tokens", n, left, right, what, token, len(m.vocab))
			}
			ids[i] = id
		}
		pair := [2]int32{ids[0], ids[1]}
		if prior, twice := first[pair]; twice {
			return fmt.Errorf("merges %d and %d both join %.200q and %.200q", prior, n, left, right)
		}
		if n == most {
			return fmt.Errorf("more than %d are %w", most, ErrUnsupported)
		}
		first[pair] = n
		m.merges = append(m.merges, merge{ids[0], ids[1], ids[2]})
	}
	return nil
}

// scanMerge reads the merge that data, valid JSON, begins with.
func scanMerge(data []byte) (left, right string, rest []byte, err error) {
	bad := func(end int) error {
		return fmt.Errorf("expected two tokens, as in \"a b\" or [\"a\", \"b\"], found %s", shown(data[:end]))
	}
	if data[0] == '"' {
		s, rest, err := scanString(data)
		if err != nil {
			return "", "", nil, err
		}
		if strings.HasPrefix(s, "#version") {
			return s, "", rest, nil
		}
		left, right, ok := strings.Cut(s, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return "", "", nil, bad(len(data) - len(rest))
		}
		return left, right, rest, nil
	}
	end := bytes.IndexAny(data, "]},")
	if data[0] != '[' {
		return "", "", nil, bad(end)
	}
	var list []string
	for rest = skipSpace(data[1:]); rest[0] != ']'; {
		if rest[0] != '"' {
			return "", "", nil, bad(bytes.IndexByte(data, ']') + 1)
		}
		s, after, err := scanString(rest)
		if err != nil {
			return "", "", nil, err
		}
		list = append(list, s)
		if rest = skipSpace(after); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	rest = rest[1:]
	if len(list) != 2 || list[0] == "" || list[1] == "" {
		return "", "", nil, bad(len(data) - len(rest))
	}
	return list[0], list[1], rest, nil
}
