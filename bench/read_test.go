package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRecords(t *testing.T) {
	one, err := json.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	s := string(one)
	for name, c := range map[string]struct {
		content string
		n       int
	}{
		"object":         {s, 1},
		"spaced object":  {"\n  " + s + "\n\n", 1},
		"array":          {"[" + s + ",\n" + s + "]", 2},
		"lines":          {s + "\n" + s + "\n" + s + "\n", 3},
		"unknown fields": {`{"of_tomorrow": {"a": [1]}, ` + s[1:], 1},
	} {
		recs, err := ReadRecords(write(t, c.content))
		if err != nil || len(recs) != c.n {
			t.Errorf("%s: %d records, %v, want %d", name, len(recs), err, c.n)
			continue
		}
		for _, r := range recs {
			if !reflect.DeepEqual(r, good()) {
				t.Errorf("%s: a record does not read back as written", name)
			}
		}
	}
	if _, err := ReadRecord(write(t, s)); err != nil {
		t.Error(err)
	}
}

// bare is the least that a record holds.
const bare = `{"schema": 1, "protocol": {"chunk": 512, "batch": 128}}`

func TestReadRecordErrors(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"", "read record PATH: it holds no record"},
		{"{\"schema\": 1,\n  \"model\": {\"name\" \"x\"}}", "read record PATH:2:20: invalid character '\"' after object key"},
		{bare + "\n{\"schema\": 1,}\n", "read record PATH:2:14: invalid character '}' looking for beginning of object key string"},
		{"[{\"schema\": 1},\n {\"schema\": 1]", "read record PATH:2:14: invalid character ']' after object key:value pair"},
		{"{\"schema\": 1,\n \"model\": {", "read record PATH:2:12: the file ends in the middle of a record; it was cut off"},
		{"{\"schema\": 1,\n \"model\": {\"layers\": \"six\"}}", "read record PATH:2:26: field \"model.layers\" is a JSON string, expected int"},
		{bare + "\n{\"schema\": 1, \"status\": 3}", "read record PATH:2:25: field \"status\" is a JSON number, expected string"},
		{bare + "\n " + strings.Replace(bare, "512", "0", 1), "read record PATH:2:2: field \"protocol.chunk\" is 0 or absent, expected the tokens of a chunk; the record is not whole, measure again"},
		{"{\"schema\": 7}", "read record PATH: schema 7 is newer than 1, the newest this encbench knows; use the encbench that wrote it, or a later one"},
		{"{\"schema\": 0}", "read record PATH: schema 0, expected 1 to 1"},
		{"{\"a\": 1}", "read record PATH: no field \"schema\": this is not a record of encbench speed"},
		{"3", "read record PATH:1:1: found a JSON number, expected an object"},
		{"[" + bare + ", " + bare + "]", "read record PATH: it holds 2 records, expected 1; write each to a file of its own"},
	} {
		path := write(t, c.content)
		_, err := ReadRecord(path)
		want := strings.ReplaceAll(c.want, "PATH", path)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.content, err, want)
		}
	}
	if _, err := ReadRecord(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json: no such file") {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzDecodeRecords(f *testing.F) {
	for _, s := range []string{"", "{", "[]", "[[]]", "null", "{\"schema\":1}", "[{\"schema\":1},{\"schema\":1,\"samples\":[{}]}]", "{\"schema\":1}\n{\"schema\":9}", "{\"schema\":1,\"rates\":3}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		recs, err := decodeRecords("r.json", data)
		if (err == nil) != (len(recs) > 0) {
			t.Errorf("%d records and error %v", len(recs), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "r.json:") {
			t.Errorf("the error names no file: %v", err)
		}
		for _, r := range recs {
			if r.Schema != SchemaVersion {
				t.Errorf("a record of schema %d was read", r.Schema)
			}
		}
	})
}
