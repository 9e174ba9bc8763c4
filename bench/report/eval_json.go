package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"encbench/bench/eval"
)

// evalJSON writes the record with lists of plain values on one line each: there are
// as many values as queries.
func evalJSON(buf *bytes.Buffer, r *eval.Record) error {
	var all bytes.Buffer
	enc := json.NewEncoder(&all)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	indentFlat(buf, all.Bytes())
	return nil
}

// indentFlat writes compact JSON as json.Indent would with two spaces, but keeps a
// list without lists or objects inside on one line.
func indentFlat(buf *bytes.Buffer, data []byte) {
	depth := 0
	line := func() {
		buf.WriteByte('\n')
		for range depth {
			buf.WriteString("  ")
		}
	}
	flat, quoted := false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if quoted {
			buf.WriteByte(c)
			switch c {
			case '\\':
				i++
				buf.WriteByte(data[i])
			case '"':
				quoted = false
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
			buf.WriteByte(c)
		case '{', '[':
			buf.WriteByte(c)
			if data[i+1] == c+2 { // "{}" and "[]"
				i++
				buf.WriteByte(data[i])
				continue
			}
			if flat = c == '[' && scalars(data[i+1:]); !flat {
				depth++
				line()
			}
		case '}', ']':
			if !flat {
				depth--
				line()
			}
			flat = false
			buf.WriteByte(c)
		case ',':
			buf.WriteByte(c)
			if flat {
				buf.WriteByte(' ')
			} else {
				line()
			}
		case ':':
			buf.WriteString(": ")
		default:
			buf.WriteByte(c)
		}
	}
}

// scalars says whether the list that continues with data ends before another list
// or an object begins.
func scalars(data []byte) bool {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ']':
			return true
		case '[', '{':
			return false
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}
