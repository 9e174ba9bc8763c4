package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a new folder; a content that begins with "-> " is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDir(t *testing.T) {
	root := tree(t, map[string]string{
		"b.txt": "bee", "a/z.md": "zed", "a/y/deep.txt": "deep", "a.txt": "\xef\xbb\xbfay", "c/empty": "",
		"packed.txt.gz": string(gzipped(t, []byte("packed"))), "B.txt": "upper",
		"image.png": "\x89PNG\x00\x01", "late": strings.Repeat("x", binaryHead) + "\x00",
		".git/config": "hidden", "a/.hidden": "hidden",
		"link.txt": "-> b.txt", "a/up": "-> ..", "dangling": "-> nowhere", "self": "-> self",
	})
	s, err := OpenCorpus(root, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.Format() != FormatDir {
		t.Errorf("format %q", s.Format())
	}
	docs, skipped, err := drain(t, s)
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprintf("%s=%.6s", d.id, d.text))
		if d.title != "" {
			t.Errorf("%s has the title %q", d.id, d.title)
		}
	}
	want := "B.txt=upper a/y/deep.txt=deep a/z.md=zed a.txt=ay b.txt=bee c/empty= late=xxxxxx link.txt=bee packed.txt.gz=packed"
	if strings.Join(got, " ") != want || err != nil {
		t.Errorf("got  %s\nwant %s\n%v", strings.Join(got, " "), want, err)
	}
	if skipped.Broken != 0 || skipped.Binary != 1 || skipped.Hidden != 2 || skipped.Links != 3 {
		t.Errorf("skipped %+v", skipped)
	}

	// A link to the folder itself is followed.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	s, err = OpenCorpus(link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if docs, _, err := drain(t, s); len(docs) != 9 || err != nil {
		t.Errorf("through a link: %d documents, %v", len(docs), err)
	}
}

func TestDirCountsWhatItCannotRead(t *testing.T) {
	gz := gzipped(t, []byte(strings.Repeat("text ", 100)))
	root := tree(t, map[string]string{"a.txt": "first", "b.gz": string(gz[:len(gz)-4]), "c.txt": "toolong", "d.txt": "last", "e.zip": "PK\x03\x04"})
	s, err := OpenDir(root, Options{MaxDocument: 6})
	if err != nil {
		t.Fatal(err)
	}
	docs, skipped, err := drain(t, s)
	if fmt.Sprint(docs) != "[{a.txt  first} {d.txt  last}]" || err != nil {
		t.Errorf("%v, %v", docs, err)
	}
	want := []string{
		fmt.Sprintf("read %s/b.gz: compressed stream is damaged or cut short: gzip at byte %d of the file, after 500 unpacked bytes: unexpected EOF", root, len(gz)-4),
		root + "/c.txt: longer than 6 bytes, the largest document that is read (Options.MaxDocument)",
		"open input " + root + "/e.zip: it is compressed with zip; gzip, zstd and plain files are read",
	}
	if skipped.Broken != int64(len(want)) {
		t.Fatalf("skipped %+v", skipped)
	}
	for i := range want {
		if got := skipped.First[i].Error(); got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}

	s, err = OpenDir(root, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	docs, _, err = drain(t, s)
	wantError(t, err, nil, want[0])
	if len(docs) != 1 {
		t.Errorf("strict: %v", docs)
	}

	_, err = OpenDir(filepath.Join(root, "none"), Options{})
	wantError(t, err, os.ErrNotExist, "open corpus folder: open "+root+"/none: no such file or directory")
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"one\ntwo\n": "one\ntwo\n", "\n": "\n", "\xef\xbb\xbfx": "x"} {
		docs, _, err := drain(t, NewText(&trickle{strings.NewReader(in)}, "some/where.txt", Options{}))
		if len(docs) != 1 || (docs[0] != doc{"where.txt", "", want}) || err != nil {
			t.Errorf("%q: %q, %v", in, docs, err)
		}
	}
	for _, in := range []string{"", "\xef\xbb\xbf"} {
		docs, skipped, err := drain(t, NewText(strings.NewReader(in), "where.txt", Options{Strict: true}))
		if docs != nil || skipped.Broken != 0 || err != nil {
			t.Errorf("%q: %q, %+v, %v, want no document", in, docs, skipped, err)
		}
	}
	docs, skipped, err := drain(t, NewText(strings.NewReader("too long"), "x.txt", Options{MaxDocument: 7}))
	if docs != nil || skipped.Broken != 1 || err != nil {
		t.Errorf("%q, %+v, %v", docs, skipped, err)
	}
	_, _, err = drain(t, NewText(strings.NewReader("too long"), "x.txt", Options{MaxDocument: 7, Strict: true}))
	wantError(t, err, nil, "x.txt: longer than 7 bytes, the largest document that is read (Options.MaxDocument)")
}
