package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// normalizers names the types of normalizer that parseNormalizer knows.
const normalizers = "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents, or none"

// lacks says that a part of a file has no field of that name.
func lacks(part, name string) error { return fmt.Errorf("%s has no %s", part, name) }

// parseNormalizer reads the normalizer section of a file, which may be absent.
func parseNormalizer(data json.RawMessage) (normalizer, error) {
	var n normalizer
	err := n.parse(data)
	return n, err
}

// parse appends the steps of one normalizer.
func (n *normalizer) parse(data json.RawMessage) error {
	kind, absent, err := section(data)
	if err != nil || absent {
		return err
	}
	var alone struct { // a normalizer without options
		Type string `json:"type"`
	}
	var p step
	switch kind {
	case "NFC":
		p = &formStep{changed: notNFC, compose: true}
	case "NFD":
		p = &formStep{changed: notNFD}
	case "NFKC":
		p = &formStep{changed: notNFKC, compat: true, compose: true}
	case "NFKD":
		p = &formStep{changed: notNFKD, compat: true}
	case "Lowercase":
		p, n.lower = newLowercase(), true
	case "StripAccents":
		p, n.accents = newStripAccents(), true
	case "Nmt":
		p = newNmt()
	case "ByteLevel":
		p = newByteLevel()
	case "BertNormalizer":
		return n.parseBert(data)
	case "Strip":
		return n.parseStrip(data)
	case "Prepend":
		return n.parsePrepend(data)
	case "Replace":
		return n.parseReplace(data)
	case "Precompiled":
		return n.parsePrecompiled(data)
	case "Sequence":
		return n.parseSequence(data)
	default:
		return unsupported("normalizer", kind, normalizers)
	}
	n.steps = append(n.steps, p)
	return strict(data, &alone)
}

func (n *normalizer) parseSequence(data json.RawMessage) error {
	var p struct {
		Type string            `json:"type"`
		List []json.RawMessage `json:"normalizers"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.List == nil {
		return lacks("Sequence", "normalizers")
	}
	for i, data := range p.List {
		if isNull(data) {
			return fmt.Errorf("normalizer %d of the sequence is null", i)
		}
		if err := n.parse(data); err != nil {
			return fmt.Errorf("normalizer %d of the sequence: %w", i, err)
		}
	}
	return nil
}

// bertOptions holds the settings of a BertNormalizer.
type bertOptions struct{ clean, cjk, strip, lower bool }

func parseBertOptions(data json.RawMessage) (o bertOptions, err error) {
	var p struct {
		Type    string `json:"type"`
		Clean   *bool  `json:"clean_text"`
		CJK     *bool  `json:"handle_chinese_chars"`
		Accents *bool  `json:"strip_accents"`
		Lower   *bool  `json:"lowercase"`
	}
	if err := strict(data, &p); err != nil {
		return o, err
	}
	for _, f := range []struct {
		name string
		from *bool
		to   *bool
	}{{"clean_text", p.Clean, &o.clean}, {"handle_chinese_chars", p.CJK, &o.cjk}, {"lowercase", p.Lower, &o.lower}} {
		if f.from == nil {
			return o, lacks("BertNormalizer", f.name)
		}
		*f.to = *f.from
	}
	o.strip = o.lower
	if p.Accents != nil {
		o.strip = *p.Accents
	}
	return o, nil
}

func (n *normalizer) parseBert(data json.RawMessage) error {
	o, err := parseBertOptions(data)
	if err != nil {
		return err
	}
	n.steps = append(n.steps, newBert(o)...)
	n.lower, n.accents = n.lower || o.lower, n.accents || o.strip
	return nil
}

func (n *normalizer) parseStrip(data json.RawMessage) error {
	var p struct {
		Type  string `json:"type"`
		Left  *bool  `json:"strip_left"`
		Right *bool  `json:"strip_right"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Left == nil || p.Right == nil {
		return lacks("Strip", "strip_left or no strip_right")
	}
	n.steps = append(n.steps, stripStep{*p.Left, *p.Right})
	return nil
}

func (n *normalizer) parsePrepend(data json.RawMessage) error {
	var p struct {
		Type string  `json:"type"`
		Text *string `json:"prepend"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Text == nil {
		return lacks("Prepend", "prepend")
	}
	if *p.Text == "" {
		// The reference writes the first character twice, or fails.
		return fmt.Errorf("empty prepend of Prepend is %w", ErrUnsupported)
	}
	n.steps = append(n.steps, prependStep{*p.Text})
	return nil
}

// replacePattern is what a Replace looks for: a text or a regular expression.
type replacePattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func (n *normalizer) parseReplace(data json.RawMessage) error {
	var p struct {
		Type    string         `json:"type"`
		Pattern replacePattern `json:"pattern"`
		Content *string        `json:"content"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Content == nil {
		return lacks("Replace", "content")
	}
	by := []byte(*p.Content)
	text, regex := p.Pattern.String, p.Pattern.Regex
	switch {
	case (text == nil) == (regex == nil):
		return errors.New("pattern of Replace must be a String or a Regex")
	case text != nil && *text == "" || regex != nil && *regex == "":
		return fmt.Errorf("empty pattern of Replace is %w", ErrUnsupported)
	case text != nil:
		n.steps = append(n.steps, &replaceStep{[]byte(*text), by})
	case *regex == " {2,}":
		n.steps = append(n.steps, &spacesStep{by: by})
	case *regex == `\s+`:
		n.steps = append(n.steps, &spacesStep{all: true, by: by})
	case strings.ContainsAny(*regex, `\.+*?()|[]{}^$`):
		// Note: an engine of regular expressions would be slow, and Go's differs from
		// the reference's (Oniguruma) in what it matches.
		return fmt.Errorf(`regular expression %.200q of Replace is %w; supported: " {2,}", "\\s+", and those without special characters`, *regex, ErrUnsupported)
	default:
		n.steps = append(n.steps, &replaceStep{[]byte(*regex), by})
	}
	return nil
}

func (n *normalizer) parsePrecompiled(data json.RawMessage) error {
	var p struct {
		Type string  `json:"type"`
		Map  *string `json:"precompiled_charsmap"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Map == nil {
		return lacks("Precompiled", "precompiled_charsmap")
	}
	m, err := parseCharsmap(*p.Map)
	if err != nil {
		return err
	}
	n.steps = append(n.steps, newPrecompiled(m))
	return nil
}
