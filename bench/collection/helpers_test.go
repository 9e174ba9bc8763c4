package collection

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes files, given as "name\ncontent" with name relative, into a folder
// called set.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "set")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, content, _ := strings.Cut(f, "\n")
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// dump writes a collection as text: name, queries with their judgements, documents,
// notes.
func dump(t *testing.T, c *Collection) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]\n", c.Name, c.Layout)
	for i, q := range c.Queries {
		fmt.Fprintf(&b, "%s %q", q.ID, q.Text)
		if q.Instruction != "" {
			fmt.Fprintf(&b, " instruction %q", q.Instruction)
		}
		if q.Group != "" {
			fmt.Fprintf(&b, " group %s", q.Group)
		}
		if got := c.Qrels.Query(i); got != q.ID {
			t.Errorf("judgements %d are of %s, the query is %s", i, got, q.ID)
		}
		docs, grades := c.Qrels.Judged(i)
		for k, d := range docs {
			fmt.Fprintf(&b, " %s=%g", d, grades[k])
		}
		b.WriteByte('\n')
	}
	for i, d := range texts(t, c) {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(d)
	}
	b.WriteByte('\n')
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String()
}

// texts gives "id: text" of each document, and checks what is counted of them.
func texts(t *testing.T, c *Collection) (list []string) {
	t.Helper()
	s, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	for s.Scan() {
		d := s.Doc()
		list = append(list, fmt.Sprintf("%s: %s", d.ID, strings.ReplaceAll(string(d.AppendText(nil)), "\n", "/")))
	}
	if s.Err() != nil || s.Scan() || s.Doc().ID != nil {
		t.Errorf("after the last document: error %v, document %q", s.Err(), s.Doc().ID)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(list) != c.Documents || int64(len(list)) != c.Corpus.Documents {
		t.Errorf("%d documents, counted %d and %d", len(list), c.Documents, c.Corpus.Documents)
	}
	return list
}

// open opens a collection that must be intact.
func open(t *testing.T, path string, opt Options) *Collection {
	t.Helper()
	c, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
