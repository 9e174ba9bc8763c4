package inhouse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// keySchema is the version of the key's format.
const keySchema = 1

// Key tells which pair each row of a sheet is. It stays with whoever handed out the
// sheet: the labeller needs no ids.
type Key struct {
	Schema     int       `json:"encbench_label_key"`
	Seed       uint64    `json:"seed"`
	Depth      int       `json:"depth"`
	Collection string    `json:"collection"`
	SHA256     string    `json:"collection_sha256"`
	Runs       []Pooled  `json:"runs"` // whose candidates were pooled
	Grades     []float64 `json:"grades"`
	Rows       []KeyRow  `json:"rows"`
}

// KeyRow is one row: its name in the sheet, its ids, and digests of its texts. In
// JSON it is an array of the five.
type KeyRow struct{ Row, Query, Document, QueryCheck, DocumentCheck string }

// MarshalJSON writes an array.
func (r KeyRow) MarshalJSON() ([]byte, error) {
	return json.Marshal([]string{r.Row, r.Query, r.Document, r.QueryCheck, r.DocumentCheck})
}

// UnmarshalJSON reads an array of five.
func (r *KeyRow) UnmarshalJSON(b []byte) error {
	var a []string
	if err := json.Unmarshal(b, &a); err != nil {
		return err
	}
	if len(a) != 5 {
		return fmt.Errorf("a row of %s, expected 5", count(len(a), "field", "fields"))
	}
	*r = KeyRow{a[0], a[1], a[2], a[3], a[4]}
	return nil
}

// Write writes the key, a line for each row.
func (k *Key) Write(w io.Writer) error {
	head := *k
	head.Rows = nil
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	text = append(bytes.TrimSuffix(text, []byte("null}")), '[')
	for i, r := range k.Rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	_, err = w.Write(append(text, "\n]}\n"...))
	return err
}

// IsKey says whether a file that begins with head is a key.
func IsKey(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"encbench_label_key":`)) }

// ReadKey reads a key; name is for messages.
func ReadKey(r io.Reader, name string) (*Key, error) {
	k := &Key{}
	if err := decodeAll(json.NewDecoder(r), k); err != nil {
		return nil, fmt.Errorf("read key %s: %w; expected the file that labels export wrote beside the sheet", name, err)
	}
	if k.Schema != keySchema {
		return nil, fmt.Errorf("read key %s: schema %d, this program knows %d; expected the file that labels export wrote beside the sheet", name, k.Schema, keySchema)
	}
	seen := map[string]bool{}
	for _, row := range k.Rows {
		if seen[row.Row] {
			return nil, fmt.Errorf("read key %s: row %q is there twice", name, row.Row)
		}
		seen[row.Row] = true
	}
	return k, nil
}

// grade reads a label; ok says whether there is one.
func (k *Key) grade(label string) (grade float64, ok bool, err error) {
	label = strings.TrimSpace(label)
	if label == "" {
		return 0, false, nil
	}
	g, err := strconv.ParseFloat(label, 64)
	if err != nil || !slices.Contains(k.Grades, g) {
		return 0, false, fmt.Errorf("label %.40q is none of %s; leave it empty for unjudged", label, k.allowed())
	}
	return g, true, nil
}

func (k *Key) allowed() string {
	var s []string
	for _, g := range k.Grades {
		s = append(s, strconv.FormatFloat(g, 'g', -1, 64))
	}
	return strings.Join(s, ", ")
}
