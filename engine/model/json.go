package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
)

// readJSON reads a description file into v as decode does. found is false when the
// file does not exist, which is no error.
func readJSON(path string, v any) (found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, plain(err))
	}
	if err := decode(data, v); err != nil {
		return false, fmt.Errorf("read %s: %w: %w", path, ErrConfig, err)
	}
	return true, nil
}

// decode decodes JSON into v, which points to a struct, a list of structs or any
// other value. It is json.Unmarshal but for three things: keys count only as they
// are spelt in the json tags (every other reader of these files tells capitals
// apart), fields without a tag are left alone, and errors say the field, what was
// found and what was expected.
func decode(data []byte, v any) error { return decodeAt("", data, reflect.ValueOf(v).Elem()) }

func decodeAt(path string, data []byte, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Struct:
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			return explained(path, err)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Anonymous {
				if err := decodeAt(path, data, v.Field(i)); err != nil {
					return err
				}
				continue
			}
			name := v.Type().Field(i).Tag.Get("json")
			raw, ok := object[name]
			if name == "" || !ok {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			if err := decodeAt(name, raw, v.Field(i)); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return explained(path, err)
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, raw := range list {
			if err := decodeAt(fmt.Sprintf("%s[%d]", path, i), raw, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return explained(path, json.Unmarshal(data, v.Addr().Interface()))
}

// explained says what an error of encoding/json at path means without its Go types.
func explained(path string, err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		at := path
		switch {
		case kind.Field != "" && at != "":
			at += "." + kind.Field
		case kind.Field != "":
			at = kind.Field
		}
		if at != "" {
			at += ": "
		}
		return fmt.Errorf("%sfound %.60s, expected %s", at, kind.Value, expected(kind.Type))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends early")
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
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	panic("model: no JSON is read into " + t.String())
}

// decodeConfig decodes the part of config.json that one family reads.
func decodeConfig(data []byte, v any) error {
	if err := decode(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}
