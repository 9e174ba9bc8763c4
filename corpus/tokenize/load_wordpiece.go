package tokenize

import (
	"encoding/json"
	"fmt"
)

// maxWordChars bounds max_input_chars_per_word, and with it the scratch memory of a
// word and the time that a long one takes.
const maxWordChars = 10_000

// model is what a file of the WordPiece family says. It is read-only after Load and
// shared by clones.
type model struct {
	core
	prefix   string // of pieces that continue a word
	unk      int32
	maxChars int // a longer word is unknown
	clean    bool
	cjk      bool
	strip    bool
	lower    bool
	normal   normalizer // the same, for what is normalised as a whole
	late     lateTokens
	trie     trie
}

// loadWordPiece reads a file whose model is WordPiece.
func loadWordPiece(f *file) (Tokenizer, Info, error) {
	m, info := &model{}, Info{Kind: "WordPiece"}
	if err := m.parseModel(f.Model); err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	if err := m.parseNormalizer(f.Normalizer); err != nil {
		return nil, Info{}, fmt.Errorf("normalizer: %w", err)
	}
	if err := parsePreTokenizer(f.PreTokenizer); err != nil {
		return nil, Info{}, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err := m.finish(f, &info, m.normal.string); err != nil {
		return nil, Info{}, err
	}
	info.Lowercase, info.StripAccents = m.lower, m.strip
	m.late = newLateTokens(m)
	var err error
	if m.trie, err = newTrie(m.vocab, m.prefix); err != nil {
		return nil, Info{}, err
	}
	return newWordPiece(m), info, nil
}

func (m *model) parseModel(data json.RawMessage) error {
	var w struct {
		Type     string          `json:"type"`
		Unk      *string         `json:"unk_token"`
		Prefix   *string         `json:"continuing_subword_prefix"`
		MaxChars *int            `json:"max_input_chars_per_word"`
		Vocab    json.RawMessage `json:"vocab"`
	}
	if err := strict(data, &w); err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		missing bool
	}{{"unk_token", w.Unk == nil}, {"continuing_subword_prefix", w.Prefix == nil},
		{"max_input_chars_per_word", w.MaxChars == nil}, {"vocab", isNull(w.Vocab)}} {
		if f.missing {
			return fmt.Errorf("WordPiece has no %s", f.name)
		}
	}
	if *w.MaxChars < 0 {
		return fmt.Errorf("max_input_chars_per_word is %d: must not be negative", *w.MaxChars)
	}
	if *w.MaxChars > maxWordChars {
		return fmt.Errorf("max_input_chars_per_word of %d is %w; supported: 0 to %d (100 is usual)", *w.MaxChars, ErrUnsupported, maxWordChars)
	}
	m.prefix, m.maxChars = *w.Prefix, *w.MaxChars
	if err := m.parseVocab(w.Vocab); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	unk, ok := m.vocab[*w.Unk]
	if !ok {
		return fmt.Errorf("unknown token %q is not in the vocabulary of %d tokens", *w.Unk, len(m.vocab))
	}
	m.unk = unk
	m.special.UNK = unk
	return nil
}

func (m *model) parseNormalizer(data json.RawMessage) error {
	kind, absent, err := section(data)
	switch {
	case err != nil:
		return err
	case absent:
		return nil
	case kind != "BertNormalizer":
		return unsupported("normalizer", kind, "BertNormalizer, or none")
	}
	o, err := parseBertOptions(data)
	if err != nil {
		return err
	}
	m.clean, m.cjk, m.strip, m.lower = o.clean, o.cjk, o.strip, o.lower
	m.normal.steps = newBert(o)
	return nil
}

func parsePreTokenizer(data json.RawMessage) error {
	kind, absent, err := section(data)
	switch {
	case err != nil:
		return err
	case absent:
		return fmt.Errorf("none is %w; supported: BertPreTokenizer", ErrUnsupported)
	case kind != "BertPreTokenizer":
		return unsupported("pre-tokenizer", kind, "BertPreTokenizer")
	}
	var p struct {
		Type string `json:"type"`
	}
	return strict(data, &p)
}
