package tokenize

import (
	"encoding/json"
	"fmt"
)

// parsePost reads the post-processor, which says where the special tokens go.
//
// added holds the ids of the tokens that are not in the vocabulary.
func (c *core) parsePost(data json.RawMessage, added map[string]int32) (Template, error) {
	list, err := sequence(data, "processors")
	if err != nil {
		return Template{}, err
	}
	t := Template{
		Single: []Piece{{Text: 'A'}},
		Pair:   []Piece{{Text: 'A'}, {Text: 'B', Type: 1}},
	}
	before := ""
	for _, p := range list {
		kind, _, err := section(p)
		switch {
		case err != nil:
			return Template{}, err
		case kind == "ByteLevel":
			var offsets byteLevelOptions // are all that it is about
			if err := strict(p, &offsets); err != nil {
				return Template{}, err
			}
			continue
		case before != "":
			return Template{}, fmt.Errorf("%s behind %s is %w; supported: one of them, ByteLevel beside it", kind, before, ErrUnsupported)
		}
		switch before = kind; kind {
		case "TemplateProcessing":
			t, err = c.parseTemplate(p)
		case "BertProcessing", "RobertaProcessing":
			t, err = c.parseClassic(p, kind, added)
		default:
			err = unsupported("post-processor", kind, "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence of these, or none")
		}
		if err != nil {
			return Template{}, err
		}
	}
	return t, nil
}

// parseClassic reads the two post-processors that have their template built in.
func (c *core) parseClassic(data json.RawMessage, kind string, added map[string]int32) (Template, error) {
	var p struct {
		Type   string `json:"type"`
		Sep    *named `json:"sep"`
		Cls    *named `json:"cls"`
		Trim   bool   `json:"trim_offsets"`     // offsets only
		Prefix bool   `json:"add_prefix_space"` // offsets only
	}
	if err := strict(data, &p); err != nil {
		return Template{}, err
	}
	if p.Sep == nil || p.Cls == nil {
		return Template{}, fmt.Errorf("%s has no sep or no cls", kind)
	}
	for _, n := range []*named{p.Sep, p.Cls} {
		id := c.first(added, n.name)
		if id < 0 {
			return Template{}, fmt.Errorf("special token %.200q is neither in the vocabulary nor an added token", n.name)
		}
		if id != n.id {
			return Template{}, fmt.Errorf("special token %.200q has id %d here and %d in the vocabulary", n.name, n.id, id)
		}
	}
	cls, sep := Piece{ID: p.Cls.id}, Piece{ID: p.Sep.id}
	a, b, sepB := Piece{Text: 'A'}, Piece{Text: 'B', Type: 1}, Piece{ID: p.Sep.id, Type: 1}
	t := Template{Single: []Piece{cls, a, sep}, Pair: []Piece{cls, a, sep, b, sepB}}
	if kind == "RobertaProcessing" {
		t.Pair = []Piece{cls, a, sep, sep, {Text: 'B'}, sep}
	}
	return t, nil
}

// named is ["[SEP]", 102].
type named struct {
	name string
	id   int32
}

func (n *named) UnmarshalJSON(data []byte) error {
	var pair []json.RawMessage
	if json.Unmarshal(data, &pair) != nil || len(pair) != 2 || isNull(pair[0]) || isNull(pair[1]) ||
		json.Unmarshal(pair[0], &n.name) != nil || json.Unmarshal(pair[1], &n.id) != nil {
		return fmt.Errorf("found %s, expected a token and its id, as in [\"[SEP]\", 102]", shown(data))
	}
	return nil
}

func (c *core) parseTemplate(data json.RawMessage) (Template, error) {
	var p struct {
		Type    string          `json:"type"`
		Single  []templatePiece `json:"single"`
		Pair    []templatePiece `json:"pair"`
		Special map[string]struct {
			ID     string   `json:"id"`
			IDs    []int32  `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if err := strict(data, &p); err != nil {
		return Template{}, err
	}
	build := func(name string, list []templatePiece, wantA, wantB int) ([]Piece, error) {
		var pieces []Piece
		var a, b int
		for i, e := range list {
			switch {
			case e.Sequence != nil && e.SpecialToken == nil:
				if e.Sequence.ID == "A" {
					a++
				} else if e.Sequence.ID == "B" {
					b++
				} else {
					return nil, fmt.Errorf("%s piece %d is sequence %q: must be A or B", name, i, e.Sequence.ID)
				}
				pieces = append(pieces, Piece{Text: e.Sequence.ID[0], Type: e.Sequence.Type})
			case e.SpecialToken != nil && e.Sequence == nil:
				s, ok := p.Special[e.SpecialToken.ID]
				if !ok {
					return nil, fmt.Errorf("%s piece %d is %q, which is not in special_tokens", name, i, e.SpecialToken.ID)
				}
				for _, id := range s.IDs {
					if err := c.inRange(e.SpecialToken.ID, id); err != nil {
						return nil, err
					}
					pieces = append(pieces, Piece{ID: id, Type: e.SpecialToken.Type})
				}
			default:
				return nil, fmt.Errorf("%s piece %d is neither a special token nor a sequence", name, i)
			}
		}
		if a != wantA || b != wantB {
			return nil, fmt.Errorf("%s template holds sequence A %d times and B %d times, expected %d and %d", name, a, b, wantA, wantB)
		}
		return pieces, nil
	}
	single, err := build("single", p.Single, 1, 0)
	if err != nil {
		return Template{}, err
	}
	pair, err := build("pair", p.Pair, 1, 1)
	return Template{Single: single, Pair: pair}, err
}

type templatePiece struct {
	SpecialToken, Sequence *struct {
		ID   string `json:"id"`
		Type uint8  `json:"type_id"`
	}
}

func (c *core) inRange(name string, id int32) error {
	if id < 0 || int(id) >= c.size {
		return fmt.Errorf("special token %q has id %d, outside 0 to %d", name, id, c.size-1)
	}
	return nil
}
