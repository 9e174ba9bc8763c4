package inhouse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"encbench/bench/collection"
)

// idNames are the names that a query's id goes by.
var idNames = []string{"_id", "id", "query_id", "query-id", "qid"}

// eachQuery visits the lines of JSON lines with their ids; name is for messages.
func eachQuery(r io.Reader, name string, visit func(id string, o map[string]json.RawMessage, place string) error) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("read queries: %w", err)
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			place := fmt.Sprintf("%s:%d", name, number)
			var o map[string]json.RawMessage
			if err := json.Unmarshal(line, &o); err != nil {
				return fmt.Errorf("%s: expected a JSON object: %w", place, err)
			}
			id := ""
			for _, n := range idNames {
				if id = scalar(o[n]); id != "" {
					break
				}
			}
			if id == "" {
				return fmt.Errorf("%s: no id (one of %s)", place, strings.Join(idNames, ", "))
			}
			if err := visit(id, o, place); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// scalar gives a string, number or truth value as text, "" for anything else.
func scalar(v json.RawMessage) string {
	var s string
	switch {
	case len(v) == 0 || string(v) == "null" || v[0] == '{' || v[0] == '[':
		return ""
	case v[0] == '"':
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	}
	return string(v)
}

// ReadQueries reads all queries of JSON lines, labelled or not, with the fields id
// (or another of its usual names) and text: what is to be labelled has no label
// yet, and package collection leaves out queries without. One id with two texts is
// an error, a line given again is not.
func ReadQueries(r io.Reader, name string) ([]collection.Query, error) {
	var out []collection.Query
	type earlier struct{ text, place string }
	seen := map[string]earlier{}
	err := eachQuery(r, name, func(id string, o map[string]json.RawMessage, place string) error {
		text := ""
		for _, n := range []string{"text", "query", "question"} {
			if text = scalar(o[n]); text != "" {
				break
			}
		}
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("%s: query %q has no text", place, id)
		}
		if was, ok := seen[id]; ok {
			if was.text != text {
				return fmt.Errorf("%s: query id %q has another text at %s; give each query an id of its own", place, id, was.place)
			}
			return nil
		}
		seen[id] = earlier{text, place}
		out = append(out, collection.Query{ID: id, Text: text})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no query", name)
	}
	return out, nil
}

// Strata gives the values of a field of the queries, in their order, from their
// JSON lines. A dot in field leads into an object, as in metadata.domain. A query
// without the field is an error.
func Strata(r io.Reader, name string, queries []collection.Query, field string) ([]string, error) {
	of := make(map[string]string, len(queries))
	for _, q := range queries {
		of[q.ID] = ""
	}
	err := eachQuery(r, name, func(id string, o map[string]json.RawMessage, place string) error {
		if _, ok := of[id]; !ok {
			return nil
		}
		value := lookUp(o, field)
		if value == "" {
			have := make([]string, 0, len(o))
			for n := range o {
				have = append(have, n)
			}
			slices.Sort(have)
			return fmt.Errorf("%s: query %q has no field %q to split by; it has %s", place, id, field, strings.Join(have, ", "))
		}
		of[id] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := make([]string, len(queries))
	for i, q := range queries {
		if values[i] = of[q.ID]; values[i] == "" {
			return nil, fmt.Errorf("query %q is not in %s, where its %q was looked for", q.ID, name, field)
		}
	}
	return values, nil
}

func lookUp(o map[string]json.RawMessage, field string) string {
	for {
		outer, rest, nested := strings.Cut(field, ".")
		if !nested {
			return scalar(o[field])
		}
		var inner map[string]json.RawMessage
		if len(o[outer]) == 0 || json.Unmarshal(o[outer], &inner) != nil {
			return ""
		}
		o, field = inner, rest
	}
}
