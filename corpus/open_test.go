package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts { // one member each
		z := gzip.NewWriter(&b)
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// stdin makes content the standard input of the test.
func stdin(t *testing.T, content []byte) {
	t.Helper()
	f, err := os.Open(write(t, "stdin", content))
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = old; f.Close() })
}

// TestEveryWayInGivesTheSame reads one collection plain, as gzip and zstd of one
// and several members, under right and wrong names, and from standard input.
func TestEveryWayInGivesTheSame(t *testing.T) {
	text := corpusLines(700)
	want, err := Scan(NewJSONL(bytes.NewReader(text), "in", Options{Strict: true}), "", "", nil)
	if err != nil || want.Documents != 700 {
		t.Fatal(want, err)
	}
	half := len(text) / 3
	skippable := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, zstandard(t, text)...)
	for name, content := range map[string][]byte{
		"c.jsonl": text, "plain.jsonl.gz": text, "c.jsonl.gz": gzipped(t, text), "noextension": gzipped(t, text),
		"two.jsonl.gz": gzipped(t, text[:half], text[half:]), "c.jsonl.zst": zstandard(t, text),
		"two.zst": zstandard(t, text[:half], text[half:]), "wrong.jsonl.gz": zstandard(t, text), "skippable.zst": skippable,
	} {
		path := write(t, name, content)
		stdin(t, content)
		for _, path := range []string{path, "-"} {
			s, err := OpenCorpus(path, Options{Strict: true})
			if err != nil {
				t.Errorf("%s as %s: %v", name, path, err)
				continue
			}
			if s.Format() != FormatJSONL {
				t.Errorf("%s as %s: format %s", name, path, s.Format())
			}
			got, err := Scan(s, "", "", nil)
			if got != want || err != nil {
				t.Errorf("%s as %s: %+v, %v, want %+v", name, path, got, err, want)
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil {
				t.Errorf("%s as %s: close: %v", name, path, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := Open(missing)
	wantError(t, err, fs.ErrNotExist, "open input: open "+missing+": no such file or directory")

	dir := t.TempDir()
	_, err = Open(dir)
	wantError(t, err, nil, "open input "+dir+": it is a folder, a file is expected")

	locked := write(t, "locked.jsonl", []byte("x"))
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(locked); err == nil { // root may read anything
		f.Close()
	} else {
		_, err = Open(locked)
		wantError(t, err, fs.ErrPermission, "open input: open "+locked+": permission denied")
	}

	for name, magic := range map[string]string{
		"bzip2": "BZh91AY&SY....", "xz": "\xfd7zXZ\x00....", "lz4": "\x04\x22\x4d\x18....", "zip": "PK\x03\x04....", "7z": "7z\xbc\xaf\x27\x1c....",
	} {
		path := write(t, "c.jsonl", []byte(magic))
		_, err := Open(path)
		wantError(t, err, nil, "open input "+path+": it is compressed with "+name+"; gzip, zstd and plain files are read")
	}
	for _, text := range []string{"BZh is a word", "BZh", "PK", ""} {
		f, err := Open(write(t, "c.txt", []byte(text)))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := io.ReadAll(f); string(got) != text || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		f.Close()
	}
}

func TestDamagedStreams(t *testing.T) {
	text := corpusLines(3000)
	gz, zs := gzipped(t, text), zstandard(t, text)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x55
		return b
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    string // of the error, after the path
	}{
		{"header.gz", gz[:5], "gzip at byte 5 of the file, after 0 unpacked bytes: unexpected EOF"},
		{"cut.gz", gz[:len(gz)/2], "gzip at byte CUT of the file, after N unpacked bytes: unexpected EOF"},
		{"nosum.gz", gz[:len(gz)-3], "gzip at byte CUT of the file, after N unpacked bytes: unexpected EOF"},
		{"badsum.gz", flip(gz, len(gz)-6), "gzip at byte LEN of the file, after N unpacked bytes: gzip: invalid checksum"},
		{"header.zst", zs[:5], "zstd at byte 5 of the file, after 0 unpacked bytes: unexpected EOF"},
		{"cut.zst", zs[:len(zs)/2], "zstd at byte CUT of the file, after N unpacked bytes: unexpected EOF"},
		{"badsum.zst", flip(zs, len(zs)-1), "zstd at byte LEN of the file, after N unpacked bytes: CRC check failed"},
	} {
		path := write(t, c.name, c.content)
		var got error
		n := int64(0)
		f, err := Open(path)
		if err == nil {
			n, got = io.Copy(io.Discard, f)
			f.Close()
		} else {
			got = err
		}
		want := strings.NewReplacer("CUT", fmt.Sprint(len(c.content)), "LEN", fmt.Sprint(len(c.content)), "N", fmt.Sprint(n)).Replace(c.want)
		wantError(t, got, ErrCorrupt, "read "+path+": compressed stream is damaged or cut short: "+want)

		s, err := OpenCorpus(path, Options{Format: FormatJSONL})
		if err != nil {
			wantError(t, err, ErrCorrupt, got.Error())
			continue
		}
		docs, skipped, err := drain(t, s)
		if !errors.Is(err, ErrCorrupt) || skipped.Broken != 0 {
			t.Errorf("%s as a corpus: %d documents, %+v, %v", c.name, len(docs), skipped, err)
		}
	}
}

func TestWhatFollowsGzip(t *testing.T) {
	text := corpusLines(50)
	gz := gzipped(t, text)
	two := gzipped(t, text[:100], text[100:])
	for name, content := range map[string][]byte{
		"zeros": append(bytes.Clone(gz), make([]byte, 3)...), "a block of zeros": append(bytes.Clone(two), make([]byte, 1<<20)...),
		"empty members": append(gzipped(t, nil, text, nil), 0),
	} {
		f, err := Open(write(t, "c.gz", content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(text), err)
		}
		f.Close()
	}
	for _, c := range []struct {
		after string
		at    int // of the file, where the stream ends
	}{
		{"garbage", len(gz)}, {"\x1f", -1}, {"\x1f\x8b", -1}, {"\x1f\x8c", len(gz)}, {"x", len(gz)},
		{"\x00\x00x", len(gz) + 2}, {"\x00" + string(gz), len(gz) + 1},
	} {
		path := write(t, "c.gz", append(bytes.Clone(gz), c.after...))
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if !bytes.Equal(got, text) {
			t.Errorf("%.10q behind: %d bytes of %d", c.after, len(got), len(text))
		}
		is, want := ErrTrailing, fmt.Sprintf("read %s: trailing garbage: the gzip stream is complete at byte %d of the file, after %d unpacked bytes, "+
			"and what follows is neither more of it nor zero bytes; cut it off, or get the file again", path, c.at, len(text))
		if c.at < 0 { // the next member's beginning
			is, want = ErrCorrupt, fmt.Sprintf("read %s: compressed stream is damaged or cut short: gzip at byte %d of the file, after %d unpacked bytes: unexpected EOF",
				path, len(gz)+len(c.after), len(text))
		}
		wantError(t, err, is, want)
		if n, again := f.Read(make([]byte, 10)); n != 0 || again == nil || again.Error() != want {
			t.Errorf("%.10q behind: reading on gives %d bytes, %v", c.after, n, again)
		}
		f.Close()
	}
}

func TestBombs(t *testing.T) {
	zeros := make([]byte, 4<<20)
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for range MaxFree/len(zeros) + 2 {
		g.Write(zeros)
		z.Write(zeros)
	}
	if err := errors.Join(g.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	for kind, content := range map[string][]byte{"gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		path := write(t, "bomb", content)
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, f)
		if n > MaxFree || !errors.Is(err, ErrBomb) {
			t.Fatalf("%s: %d bytes, %v", kind, n, err)
		}
		text := err.Error()
		if !strings.HasPrefix(text, "read "+path+": decompression bomb guard: ") ||
			!strings.HasSuffix(text, ", more than the limit of 200 times; unpack it yourself if it is meant to") {
			t.Errorf("%s: %s", kind, text)
		}
		if again, err := f.Read(zeros); again != 0 || !errors.Is(err, ErrBomb) {
			t.Errorf("%s: reading on gives %d bytes, %v", kind, again, err)
		}
		f.Close()
	}

	// A frame that asks for a window of 4 GiB: magic, descriptor, window, no block.
	path := write(t, "window.zst", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, (32 - 10) << 3, 1, 0, 0})
	f, err := Open(path)
	if err == nil {
		_, err = io.Copy(io.Discard, f)
		f.Close()
	}
	wantError(t, err, ErrBomb, "read "+path+": decompression bomb guard: zstd at byte 6 of the file wants a window larger than the limit of 2 GiB; compress it again with --long=31 or less")

	// One of 2 GiB, as zstd --long=31 writes, is read: it takes no memory that its
	// content does not fill.
	f, err = Open(write(t, "long.zst", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, (31 - 10) << 3, 3<<3 | 1, 0, 0, 'a', 'b', 'c'}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if f.Close(); string(got) != "abc" || err != nil {
		t.Errorf("a window of 2 GiB: %q, %v", got, err)
	}

	// Much of the same is no bomb while it is small.
	small := bytes.Repeat([]byte("a"), 1<<20)
	f, err = Open(write(t, "small.gz", gzipped(t, small)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); !bytes.Equal(got, small) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(gzipped(f, []byte("some text")))
	f.Add(zstandard(f, []byte("some text")))
	f.Add([]byte("plain"))
	f.Add(append(gzipped(f, []byte("some"), []byte("text")), 0, 0))
	f.Add(append(gzipped(f, []byte("some text")), "\x00x"...))
	f.Add([]byte{0x1f, 0x8b})
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18})
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := unpack("in", bytes.NewReader(b))
		if err != nil {
			return
		}
		out, err := io.ReadAll(u)
		p, packed := u.(*unpacker)
		if packed {
			p.close()
		} else if !bytes.Equal(out, b) {
			t.Fatalf("plain %q became %q", b, out)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTrailing) && !errors.Is(err, ErrBomb) {
			t.Fatalf("error of no kind: %v", err)
		}
	})
}
