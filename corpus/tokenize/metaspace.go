package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// spacing is how a file of the Unigram family cuts normalised text into words.
type spacing struct {
	cut    cut
	mark   string // stands for a space; "" where there is no Metaspace
	prefix prefix // which pieces get a mark in front, unless they begin with one
	split  bool   // a word begins at every mark
}

// cut says where a text is cut before anything else.
type cut int

const (
	cutNowhere cut = iota
	cutSpaces      // at white space, which is left out (WhitespaceSplit)
	cutWords       // into words of \w and runs of other characters (Whitespace)
)

// prefix is the prepend_scheme of Metaspace.
type prefix int

const (
	prefixNever prefix = iota
	prefixFirst        // only what the text begins with
	prefixAlways
)

// preTokenizers names the types of pre-tokenizer that parseSpacing knows.
const preTokenizers = "Metaspace, Sequence, Whitespace, WhitespaceSplit, or none"

// parseSpacing reads the pre_tokenizer section of a file of the Unigram family.
func parseSpacing(data json.RawMessage) (spacing, error) {
	var s spacing
	if err := s.parse(data); err != nil {
		return s, err
	}
	if s.prefix == prefixFirst && s.cut != cutNowhere {
		// The reference gives a mark to whatever comes from the beginning of the text,
		// which can be several words.
		return s, fmt.Errorf("prepend_scheme \"first\" of Metaspace is %w behind Whitespace or WhitespaceSplit; supported: always, never", ErrUnsupported)
	}
	return s, nil
}

func (s *spacing) parse(data json.RawMessage) error {
	kind, absent, err := section(data)
	if err != nil || absent {
		return err
	}
	if s.mark != "" {
		return fmt.Errorf("%.200q behind Metaspace is %w; supported: Metaspace last", kind, ErrUnsupported)
	}
	switch kind {
	case "Whitespace", "WhitespaceSplit":
		var alone struct {
			Type string `json:"type"`
		}
		if s.cut = max(s.cut, cutSpaces); kind == "Whitespace" {
			s.cut = cutWords
		}
		return strict(data, &alone)
	case "Metaspace":
		return s.parseMetaspace(data)
	case "Sequence":
		var p struct {
			Type string            `json:"type"`
			List []json.RawMessage `json:"pretokenizers"`
		}
		if err := strict(data, &p); err != nil {
			return err
		}
		if p.List == nil {
			return lacks("Sequence", "pretokenizers")
		}
		for i, data := range p.List {
			if isNull(data) {
				return fmt.Errorf("pre-tokenizer %d of the sequence is null", i)
			}
			if err := s.parse(data); err != nil {
				return fmt.Errorf("pre-tokenizer %d of the sequence: %w", i, err)
			}
		}
		return nil
	}
	return unsupported("pre-tokenizer", kind, preTokenizers)
}

func (s *spacing) parseMetaspace(data json.RawMessage) error {
	var p struct {
		Type        string  `json:"type"`
		Replacement *string `json:"replacement"`
		Scheme      *string `json:"prepend_scheme"`
		Split       *bool   `json:"split"`
		Prefix      *bool   `json:"add_prefix_space"` // of old library versions
		Mark        *string `json:"str_rep"`          // of old library versions, a copy of replacement
	}
	if err := strict(data, &p); err != nil {
		return err
	}
	if p.Replacement == nil || utf8.RuneCountInString(*p.Replacement) != 1 {
		return errors.New("replacement of Metaspace must be one character")
	}
	s.mark, s.split = *p.Replacement, p.Split == nil || *p.Split
	s.prefix = prefixAlways
	if p.Scheme != nil {
		switch *p.Scheme {
		case "always":
		case "first":
			s.prefix = prefixFirst
		case "never":
			s.prefix = prefixNever
		default:
			return fmt.Errorf("prepend_scheme %.200q of Metaspace is %w; supported: always, first, never", *p.Scheme, ErrUnsupported)
		}
	}
	if p.Prefix != nil && !*p.Prefix && s.prefix != prefixNever {
		return errors.New("add_prefix_space of Metaspace is false and prepend_scheme is not never: the reference tokenizer refuses that")
	}
	return nil
}
