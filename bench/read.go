package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadRecord reads the one record of the file at path. See ReadRecords.
func ReadRecord(path string) (*Record, error) {
	recs, err := ReadRecords(path)
	if err != nil {
		return nil, err
	}
	if len(recs) != 1 {
		return nil, fmt.Errorf("read record %s: it holds %d records, expected 1; write each to a file of its own", path, len(recs))
	}
	return recs[0], nil
}

// ReadRecords reads the records of the file at path: one JSON object, an array
// of them, or one a line. It is strict about the schema number, since a newer
// schema may have given a field another meaning, and lets unknown fields pass. A
// record without a protocol, with samples that no run gives, or with rates that
// are not those of its samples is an error. Its errors name the file and the
// field or, for broken JSON, line and column.
func ReadRecords(path string) ([]*Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	recs, err := decodeRecords(path, data)
	if err != nil {
		return nil, fmt.Errorf("read record %w", err)
	}
	return recs, nil
}

func decodeRecords(path string, data []byte) ([]*Record, error) {
	var recs []*Record
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		start := dec.InputOffset()
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, place(path, data, start, err)
		}
		start = dec.InputOffset() - int64(len(raw))
		one := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &one); err != nil {
				return nil, place(path, data, start, err)
			}
		}
		for _, r := range one {
			// An element's bytes are those of the file, so its place can be found.
			at := start + int64(bytes.Index(data[start:], r))
			rec, err := decodeRecord(path, data, r, at)
			if err != nil {
				return nil, err
			}
			recs = append(recs, rec)
			start = at + int64(len(r))
		}
	}
	if len(recs) == 0 {
		return nil, fmt.Errorf("%s: it holds no record", path)
	}
	return recs, nil
}

// decodeRecord decodes raw, which lies at offset at of data.
func decodeRecord(path string, data, raw []byte, at int64) (*Record, error) {
	// The schema first: another schema's fields may not even decode.
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, place(path, data, at, err)
	}
	switch {
	case head.Schema == nil:
		return nil, fmt.Errorf("%s: no field \"schema\": this is not a record of encbench speed", path)
	case *head.Schema > SchemaVersion:
		return nil, fmt.Errorf("%s: schema %d is newer than %d, the newest this encbench knows; use the encbench that wrote it, or a later one", path, *head.Schema, SchemaVersion)
	case *head.Schema < 1:
		return nil, fmt.Errorf("%s: schema %d, expected 1 to %d", path, *head.Schema, SchemaVersion)
	}
	rec := new(Record)
	if err := json.Unmarshal(raw, rec); err != nil {
		return nil, place(path, data, at, err)
	}
	if err := rec.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", spot(path, data, at), err)
	}
	return rec, nil
}

// place puts file, line and column before an error of encoding/json, whose
// offsets count from base.
func place(path string, data []byte, base int64, err error) error {
	offset := int64(len(data))
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		// A decoder counts over the whole input, Unmarshal over what it was given;
		// both name the byte after the offending one.
		offset = syntax.Offset - 1
	case errors.As(err, &kind):
		offset = base + kind.Offset - 1
		if kind.Field == "" {
			err = fmt.Errorf("found a JSON %s, expected an object", kind.Value)
		} else {
			err = fmt.Errorf("field %q is a JSON %s, expected %s", kind.Field, kind.Value, kind.Type)
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the file ends in the middle of a record; it was cut off")
	}
	return fmt.Errorf("%s: %w", spot(path, data, offset), err)
}

// JSONError puts file, line and column before an error of encoding/json that came
// of unmarshalling data, the whole file at path.
func JSONError(path string, data []byte, err error) error { return place(path, data, 0, err) }

// spot writes an offset of data as file, line and column.
func spot(path string, data []byte, offset int64) string {
	offset = max(0, min(offset, int64(len(data))))
	line := 1 + bytes.Count(data[:offset], []byte{'\n'})
	column := int(offset) - bytes.LastIndexByte(data[:offset], '\n')
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}

// ReadResult reads a committed comparison (see Result). Unknown fields are an
// error: a misspelt "bar" must not pass as a row without one.
func ReadResult(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	res := new(Result)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(res); err != nil {
		return nil, fmt.Errorf("read result %w", place(path, data, 0, err))
	}
	if res.Title == "" || res.Command == "" || res.Commit == "" || res.Machine == "" || len(res.Rows)+len(res.Means) == 0 {
		return nil, fmt.Errorf("read result %s: title, command, commit, machine and rows or means are required", path)
	}
	for i := range res.Rows {
		if err := res.Rows[i].Validate(); err != nil {
			return nil, fmt.Errorf("read result %s: %w", path, err)
		}
	}
	for i := range res.Means {
		if err := res.Means[i].Validate(); err != nil {
			return nil, fmt.Errorf("read result %s: %w", path, err)
		}
	}
	return res, nil
}
