package corpus

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

func TestUnpack(t *testing.T) {
	const text = "a line\nand another\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{"plain": text, "gzip": packed.String()} {
		r, err := Unpack(strings.NewReader(in), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != text || r.Close() != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	const want = "open input x: it is compressed with zip; gzip, zstd and plain files are read"
	if _, err := Unpack(strings.NewReader("PK\x03\x04 and so on"), "x"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
