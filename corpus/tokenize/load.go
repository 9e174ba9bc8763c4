package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// LoadFile is Load of the file at path.
func LoadFile(path string) (Tokenizer, Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Info{}, fmt.Errorf("load tokenizer: %w", err)
	}
	defer f.Close()
	t, info, err := Load(f)
	if err != nil {
		return nil, Info{}, fmt.Errorf("load tokenizer %s: %w", path, err)
	}
	return t, info, nil
}

// Load reads a Hugging Face tokenizer.json. The error wraps ErrUnsupported when
// the file asks for something this package does not do; whatever the file sets
// that is unknown here is refused, because it may change ids.
func Load(r io.Reader) (Tokenizer, Info, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, Info{}, fmt.Errorf("read tokenizer.json: %w", err)
	}
	m, info, err := parse(data)
	if err != nil {
		return nil, Info{}, fmt.Errorf("tokenizer.json: %w", err)
	}
	if info.Plain {
		return &plain{model: m}, info, nil
	}
	m.trie, err = newTrie(m.vocab, m.prefix)
	if err != nil {
		return nil, Info{}, fmt.Errorf("tokenizer.json: %w", err)
	}
	return newWordPiece(m), info, nil
}

// model is what a file says. It is read-only after Load and shared by clones.
type model struct {
	vocab    map[string]int32 // of the model proper
	prefix   string           // of pieces that continue a word
	unk      int32
	maxChars int // a longer word is unknown
	clean    bool
	cjk      bool
	strip    bool
	lower    bool
	added    matcher // matched in the raw text
	addedN   matcher // matched in the normalised text
	template Template
	special  Special
	size     int
	trie     trie
}

// file holds the top level of a tokenizer.json.
type file struct {
	Version       json.RawMessage `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"` // ids to text: not our work
	Model         json.RawMessage `json:"model"`
}

func parse(data []byte) (*model, Info, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, Info{}, err
	}
	m, info := &model{}, Info{Kind: "WordPiece"}
	var version string
	if err := strict(f.Version, &version); err != nil || version != "1.0" {
		return nil, Info{}, fmt.Errorf("version %s is %w; supported: \"1.0\"", shown(f.Version), ErrUnsupported)
	}
	if err := m.parseModel(f.Model); err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	if err := m.parseNormalizer(f.Normalizer); err != nil {
		return nil, Info{}, fmt.Errorf("normalizer: %w", err)
	}
	if err := parsePreTokenizer(f.PreTokenizer); err != nil {
		return nil, Info{}, fmt.Errorf("pre_tokenizer: %w", err)
	}
	ids, err := m.parseAdded(f.AddedTokens)
	if err != nil {
		return nil, Info{}, fmt.Errorf("added_tokens: %w", err)
	}
	if m.template, err = m.parsePost(f.PostProcessor, ids); err != nil {
		return nil, Info{}, fmt.Errorf("post_processor: %w", err)
	}
	if info.Truncation, err = truncation(f.Truncation); err != nil {
		return nil, Info{}, fmt.Errorf("truncation: %w", err)
	}
	if info.Padding, err = padding(f.Padding); err != nil {
		return nil, Info{}, fmt.Errorf("padding: %w", err)
	}
	m.special = Special{UNK: m.unk, CLS: m.first(ids, "[CLS]", "<s>"), SEP: m.first(ids, "[SEP]", "</s>"),
		PAD: m.first(ids, "[PAD]", "<pad>"), MASK: m.first(ids, "[MASK]", "<mask>")}
	info.Vocab, info.Added = len(m.vocab)+len(ids), m.added.count+m.addedN.count
	info.Lowercase, info.StripAccents, info.Plain = m.lower, m.strip, m.addedN.count > 0
	return m, info, nil
}

// section reads the type of a section. absent says that the section is missing or
// null.
func section(data json.RawMessage) (kind string, absent bool, err error) {
	if isNull(data) {
		return "", true, nil
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(data, &head); err != nil {
		return "", false, explained(err)
	}
	if isNull(head["type"]) {
		return "", false, errors.New("it has no type")
	}
	if err := json.Unmarshal(head["type"], &kind); err != nil {
		return "", false, fmt.Errorf("type: %w", explained(err))
	}
	return kind, false, nil
}

func isNull(data json.RawMessage) bool {
	return len(data) == 0 || string(data) == "null"
}

// shown quotes a JSON value for an error, cut short.
func shown(data json.RawMessage) string {
	switch {
	case len(data) == 0:
		return "(missing)"
	case len(data) > 60:
		return string(data[:60]) + "…"
	}
	return string(data)
}

// unsupported names a type that is refused and the ones that are not.
func unsupported(what, kind, supported string) error {
	return fmt.Errorf("%s type %q is %w; supported: %s", what, kind, ErrUnsupported, supported)
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
	var n struct {
		Type    string `json:"type"`
		Clean   *bool  `json:"clean_text"`
		CJK     *bool  `json:"handle_chinese_chars"`
		Accents *bool  `json:"strip_accents"`
		Lower   *bool  `json:"lowercase"`
	}
	if err := strict(data, &n); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		from *bool
		to   *bool
	}{{"clean_text", n.Clean, &m.clean}, {"handle_chinese_chars", n.CJK, &m.cjk}, {"lowercase", n.Lower, &m.lower}} {
		if f.from == nil {
			return fmt.Errorf("BertNormalizer has no %s", f.name)
		}
		*f.to = *f.from
	}
	m.strip = m.lower
	if n.Accents != nil {
		m.strip = *n.Accents
	}
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

func truncation(data json.RawMessage) (int, error) {
	if isNull(data) {
		return 0, nil
	}
	var t map[string]json.RawMessage
	if err := json.Unmarshal(data, &t); err != nil {
		return 0, explained(err)
	}
	length := 0
	if isNull(t["max_length"]) {
		return 0, nil
	}
	if err := json.Unmarshal(t["max_length"], &length); err != nil {
		return 0, fmt.Errorf("max_length: %w", explained(err))
	}
	return length, nil
}

func padding(data json.RawMessage) (int, error) {
	if isNull(data) {
		return 0, nil
	}
	var p map[string]json.RawMessage
	if err := json.Unmarshal(data, &p); err != nil {
		return 0, explained(err)
	}
	var fixed map[string]int
	if json.Unmarshal(p["strategy"], &fixed) == nil && fixed["Fixed"] > 0 {
		return fixed["Fixed"], nil
	}
	return -1, nil
}

// first gives the id of the first of names that is a token, -1 when none is.
func (m *model) first(added map[string]int32, names ...string) int32 {
	for _, name := range names {
		if id, ok := m.vocab[name]; ok {
			return id
		}
		if id, ok := added[name]; ok {
			return id
		}
	}
	return -1
}
