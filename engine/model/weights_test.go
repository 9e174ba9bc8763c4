package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeWeights writes a safetensors file of a header and data bytes.
func writeWeights(t *testing.T, header string, data int) string {
	t.Helper()
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), make([]byte, data)...)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenWeights(t *testing.T) {
	path := writeWeights(t, `{"__metadata__":{"format":"pt"},
		"b":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},
		"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},
		"none":{"dtype":"F16","shape":[0,7],"data_offsets":[8,8]}}`, 32)
	w, err := OpenWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var names []string
	for _, x := range w.Tensors() {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "a none b" || w.Metadata["format"] != "pt" {
		t.Errorf("tensors %s, metadata %v", got, w.Metadata)
	}
	b, ok := w.Tensor("b")
	if !ok || b.Offset != w.Size-24 || b.Bytes != 24 || shapeText(b.Shape) != "[2, 3]" {
		t.Errorf("tensor b is %+v in a file of %d bytes", b, w.Size)
	}
	if v, err := w.Float32("none"); err != nil || len(v) != 0 {
		t.Errorf("an empty tensor gives %v, %v", v, err)
	}
	for name, want := range map[string]string{
		"a": "read weights PATH: unsupported model: tensor a has dtype I64, needed is one of F32, F16, BF16",
		"c": "read weights PATH: missing tensor: c",
	} {
		if _, err := w.Float32(name); err == nil || strings.ReplaceAll(err.Error(), path, "PATH") != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestOpenWeightsRefuses(t *testing.T) {
	for _, c := range []struct {
		header string
		data   int
		is     error
		want   string
	}{
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7, ErrTruncated,
			"truncated: header says 70 bytes, file has 69; get the file again"},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9, ErrHeader,
			"malformed safetensors header: header says 70 bytes, file has 71: 1 bytes at its end belong to nothing"},
		{`[]`, 0, ErrHeader, "malformed safetensors header: the header is not a JSON object"},
		{``, 0, ErrHeader, "malformed safetensors header: the header is not a JSON object"},
		{`{"a":`, 0, ErrHeader, `malformed safetensors header: tensor "a": the JSON ends early`},
		{`{"a":{},}`, 0, ErrHeader, `malformed safetensors header: tensor "a" lacks dtype, shape or data_offsets`},
		{`{} {}`, 0, ErrHeader, "malformed safetensors header: text after the header's JSON object"},
		{`{"__metadata__":{"format":1}}`, 0, ErrHeader,
			"malformed safetensors header: __metadata__ is not a map of strings: found number, expected a string"},
		{`{"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}}`, 8, ErrDType, `unknown dtype "F31" of tensor "a"`},
		{`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has the impossible shape [-2]`},
		{`{"a":{"dtype":"F32","shape":[2147483647,2147483647,2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has the impossible shape [2147483647 2147483647 2]`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has the impossible data_offsets [8 0]`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[9223372036854775799,9223372036854775807]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has the impossible data_offsets [9223372036854775799 9223372036854775807]`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, ErrHeader,
			`malformed safetensors header: tensor "a" of shape [2] and dtype F32 needs 8 bytes, its data_offsets [0, 4] hold 4`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, ErrHeader,
			`malformed safetensors header: the data of tensor "b" overlap those of tensor "a"`},
		{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12, ErrHeader,
			`malformed safetensors header: 4 bytes between tensor "a" and tensor "b" belong to nothing`},
		{`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, ErrHeader,
			`malformed safetensors header: tensor "a" stands in the header twice`},
		{`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, ErrHeader,
			`malformed safetensors header: 4 bytes between the header and tensor "a" belong to nothing`},
		{`{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a": shape: found number 1.5, expected a whole number`},
		{`{"a":{"dtype":4,"shape":[1],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a": dtype: found number, expected a string`},
		{`{"a":7}`, 0, ErrHeader, `malformed safetensors header: tensor "a": found number, expected an object`},
		{`{"a":{"DType":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" lacks dtype, shape or data_offsets`},
		{`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has 3 data_offsets, must be 2`},
		{`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a" has 9 dimensions, more than 8`},
		{`{"a":{"dtype":"F32","shape":[` + strings.Repeat("1,", 9000) + `2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: what is said of tensor "a" has 18048 bytes, more than 16384`},
		{`{"` + strings.Repeat("n", 4097) + `":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: the name of tensor "` + strings.Repeat("n", 200) + `"… has 4097 bytes, more than 4096`},
		{`{"` + strings.Repeat("n", 4096) + `":{"dtype":"` + strings.Repeat("F", 9000) + `","shape":[2],"data_offsets":[0,8]}}`, 8, ErrDType,
			`unknown dtype "` + strings.Repeat("F", 200) + `" of tensor "` + strings.Repeat("n", 200) + `"`},
		{`{"a\n\u001b[2J":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, ErrHeader,
			`malformed safetensors header: tensor "a\n\x1b[2J" of shape [2] and dtype F32 needs 8 bytes, its data_offsets [0, 4] hold 4`},
		{`{"a":{"dtype":"F32","shape":[` + strings.Repeat("9", 5000) + `],"data_offsets":[0,8]}}`, 8, ErrHeader,
			`malformed safetensors header: tensor "a": shape: found number ` + strings.Repeat("9", 53) + `, expected a whole number`},
	} {
		path := writeWeights(t, c.header, c.data)
		w, err := OpenWeights(path)
		if err == nil {
			w.Close()
			t.Errorf("%.80s: no error", c.header)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), path, "PATH"); got != "read weights PATH: "+c.want || !errors.Is(err, c.is) {
			t.Errorf("%.80s:\n got %s\nwant read weights PATH: %s", c.header, got, c.want)
		}
	}
}

// TestOpenWeightsOfManyTensors refuses a header of millions of empty tensors
// without reading most of it.
func TestOpenWeightsOfManyTensors(t *testing.T) {
	var header strings.Builder
	header.WriteByte('{')
	for i := range maxTensors + 1 {
		if i > 0 {
			header.WriteByte(',')
		}
		fmt.Fprintf(&header, `"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, i)
	}
	for range 1_000_000 { // not even looked at
		header.WriteString(`,"":{}`)
	}
	path := writeWeights(t, header.String()+"}", 0)
	_, err := OpenWeights(path)
	if want := "read weights " + path + ": malformed safetensors header: it names more than 100000 tensors"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestOpenWeightsRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := binary.LittleEndian.AppendUint64(nil, 1<<40)
	for path, want := range map[string]string{
		put("short", []byte("abc"), 0o644): "truncated: a safetensors file has at least 8 bytes, the file has 3; get the file again",
		put("long", append(long, "{}"...), 0o644): "malformed safetensors header: its length is given as 1099511627776 bytes, " +
			"the file has only 2 after the length field; this is no safetensors file, or a damaged one",
		filepath.Join(dir, "none"): "no such file or directory",
		dir:                        "not a regular file",
	} {
		_, err := OpenWeights(path)
		if want := "read weights " + path + ": " + want; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	// Root may read everything, so permissions are no test of it there.
	if path := put("unreadable", nil, 0o000); os.Geteuid() != 0 {
		if _, err := OpenWeights(path); err == nil || err.Error() != "read weights "+path+": permission denied" {
			t.Errorf("unreadable file: %v", err)
		}
	}
}

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		bits uint16
		want float32
	}{
		{0x0000, 0}, {0x3c00, 1}, {0xc000, -2}, {0x7bff, 65504}, {0x0400, 1.0 / (1 << 14)},
		{0x0001, 1.0 / (1 << 24)}, {0x83ff, -1023.0 / (1 << 24)}, {0x3555, 0.333251953125},
		{0x7c00, float32(math.Inf(1))}, {0xfc00, float32(math.Inf(-1))},
	} {
		if got := half(c.bits); got != c.want {
			t.Errorf("half(%#04x) = %v, want %v", c.bits, got, c.want)
		}
	}
	if v := half(0x8000); v != 0 || !math.Signbit(float64(v)) {
		t.Errorf("half(0x8000) = %v, want -0", v)
	}
	if v := half(0x7e01); v == v {
		t.Errorf("half(0x7e01) = %v, want NaN", v)
	}
}

func TestWiden(t *testing.T) {
	got := make([]float32, 2)
	for d, src := range map[DType][]byte{
		F32:  {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0},
		F16:  {0, 0x3e, 0, 0xc0},
		BF16: {0xc0, 0x3f, 0, 0xc0},
	} {
		widen(got, src, d)
		if got[0] != 1.5 || got[1] != -2 {
			t.Errorf("%s gives %v, want [1.5 -2]", d, got)
		}
	}
}

// FuzzHeader checks that no header makes the parser panic or hand out a tensor
// whose place contradicts its shape.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		`{}`, `[`, `{"a":`, `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`,
		`{"__metadata__":{"k":"v"},"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}}`,
		`{"a":{"dtype":"F32","shape":[2147483647,2147483647,9],"data_offsets":[0,9223372036854775807]}}`,
	} {
		f.Add([]byte(s), int64(8))
	}
	f.Fuzz(func(t *testing.T, header []byte, base int64) {
		base = base&math.MaxInt32 + 8
		tensors, _, err := parseHeader(header, base)
		if err != nil {
			return
		}
		end := base
		for _, x := range tensors {
			if x.Offset != end || x.Bytes != elements(x.Shape)*dtypeBytes[x.DType] || x.Bytes < 0 {
				t.Fatalf("tensor %+v after byte %d", x, end)
			}
			end += x.Bytes
		}
	})
}
