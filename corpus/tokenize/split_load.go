package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// spaceMark stands for a space in the vocabularies of SentencePiece.
const spaceMark = "\u2581"

// splitting is how a file of the BPE family cuts text into pre-tokens.
type splitting struct {
	// cuts are applied one after the other, each to the pieces of the one before; a
	// text that none cuts is one pre-token.
	cuts []cutter
	// window finds the pre-tokens of a single cut 64 bytes at a time; nil where only
	// its scan does.
	window window
	bytes  bool   // tokens are made of bytes, in their visible forms, not of characters
	marked bool   // spaces have become marks; texts and tokens are kept with spaces instead
	prefix prefix // what puts a space before a piece that begins with none
	meta   bool   // Metaspace: spaces become marks here
}

// cutter is one pre-tokenizer. scan gives the length of the piece that s begins with and
// whether it is dropped. s is valid UTF-8 and not empty; what stands before it does
// not matter.
type cutter struct {
	name string
	scan func(s []byte) (n int, drop bool)
}

// splitBy and a text is the name of the cut of a Split by it.
const splitBy = "Split by "

const supportedSplits = "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace, Sequence of these, or none"

// parseSplitting reads the pre-tokenizer of a file of the BPE family.
func parseSplitting(data json.RawMessage) (splitting, error) {
	var s splitting
	list, err := sequence(data, "pretokenizers")
	if err != nil {
		return s, err
	}
	for i, p := range list {
		if s.bytes {
			return s, fmt.Errorf("a pre-tokenizer behind ByteLevel is %w", ErrUnsupported)
		}
		if err := s.parse(p, i == 0 && len(list) == 1); err != nil {
			return s, err
		}
	}
	if len(s.cuts) == 1 {
		s.window = windows[s.cuts[0].name]
	}
	return s, nil
}

// parse reads one pre-tokenizer; alone says that there is no other.
func (s *splitting) parse(data json.RawMessage, alone bool) error {
	kind, _, err := section(data)
	if err != nil {
		return err
	}
	var bare struct {
		Type string `json:"type"`
	}
	switch kind {
	case "ByteLevel":
		return s.parseByteLevel(data, alone)
	case "Split":
		return s.parseSplit(data)
	case "Metaspace":
		return s.parseMetaspace(data, alone)
	case "Digits":
		var d struct {
			Type       string `json:"type"`
			Individual *bool  `json:"individual_digits"`
		}
		if err := strict(data, &d); err != nil {
			return err
		}
		if d.Individual == nil {
			return errors.New("pre-tokenizer Digits has no individual_digits")
		}
		most := 0
		if *d.Individual {
			most = 1
		}
		s.cuts = append(s.cuts, cutter{kind, scanClass(func(c category, _ rune) bool { return c&catNumeric != 0 }, most)})
		return nil
	case "Punctuation":
		return s.parsePunctuation(data)
	case "Whitespace":
		s.cuts = append(s.cuts, cutter{kind, scanWords})
		return strict(data, &bare)
	case "WhitespaceSplit":
		s.cuts = append(s.cuts, cutter{kind, scanWhitespaceSplit})
		return strict(data, &bare)
	}
	return unsupported("pre-tokenizer", kind, supportedSplits)
}

// byteLevelOptions are those of ByteLevel as pre-tokenizer and as post-processor.
type byteLevelOptions struct {
	Type   string `json:"type"`
	Prefix *bool  `json:"add_prefix_space"`
	Trim   *bool  `json:"trim_offsets"` // of offsets only
	Regex  *bool  `json:"use_regex"`
}

func (s *splitting) parseByteLevel(data json.RawMessage, alone bool) error {
	var b byteLevelOptions
	if err := strict(data, &b); err != nil {
		return err
	}
	if b.Prefix == nil || b.Trim == nil {
		return errors.New("pre-tokenizer ByteLevel has no add_prefix_space or no trim_offsets")
	}
	s.bytes = true
	if *b.Prefix {
		if !alone {
			return fmt.Errorf("pre-tokenizer ByteLevel with add_prefix_space in a Sequence is %w", ErrUnsupported)
		}
		s.prefix = prefixAlways
	}
	if b.Regex == nil || *b.Regex {
		s.cuts = append(s.cuts, patterns[0].cutter())
	}
	return nil
}

// cutter makes a pre-tokenizer of p.
func (p pattern) cutter() cutter {
	return cutter{p.name, func(s []byte) (int, bool) { return p.scan(s), false }}
}

func (s *splitting) parseSplit(data json.RawMessage) error {
	var p struct {
		Type    string `json:"type"`
		Pattern struct {
			Regex  *string
			String *string
		} `json:"pattern"`
		Behavior string `json:"behavior"`
		Invert   *bool  `json:"invert"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Invert == nil {
		return errors.New("pre-tokenizer Split has no invert")
	}
	switch regex, text := p.Pattern.Regex, p.Pattern.String; {
	case regex == nil && text == nil || regex != nil && text != nil:
		return errors.New("pre-tokenizer Split has no pattern, or two")
	case regex != nil:
		for _, k := range patterns {
			if k.regex != *regex {
				continue
			}
			// Matches cover every text, so that nothing is between them to keep or drop.
			if p.Behavior != "Isolated" && (p.Behavior != "Removed" || !*p.Invert) {
				return fmt.Errorf("pre-tokenizer Split by a pattern with behavior %.200q, invert %v is %w; supported: \"Isolated\", or \"Removed\" with invert", p.Behavior, *p.Invert, ErrUnsupported)
			}
			s.cuts = append(s.cuts, k.cutter())
			return nil
		}
		var names []string
		for _, k := range patterns {
			names = append(names, k.name)
		}
		return fmt.Errorf("pre-tokenizer Split by the pattern %.300q is %w; supported, by their exact text: those of %s", *regex, ErrUnsupported, strings.Join(names, ", "))
	case *text == "" || *p.Invert:
		return fmt.Errorf("pre-tokenizer Split by the text %.200q with invert %v is %w", *text, *p.Invert, ErrUnsupported)
	default:
		scan := scanLiteral([]byte(*text), p.Behavior)
		if scan == nil {
			return fmt.Errorf("pre-tokenizer Split by a text with behavior %.200q is %w; supported: Isolated, Removed, MergedWithPrevious, MergedWithNext", p.Behavior, ErrUnsupported)
		}
		s.cuts = append(s.cuts, cutter{splitBy + *text, scan})
	}
	return nil
}

func (s *splitting) parsePunctuation(data json.RawMessage) error {
	var p struct {
		Type     string  `json:"type"`
		Behavior *string `json:"behavior"`
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	most := 1
	if p.Behavior != nil && *p.Behavior == "Contiguous" {
		most = 0
	} else if p.Behavior != nil && *p.Behavior != "Isolated" {
		return fmt.Errorf("pre-tokenizer Punctuation with behavior %.200q is %w; supported: Isolated, Contiguous", *p.Behavior, ErrUnsupported)
	}
	is := func(_ category, r rune) bool { return propertyOf(r).flags&isPunct != 0 }
	s.cuts = append(s.cuts, cutter{"Punctuation", scanClass(is, most)})
	return nil
}

func (s *splitting) parseMetaspace(data json.RawMessage, alone bool) error {
	var p spacing
	if err := p.parseMetaspace(data); err != nil {
		return err
	}
	if !alone || p.mark != spaceMark {
		return fmt.Errorf("pre-tokenizer Metaspace in a Sequence, or with another replacement than %q, is %w", spaceMark, ErrUnsupported)
	}
	s.prefix = p.prefix
	s.meta, s.marked = true, true
	if p.split {
		s.cuts = append(s.cuts, cutter{"Metaspace", scanLiteral([]byte(" "), "MergedWithNext")})
	}
	return nil
}

// scanClass scans runs of characters that are of a class and runs of those that are
// not. Of the former at most most stand together, any number when it is 0.
func scanClass(is func(category, rune) bool, most int) func([]byte) (int, bool) {
	return func(s []byte) (n int, drop bool) {
		first := false
		for count := 0; n < len(s); count++ {
			r, size := utf8.DecodeRune(s[n:])
			in := is(categoryOf(r), r)
			if count == 0 {
				first = in
			} else if in != first || in && count == most {
				break
			}
			n += size
		}
		return n, false
	}
}

var scanSpaceRuns = scanClass(func(_ category, r rune) bool { return propertyOf(r).flags&isSpace != 0 }, 0)

// scanWhitespaceSplit scans words between white space, which is dropped.
func scanWhitespaceSplit(s []byte) (n int, drop bool) {
	r, _ := utf8.DecodeRune(s)
	n, _ = scanSpaceRuns(s)
	return n, propertyOf(r).flags&isSpace != 0
}

// scanWords scans \w+|[^\w\s]+; white space between is dropped.
func scanWords(s []byte) (n int, drop bool) {
	kind := func(r rune) uint8 { return propertyOf(r).flags & (isSpace | isWordChar) }
	r, _ := utf8.DecodeRune(s)
	first := kind(r)
	for n < len(s) {
		r, size := utf8.DecodeRune(s[n:])
		if kind(r) != first {
			break
		}
		n += size
	}
	return n, first&isSpace != 0
}

// scanLiteral scans the pieces that a text is cut into at every occurrence of text;
// nil for a behavior that is not known.
func scanLiteral(text []byte, behavior string) func([]byte) (int, bool) {
	next := func(s []byte, from int) int {
		if i := bytes.Index(s[from:], text); i >= 0 {
			return from + i
		}
		return len(s)
	}
	switch behavior {
	case "Isolated", "Removed":
		return func(s []byte) (int, bool) {
			if i := next(s, 0); i > 0 {
				return i, false
			}
			return len(text), behavior == "Removed"
		}
	case "MergedWithPrevious":
		return func(s []byte) (int, bool) { return min(next(s, 0)+len(text), len(s)), false }
	case "MergedWithNext":
		return func(s []byte) (int, bool) {
			if bytes.HasPrefix(s, text) {
				return next(s, len(text)), false
			}
			return next(s, 0), false
		}
	}
	return nil
}
