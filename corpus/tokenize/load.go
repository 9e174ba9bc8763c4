package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// LoadFile is Load of the file at path.
func LoadFile(path string) (Tokenizer, Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Info{}, fmt.Errorf("load tokenizer: %w", err)
	}
	defer f.Close()
	t, info, err := read(f)
	if err != nil {
		return nil, Info{}, fmt.Errorf("load tokenizer %s: %w", path, err)
	}
	return t, info, nil
}

// Load reads a Hugging Face tokenizer.json. The error wraps ErrUnsupported when
// the file asks for something this package does not do; whatever the file sets
// that is unknown here is refused, because it may change ids.
func Load(r io.Reader) (Tokenizer, Info, error) {
	t, info, err := read(r)
	if err != nil {
		return nil, Info{}, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, info, nil
}

func read(r io.Reader) (Tokenizer, Info, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, Info{}, err
	}
	return parse(data)
}

// families reads a file by the type of its model.
var families = map[string]func(*file) (Tokenizer, Info, error){
	"BPE":       loadBPE,
	"Unigram":   loadUnigram,
	"WordPiece": loadWordPiece,
}

// core is what the files of all families say. It is read-only after Load and
// shared by clones.
type core struct {
	vocab    map[string]int32 // of the model proper
	added    matcher          // matched in the raw text
	addedN   matcher          // matched in the normalised text
	template Template
	special  Special
	entries  int // tokens by the model's own count, after which the reference numbers added ones
	size     int // ids, added tokens included: one more than the largest
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

func parse(data []byte) (Tokenizer, Info, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, Info{}, err
	}
	if err := wellFormed(data); err != nil {
		return nil, Info{}, err
	}
	var version string
	if err := strict(f.Version, &version); err != nil || version != "1.0" {
		return nil, Info{}, fmt.Errorf("version %s is %w; supported: \"1.0\"", shown(f.Version), ErrUnsupported)
	}
	kind, err := modelKind(f.Model)
	if err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	return families[kind](&f)
}

// modelKind gives the type of the model, a key of families. Files of old library
// versions leave it out.
func modelKind(data json.RawMessage) (string, error) {
	if isNull(data) {
		return "", errors.New("missing")
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(data, &head); err != nil {
		return "", explained(err)
	}
	supported := strings.Join(slices.Sorted(maps.Keys(families)), ", ")
	if isNull(head["type"]) {
		kind := ""
		switch {
		case head["merges"] != nil:
			kind = "BPE"
		case !isNull(head["continuing_subword_prefix"]):
			kind = "WordPiece"
		}
		if families[kind] == nil {
			return "", fmt.Errorf("tokenizer model without a type is %w; supported: %s", ErrUnsupported, supported)
		}
		return kind, nil
	}
	var kind string
	if err := json.Unmarshal(head["type"], &kind); err != nil {
		return "", fmt.Errorf("type: %w", explained(err))
	}
	if families[kind] == nil {
		return "", unsupported("tokenizer model", kind, supported)
	}
	return kind, nil
}

// finish reads the sections that all families have in common into c and info. normal
// gives the normalised text of an added token.
func (c *core) finish(f *file, info *Info, normal func(string) string) error {
	ids, err := c.parseAdded(f.AddedTokens, normal)
	if err != nil {
		return fmt.Errorf("added_tokens: %w", err)
	}
	if c.template, err = c.parsePost(f.PostProcessor, ids); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	if info.Truncation, err = truncation(f.Truncation); err != nil {
		return fmt.Errorf("truncation: %w", err)
	}
	if info.Padding, err = padding(f.Padding); err != nil {
		return fmt.Errorf("padding: %w", err)
	}
	if c.special.UNK < 0 {
		c.special.UNK = c.first(ids, "[UNK]", "<unk>")
	}
	c.special = Special{UNK: c.special.UNK, CLS: c.first(ids, "[CLS]", "<s>", "<bos>"), SEP: c.first(ids, "[SEP]", "</s>", "<eos>"),
		PAD: c.first(ids, "[PAD]", "<pad>"), MASK: c.first(ids, "[MASK]", "<mask>")}
	info.Normalizer, info.PreTokenizer = typesOf(f.Normalizer, "normalizers"), typesOf(f.PreTokenizer, "pretokenizers")
	info.Vocab, info.Added = c.entries+len(ids), c.added.count+c.addedN.count
	return nil
}

// typesOf names the types of a section that was read, in order, as in "Prepend,
// Replace"; "" when it is absent. list is where a Sequence has its members.
func typesOf(data json.RawMessage, list string) string {
	parts, err := sequence(data, list)
	if err != nil {
		return ""
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i], _, _ = section(p)
	}
	return strings.Join(names, ", ")
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

// sequence gives the members of a section that is a Sequence, whose list has this
// name, or the section itself; nothing when it is absent.
func sequence(data json.RawMessage, list string) ([]json.RawMessage, error) {
	kind, absent, err := section(data)
	if err != nil || absent {
		return nil, err
	}
	if kind != "Sequence" {
		return []json.RawMessage{data}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, explained(err)
	}
	for name := range members {
		if name != "type" && name != list {
			return nil, fmt.Errorf("a Sequence has the unknown field %.200q; known are type, %s", name, list)
		}
	}
	if isNull(members[list]) {
		return nil, fmt.Errorf("a Sequence has no %s", list)
	}
	var parts, out []json.RawMessage
	if err := json.Unmarshal(members[list], &parts); err != nil {
		return nil, fmt.Errorf("%s of a Sequence: %w", list, explained(err))
	}
	for i, p := range parts {
		if isNull(p) {
			return nil, fmt.Errorf("%s of a Sequence: member %d is null", list, i)
		}
		more, err := sequence(p, list)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
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
func (c *core) first(added map[string]int32, names ...string) int32 {
	for _, name := range names {
		if id, ok := c.vocab[name]; ok {
			return id
		}
		if id, ok := added[name]; ok {
			return id
		}
	}
	return -1
}
