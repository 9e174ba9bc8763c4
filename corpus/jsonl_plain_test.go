package corpus

import (
	"encoding/json"
	"errors"
)

// parsePlain is the definition of a JSONL document, by encoding/json: what
// parseLine must equal. A line without an id, or with an empty one, has none here
// either: the scanner puts the line number in its place.
func parsePlain(line []byte) (Doc, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return Doc{}, err
	}
	if object == nil {
		return Doc{}, errors.New("null is not an object")
	}
	pick := func(names ...string) json.RawMessage {
		for _, name := range names {
			if v, ok := object[name]; ok && string(v) != "null" {
				return v
			}
		}
		return nil
	}
	var d Doc
	for _, part := range []struct {
		dst      *[]byte
		optional bool
		number   bool
		names    []string
	}{
		{&d.ID, true, true, fieldNames[:titleAt]},
		{&d.Title, true, false, fieldNames[titleAt:textAt]},
		{&d.Text, false, false, fieldNames[textAt:]},
	} {
		raw := pick(part.names...)
		if raw == nil {
			if part.optional {
				continue
			}
			return Doc{}, errors.New("a field is missing")
		}
		if ch := raw[0]; part.number && (ch == '-' || '0' <= ch && ch <= '9') {
			*part.dst = raw
			continue
		}
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return Doc{}, err
		}
		*part.dst = []byte(s)
	}
	return d, nil
}
