package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"encbench/engine"
)

// values gives n numbers that tell their place.
func values(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i) - 2.5
	}
	return v
}

// raw gives n elements of a type, any bits.
func raw(n int, t engine.Elem) []byte {
	b := make([]byte, n*Size(t))
	for i := range b {
		b[i] = byte(i*37 + 11)
	}
	return b
}

func rowsOf(b []byte, dim int, t engine.Elem) engine.Rows {
	return engine.Rows{N: len(b) / dim / Size(t), Dim: dim, Stride: dim, Type: t, Host: b, Device: -1}
}

// all reads a file to its end.
func all(file []byte, opt Options) (data []byte, ids []string, r *Reader, err error) {
	r, err = NewReader(bytes.NewReader(file), "x", opt)
	if err != nil {
		return nil, nil, nil, err
	}
	for {
		var rows engine.Rows
		if err = r.Next(&rows); err != nil {
			if err == io.EOF {
				err = nil
			}
			return data, ids, r, err
		}
		if rows.N < 1 || rows.Dim != r.Info().Dim || rows.Stride != rows.Dim || rows.Device != -1 || len(rows.Host) != rows.N*rows.Dim*Size(rows.Type) {
			return nil, nil, nil, fmt.Errorf("block %+v", rows)
		}
		data = append(data, rows.Host...)
		for i := range rows.N {
			if id := r.ID(i); id != nil {
				ids = append(ids, string(id))
			}
		}
	}
}

func npyFile(t testing.TB, data []byte, dim int, elem engine.Elem) []byte {
	t.Helper()
	rows := rowsOf(data, dim, elem)
	var out bytes.Buffer
	w, err := NewNPYWriter(&out, int64(rows.N), dim, elem)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// safetensorsFile lays tensors out one behind another.
func safetensorsFile(header string, data ...[]byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	out = append(out, header...)
	return append(out, bytes.Join(data, nil)...)
}

func ebvecFile(t testing.TB, h Header, ids []string, blocks ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	elem, _ := parseType(h.Type)
	for _, b := range blocks {
		rows := rowsOf(b, h.Dim, elem)
		var id func(int) []byte
		if h.IDs {
			mine := ids[:rows.N]
			ids = ids[rows.N:]
			id = func(i int) []byte { return []byte(mine[i]) }
		}
		if err := w.Write(rows, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNPY(t *testing.T) {
	for _, elem := range []engine.Elem{engine.F32, engine.F16} {
		for _, rows := range []int{0, 1, 7} {
			want := raw(3*rows, elem)
			file := npyFile(t, want, 3, elem)
			if begin := len(file) - len(want); begin%64 != 0 {
				t.Errorf("the data begin at byte %d", begin)
			}
			for _, block := range []int{0, 1, 3, 100} {
				got, ids, r, err := all(file, Options{BlockRows: block})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) || ids != nil {
					t.Errorf("%d rows in blocks of %d: %x, want %x", rows, block, got, want)
				}
				if info := r.Info(); info != (Info{Format: "npy", Rows: int64(rows), Dim: 3, Type: elem}) {
					t.Errorf("info %+v", info)
				}
			}
		}
	}
	// Versions 2 and 3 have a longer length.
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n"
	file := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(header)))...)
	file = append(append(file, header...), raw(2, engine.F32)...)
	if got, _, _, err := all(file, Options{}); err != nil || !bytes.Equal(got, raw(2, engine.F32)) {
		t.Errorf("version 2: %x, %v", got, err)
	}
}

func TestSafetensors(t *testing.T) {
	a, b, c := raw(6, engine.F32), raw(4, engine.BF16), raw(2, engine.F16)
	file := safetensorsFile(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},`+
		`"b":{"dtype":"BF16","shape":[1,4],"data_offsets":[24,32]},"c":{"dtype":"F16","shape":[2],"data_offsets":[32,36]}}`, a, b, c)
	for name, want := range map[string]struct {
		data []byte
		info Info
	}{
		"a": {a, Info{Format: "safetensors", Tensor: "a", Rows: 2, Dim: 3, Type: engine.F32}},
		"b": {b, Info{Format: "safetensors", Tensor: "b", Rows: 1, Dim: 4, Type: engine.BF16}},
	} {
		got, _, r, err := all(file, Options{Tensor: name})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.data) || r.Info() != want.info {
			t.Errorf("%s: %x, %+v", name, got, r.Info())
		}
	}
	one := safetensorsFile(`{"e":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"n":{"dtype":"I64","shape":[1],"data_offsets":[4,12]}}`, c, raw(2, engine.F32))
	if got, _, _, err := all(one, Options{}); err != nil || !bytes.Equal(got, c) {
		t.Errorf("the only matrix: %x, %v", got, err)
	}
}

func TestEBVEC(t *testing.T) {
	for _, elem := range []engine.Elem{engine.F32, engine.F16, engine.BF16} {
		for _, ids := range [][]string{nil, {"a", "", "ccc", "d", "e"}} {
			h := Header{Dim: 4, Type: TypeName(elem), IDs: ids != nil, Model: "m", ModelSHA256: "1", Corpus: "c", CorpusSHA256: "2", Notes: []string{"n"}}
			want := raw(20, elem)
			cut := 8 * Size(elem)
			file := ebvecFile(t, h, ids, want[:cut], nil, want[cut:])
			got, names, r, err := all(file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) || !slices.Equal(names, ids) {
				t.Errorf("%x %q, want %x %q", got, names, want, ids)
			}
			h.Schema = 1
			if info := r.Info(); fmt.Sprint(*info.Header) != fmt.Sprint(h) || info.Rows != 5 || info.Type != elem || info.Format != "ebvec" {
				t.Errorf("info %+v, header %+v", info, info.Header)
			}
			// A file that was cut off, or changed, is never taken for whole; the blocks
			// before come.
			for n := range file {
				if _, _, _, err := all(file[:n], Options{}); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
					t.Fatalf("%d of %d bytes: %v", n, len(file), err)
				}
				broken := slices.Clone(file)
				broken[n] ^= 0x20
				if _, _, _, err := all(broken, Options{}); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
					t.Fatalf("byte %d of %d changed: %v", n, len(file), err)
				}
			}
			if got, _, _, err := all(file[:len(file)-30], Options{}); err == nil || !bytes.Equal(got, want[:cut]) {
				t.Errorf("cut off: %x, %v", got, err)
			}
		}
	}
}

// Rows that lie apart are written without the gaps.
func TestStride(t *testing.T) {
	rows := engine.HostRows(values(12), 4)
	rows.Dim, rows.N = 3, 3
	want := engine.HostRows([]float32{-2.5, -1.5, -.5, 1.5, 2.5, 3.5, 5.5, 6.5, 7.5}, 3).Host
	var npy, ebvec bytes.Buffer
	w, err := NewNPYWriter(&npy, 3, 3, engine.F32)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewWriter(&ebvec, Header{Dim: 3, Type: "float32"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rows), w.Close(), v.Write(rows, nil), v.Close()); err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{npy.Bytes(), ebvec.Bytes()} {
		if got, _, _, err := all(file, Options{}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%x, %v; want %x", got, err, want)
		}
	}
}

func TestHitsNPY(t *testing.T) {
	var h engine.Hits
	h.Reset(2, 2)
	h.Row[0], h.Score[0] = 7, 0.5
	h.Row[2], h.Score[2] = 1, -1
	var out bytes.Buffer
	if err := WriteHitsNPY(&out, &h); err != nil {
		t.Fatal(err)
	}
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': [('row', '<i8'), ('score', '<f4')], 'fortran_order': False, 'shape': (2, 2), }"
	want += strings.Repeat(" ", 127-len(want)) + "\n"
	for i, row := range h.Row {
		want += string(binary.LittleEndian.AppendUint64(nil, uint64(row))) + string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(h.Score[i])))
	}
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	if err := WriteHitsNPY(&out, &engine.Hits{K: 3}); err != nil || out.Len() != 128 {
		t.Errorf("no queries: %d bytes, %v", out.Len(), err)
	}
}

func TestReaderRefuses(t *testing.T) {
	npy := func(descr, order, shape string, data int) []byte {
		text := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
		out := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0)
		return append(append(out, text...), make([]byte, data)...)
	}
	tensors := func(header string, n int) []byte { return safetensorsFile(header, make([]byte, n)) }
	ebvec := ebvecFile(t, Header{Dim: 2, Type: "float32"}, nil, raw(4, engine.F32))
	block := bytes.Index(ebvec, []byte{2, 0, 0, 0, 11})
	changed := slices.Clone(ebvec)
	changed[block+5] ^= 1
	for name, c := range map[string]struct {
		file   []byte
		tensor string
		want   string
	}{
		"empty":      {nil, "", `read x: not a readable file of vectors: it is empty`},
		"text":       {[]byte("0.1 0.2 0.3"), "", `read x: not a readable file of vectors: it starts with "0.1 0.2 0"; .npy, .safetensors and .ebvec are read`},
		"float64":    {npy("'<f8'", "False", "(1, 2)", 16), "", `read x: not a readable file of vectors: elements are <f8 (float64), want <f4 or <f2; rounding them is yours to do: save with .astype("float32")`},
		"integers":   {npy("'<i4'", "False", "(1, 2)", 8), "", `read x: not a readable file of vectors: elements are <i4, want <f4 or <f2; save with .astype("float32")`},
		"big endian": {npy("'>f4'", "False", "(1, 2)", 8), "", `read x: not a readable file of vectors: elements are >f4, want <f4 or <f2; save with .astype("float32")`},
		"records":    {npy("[('a', '<f4')]", "False", "(1, 2)", 8), "", `read x: not a readable file of vectors: .npy header "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2), }\n" has no simple element type, want <f4 or <f2`},
		"fortran":    {npy("'<f4'", "True", "(1, 2)", 8), "", `read x: not a readable file of vectors: its matrix lies in column order, want row order; save with numpy.ascontiguousarray`},
		"one":        {npy("'<f4'", "False", "(2,)", 8), "", `read x: not a readable file of vectors: shape (2,), want two dimensions, rows and values`},
		"no values":  {npy("'<f4'", "False", "(2, 0)", 0), "", `read x: not a readable file of vectors: shape 2 × 0, want up to 1099511627776 rows of 1 to 1048576 values`},
		"no shape":   {append([]byte("\x93NUMPY\x01\x00\x02\x00"), "{}"...), "", `read x: damaged file of vectors: .npy header "{}", want descr, fortran_order and shape`},
		"version":    {[]byte("\x93NUMPY\x09\x00\x02\x00{}"), "", `read x: not a readable file of vectors: .npy version 9.0, want 1 to 3`},
		"short head": {[]byte("\x93NUMPY\x01\x00\x20\x00{}"), "", `read x: .npy header: damaged file of vectors: it ends there`},
		"short":      {npy("'<f4'", "False", "(2, 3)", 17), "", `read x: damaged file of vectors: it ends within row 1, after 5 of 12 bytes`},
		"missing":    {npy("'<f4'", "False", "(2, 3)", 12), "", `read x: damaged file of vectors: it ends within row 1, after 0 of 12 bytes`},
		"more":       {npy("'<f4'", "False", "(2, 3)", 25), "", `read x: damaged file of vectors: bytes follow its 2 rows of 3 float32 that belong to nothing`},

		"not JSON":   {tensors(`{"a":}`, 0), "", "read x: not a readable file of vectors: its safetensors header is not JSON: invalid character '}' looking for beginning of value"},
		"no matrix":  {tensors(`{"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}`, 12), "", `read x: not a readable file of vectors: none of its tensors ("a", "b") has two dimensions`},
		"two":        {tensors(`{"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}}`, 12), "", `read x: not a readable file of vectors: it has several matrices ("a", "b"); name one`},
		"other name": {tensors(`{"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, 8), "c", `read x: not a readable file of vectors: it has no tensor "c", but "b"`},
		"its shape":  {tensors(`{"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), "b", `read x: not a readable file of vectors: tensor "b" has shape [2], want two dimensions, rows and values`},
		"its type":   {tensors(`{"b":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}}`, 8), "", `read x: not a readable file of vectors: tensor "b" has elements of type F64, want F32, F16 or BF16`},
		"its size":   {tensors(`{"b":{"dtype":"F32","shape":[1,3],"data_offsets":[0,8]}}`, 8), "", `read x: damaged file of vectors: tensor "b" of 1 × 3 F32 needs 12 bytes, its data_offsets [0 8] hold 8`},
		"offsets":    {tensors(`{"b":{"dtype":"F32","shape":[1,3],"data_offsets":[8,0]}}`, 8), "", `read x: damaged file of vectors: tensor "b" has the impossible data_offsets [8 0]`},
		"behind":     {tensors(`{"b":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"c":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 6), "", `read x: damaged file of vectors: it ends 2 bytes early, behind the rows that were asked for`},
		"before":     {tensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}}`, 6), "", `read x: damaged file of vectors: it ends 2 bytes before tensor "b"`},
		"overlap":    {tensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]}}`, 8), "", `read x: damaged file of vectors: tensor "b" begins at byte 4 of the data, within tensor "a", which ends at 8`},
		"hole":       {tensors(`{"b":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}}`, 12), "", `read x: damaged file of vectors: tensor "b" begins at byte 8 of the data, and bytes 0 to 7 belong to no tensor`},
		"three":      {tensors(`{"b":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4,8]}}`, 8), "", `read x: damaged file of vectors: tensor "b" has the impossible data_offsets [0 4 8]`},

		"ebvec sum": {changed, "", fmt.Sprintf("read x: damaged file of vectors: the checksum of rows 0 to 1 is %08x, want %08x", blockSum(changed[block:block+20]), blockSum(ebvec[block:block+20]))},
		"ebvec cut": {ebvec[:block+10], "", `read x: damaged file of vectors: it ends within row 0, after 6 of 8 bytes`},
		"ebvec end": {append(slices.Clone(ebvec), 1), "", `read x: damaged file of vectors: bytes follow its end`},
	} {
		_, _, _, err := all(c.file, Options{Tensor: c.tensor})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

func TestWritersRefuse(t *testing.T) {
	rows := engine.HostRows(values(6), 3)
	for want, do := range map[string]func() error{
		"write .npy: numpy has no bfloat16; write float32 or .ebvec": func() error {
			_, err := NewNPYWriter(io.Discard, 1, 1, engine.BF16)
			return err
		},
		"write .npy: 1 rows were announced, 2 come": func() error {
			w, err := NewNPYWriter(io.Discard, 1, 3, engine.F32)
			return errors.Join(err, w.Write(rows))
		},
		"write .npy: 3 rows were announced, 2 came": func() error {
			w, err := NewNPYWriter(io.Discard, 3, 3, engine.F32)
			return errors.Join(err, w.Write(rows), w.Close())
		},
		"write .npy: rows of 3 float32, want 4 float16": func() error {
			w, err := NewNPYWriter(io.Discard, 3, 4, engine.F16)
			return errors.Join(err, w.Write(rows))
		},
		"write .ebvec: 3 rows of 3 values, 3 apart, are not in 24 bytes of host memory": func() error {
			w, err := NewWriter(io.Discard, Header{Dim: 3, Type: "float32"})
			more := rows
			more.N = 3
			return errors.Join(err, w.Write(more, nil))
		},
		"write .ebvec: identifiers are true in the header and false of row 0": func() error {
			w, err := NewWriter(io.Discard, Header{Dim: 3, Type: "float32", IDs: true})
			return errors.Join(err, w.Write(rows, nil))
		},
		`write .ebvec: 3 values of type "int8", want 1 to 1048576 of float32, float16 or bfloat16`: func() error {
			_, err := NewWriter(io.Discard, Header{Dim: 3, Type: "int8"})
			return err
		},
	} {
		if err := do(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Any bytes are an error or rows; memory stays in proportion to the input.
func FuzzReader(f *testing.F) {
	f.Add(npyFile(f, raw(6, engine.F32), 3, engine.F32))
	f.Add(npyFile(f, raw(6, engine.F16), 2, engine.F16))
	f.Add(ebvecFile(f, Header{Dim: 2, Type: "bfloat16", IDs: true}, []string{"a", "bc"}, raw(4, engine.BF16)))
	f.Add(safetensorsFile(`{"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, raw(2, engine.F32)))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		data, _, _, err := all(file, Options{})
		runtime.ReadMemStats(&after)
		if len(data) > len(file) {
			t.Fatalf("%d bytes of rows from %d", len(data), len(file))
		}
		if err != nil && !strings.HasPrefix(err.Error(), "read x: ") {
			t.Fatal(err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20+uint64(len(file))*200 {
			t.Fatalf("%d bytes made the reader allocate %d", len(file), grown)
		}
	})
}

// What is written comes back, for any identifiers and blocks.
func FuzzEBVEC(f *testing.F) {
	f.Add([]byte("abcdefghijklmnop"), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, dim, cut uint8) {
		d := 1 + int(dim)%8
		want := data[:len(data)/(2*d)*(2*d)]
		rows := len(want) / (2 * d)
		at := min(int(cut), rows)
		var ids []string
		for i := range rows {
			ids = append(ids, string(want[i*d:(i+1)*d]))
		}
		file := ebvecFile(t, Header{Dim: d, Type: "float16", IDs: true}, ids, want[:at*2*d], want[at*2*d:])
		got, names, _, err := all(file, Options{})
		if err != nil || !bytes.Equal(got, want) || !slices.Equal(names, ids) {
			t.Fatalf("%x %q %v, want %x %q", got, names, err, want, ids)
		}
	})
}

func blockSum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A matrix of hits is told from every other .npy file.
func TestIsHitsNPY(t *testing.T) {
	hits := func(h engine.Hits) string {
		var b bytes.Buffer
		if err := WriteHitsNPY(&b, &h); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var rows bytes.Buffer
	if _, err := NewNPYWriter(&rows, 3, 2, engine.F32); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		hits(engine.Hits{K: 3}): true,
		hits(engine.Hits{Queries: 1, K: 1, Row: []int64{7}, Score: []float32{1}}): true,
		hits(engine.Hits{Queries: 123456789, K: 0}):                               true,
		hits(engine.Hits{K: 3})[:40]:                                              false,
		rows.String():                                                             false,
		"\x93NUMPY":                                                               false,
		"":                                                                        false,
	} {
		if got := IsHitsNPY([]byte(text)); got != want {
			t.Errorf("%.60q: %v, want %v", text, got, want)
		}
	}
}
