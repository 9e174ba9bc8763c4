package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// strict decodes one JSON value into v and refuses fields that v does not know,
// spelt exactly, and fields that come twice: another reader may take those
// otherwise.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(v); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the JSON ends early, after %d bytes (a truncated file?)", len(data))
	case err != nil:
		return explained(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more text follows the JSON value, at byte %d", d.InputOffset())
	}
	return exactly(data, reflect.TypeOf(v))
}

// wellFormed refuses what encoding/json reads as U+FFFD without a word, and the
// reference not at all: bytes that are not UTF-8, and halves of surrogate pairs. data
// is valid JSON.
func wellFormed(data []byte) error {
	if !utf8.Valid(data) {
		at := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(data[at:]) {
			at += size
		}
		return fmt.Errorf("byte %d is %#02x, which is not UTF-8", at, data[at])
	}
	unit := func(at int) rune { // of UTF-16, escaped at at; -1 where there is none
		if at+6 > len(data) || data[at] != '\\' || data[at+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(data[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\\')
		if i < 0 {
			return nil
		}
		at += i
		switch r := unit(at); {
		case r < 0:
			at += 2
		case !utf16.IsSurrogate(r):
			at += 6
		case utf16.DecodeRune(r, unit(at+6)) == utf8.RuneError:
			return fmt.Errorf("%s at byte %d is half of a surrogate pair", data[at:at+6], at)
		default:
			at += 12
		}
	}
}

// exactly compares the keys in data, which was decoded into a value of type t, with
// the fields of t. encoding/json does not mind their capitals.
func exactly(data json.RawMessage, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || isNull(data) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return members(data, func(_ string, value json.RawMessage) error { return exactly(value, t.Elem()) })
	case reflect.Struct:
	default:
		return nil
	}
	var names []string
	var types []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		if name == "" {
			name = f.Name
		}
		names, types = append(names, name), append(types, f.Type)
	}
	seen := make([]bool, len(names))
	return members(data, func(key string, value json.RawMessage) error {
		i := slices.Index(names, key)
		if i < 0 {
			return fmt.Errorf("unknown field %.200q; known are %s", key, strings.Join(names, ", "))
		}
		if seen[i] {
			return fmt.Errorf("field %q stands there twice", key)
		}
		seen[i] = true
		return exactly(value, types[i])
	})
}

// members calls visit for every member of an object, or element of a list, in data,
// which is valid JSON.
func members(data json.RawMessage, visit func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	open, err := d.Token()
	for err == nil && d.More() {
		var key json.Token = ""
		if open == json.Delim('{') {
			if key, err = d.Token(); err != nil {
				break
			}
		}
		var value json.RawMessage
		if err = d.Decode(&value); err == nil {
			err = visit(key.(string), value)
		}
	}
	return err
}

// explained says what an error of encoding/json means without its Go types.
func explained(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		field := ""
		if kind.Field != "" {
			field = kind.Field + ": "
		}
		return fmt.Errorf("%sfound %.60s, expected %s", field, kind.Value, expected(kind.Type))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// expected names the JSON that a Go type is read from.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "a whole number"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Uint8:
		return "a whole number from 0 to 255"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
