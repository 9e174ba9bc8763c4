package tokenize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxVocab bounds the ids of a file, so that a bad one cannot ask for all memory.
const maxVocab = 1 << 24

// maxTokenBytes bounds the depth of the trie.
const maxTokenBytes = 4096

// maxWordChars bounds max_input_chars_per_word, and with it the scratch memory of a
// word and the time that a long one takes.
const maxWordChars = 10_000

func (m *model) parseModel(data json.RawMessage) error {
	if isNull(data) {
		return fmt.Errorf("missing")
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(data, &head); err != nil {
		return explained(err)
	}
	// Files of old library versions leave the type out.
	if !isNull(head["type"]) {
		var kind string
		if err := json.Unmarshal(head["type"], &kind); err != nil {
			return fmt.Errorf("type: %w", explained(err))
		}
		if kind != "WordPiece" {
			return unsupported("tokenizer model", kind, "WordPiece")
		}
	} else if head["merges"] != nil || isNull(head["continuing_subword_prefix"]) {
		return fmt.Errorf("tokenizer model without a type is %w; supported: WordPiece", ErrUnsupported)
	}
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
	return nil
}

// parseVocab reads the vocabulary, which is valid JSON. A repeated token or id,
// which a map would hide, makes two readers disagree and is refused.
//
// Note: with json.Decoder's tokens the whole of Load took half as long again, 124
// against 82 ms for 30,522 tokens on a 2-core AMD EPYC, AVX-512, under load.
func (m *model) parseVocab(data json.RawMessage) error {
	rest := skipSpace(data)
	if rest[0] != '{' {
		return fmt.Errorf("expected an object of token: id, found %s", shown(data))
	}
	m.vocab = make(map[string]int32, len(data)/15)
	owner := make([]string, 0, len(data)/15)
	seen := make([]bool, 0, len(data)/15)
	for rest = skipSpace(rest[1:]); rest[0] != '}'; {
		token, after, err := scanString(rest)
		if err != nil {
			return err
		}
		rest = skipSpace(skipSpace(after)[1:]) // the colon
		end := bytes.IndexAny(rest, ",} \t\r\n")
		id, err := strconv.ParseInt(string(rest[:end]), 10, 64)
		if err != nil {
			return fmt.Errorf("id of token %q is not a whole number: %s", token, shown(rest[:end]))
		}
		if rest = skipSpace(rest[end:]); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
		if id < 0 || id >= maxVocab {
			return fmt.Errorf("token %q has id %d, outside 0 to %d", token, id, maxVocab-1)
		}
		if len(token) > maxTokenBytes {
			return fmt.Errorf("token with id %d has %d bytes, more than %d", id, len(token), maxTokenBytes)
		}
		if prior, twice := m.vocab[token]; twice {
			return fmt.Errorf("token %q is listed twice, with ids %d and %d", token, prior, id)
		}
		for int64(len(owner)) <= id {
			owner, seen = append(owner, ""), append(seen, false)
		}
		if seen[id] {
			return fmt.Errorf("tokens %q and %q both have id %d", owner[id], token, id)
		}
		owner[id], seen[id] = token, true
		m.vocab[token] = int32(id)
	}
	if len(m.vocab) == 0 {
		return fmt.Errorf("it is empty")
	}
	m.size = len(owner)
	return nil
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// scanString reads the JSON string that data, valid JSON, begins with.
func scanString(data []byte) (s string, rest []byte, err error) {
	end := 1
	for data[end] != '"' {
		if data[end] == '\\' {
			end++
		}
		end++
	}
	raw, rest := data[1:end], data[end+1:]
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw), rest, nil
	}
	err = json.Unmarshal(data[:end+1], &s)
	return s, rest, err
}

// parseAdded reads the added tokens and gives the ids of those that are not in
// the vocabulary.
func (m *model) parseAdded(data json.RawMessage) (map[string]int32, error) {
	ids := make(map[string]int32)
	var list []struct {
		ID         *int32  `json:"id"`
		Content    *string `json:"content"`
		SingleWord bool    `json:"single_word"`
		LStrip     bool    `json:"lstrip"`
		RStrip     bool    `json:"rstrip"`
		Normalized bool    `json:"normalized"`
		Special    bool    `json:"special"`
	}
	if isNull(data) {
		return ids, nil
	}
	if err := strict(data, &list); err != nil {
		return nil, err
	}
	var raw, normalized []addedToken
	listed := make(map[string]bool, len(list))
	highest := int32(-1) // id among the added tokens so far
	for i, a := range list {
		switch {
		case a.Content == nil || a.ID == nil:
			return nil, fmt.Errorf("entry %d has no id or no content", i)
		case *a.Content == "":
			return nil, fmt.Errorf("entry %d, id %d, is empty", i, *a.ID)
		case listed[*a.Content]:
			return nil, fmt.Errorf("%q is listed twice", *a.Content)
		case !utf8.ValidString(*a.Content) || bytes.ContainsRune([]byte(*a.Content), utf8.RuneError):
			return nil, fmt.Errorf("%q holds U+FFFD, which is %w in an added token", *a.Content, ErrUnsupported)
		}
		listed[*a.Content] = true
		want, known := m.vocab[*a.Content]
		if !known {
			want = max(highest+1, int32(len(m.vocab)))
		}
		// The reference goes by its own count and merely warns.
		if *a.ID != want {
			return nil, fmt.Errorf("%q has id %d, the reference tokenizer would give it %d", *a.Content, *a.ID, want)
		}
		if !known && int(want) < m.size {
			return nil, fmt.Errorf("%q has id %d, which lies inside a vocabulary with holes", *a.Content, want)
		}
		if want >= maxVocab {
			return nil, fmt.Errorf("%q has id %d, outside 0 to %d", *a.Content, want, maxVocab-1)
		}
		highest = max(highest, want)
		if !known {
			ids[*a.Content] = want
		}
		m.size = max(m.size, int(want)+1)
		t := addedToken{content: *a.Content, id: want, single: a.SingleWord, lstrip: a.LStrip, rstrip: a.RStrip}
		if a.Normalized {
			t.content = string(normalizeAll(m, []rune(t.content)))
			normalized = append(normalized, t)
		} else {
			raw = append(raw, t)
		}
	}
	var err error
	if m.added, err = newMatcher(raw); err != nil {
		return nil, err
	}
	m.addedN, err = newMatcher(normalized)
	return ids, err
}
