package corpus

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateIsReadBack(t *testing.T) {
	text := strings.Repeat("{\"_id\":\"1\",\"text\":\"some text\"}\n", 1000)
	for _, name := range []string{"c.jsonl", "c.jsonl.gz", "c.jsonl.zst"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(got) != text {
			t.Errorf("%s: read back %d bytes, %v; want %d", name, len(got), err, len(text))
		}
	}
}
