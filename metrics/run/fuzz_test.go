package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// fromBytes makes lists of any bytes: a query for each 0xff, rows of an identifier
// that a length byte begins, and a score whose form another byte chooses.
func fromBytes(data []byte) []list {
	var out []list
	known := map[string]bool{}
	next := func(n int) []byte {
		n = min(n, len(data))
		b := data[:n]
		data = data[n:]
		return b
	}
	for len(data) > 0 {
		l := list{query: strconv.Itoa(len(out)) + string(next(int(data[0]%5)))}
		docs := map[string]bool{}
		for len(data) > 2 && data[0] != 0xff {
			kind := next(1)[0]
			id := string(next(1 + int(kind&15)))
			if kind&64 != 0 {
				id = strconv.Itoa(int(firstEight([]byte(id)) >> 44))
			}
			s := math.Float64frombits(firstEight(next(8)))
			switch kind >> 4 & 3 {
			case 1:
				s = float64(float32(s))
			case 2:
				s = math.Round(s*1000) / 1000
			case 3:
				s, _ = strconv.ParseFloat(strconv.FormatFloat(s, 'g', -1, 32), 64)
			}
			if id == "" || docs[id] || s != s {
				continue
			}
			docs[id] = true
			l.rows = append(l.rows, row{id, s})
		}
		next(1)
		if !known[l.query] {
			known[l.query] = true
			out = append(out, l)
		}
	}
	return out
}

// What is written comes back, by the reader and by its twin.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x00\x01a12345678\x01b12345678\xff\x02qq"), false, uint16(1))
	f.Add([]byte("\x00\x41a\x00\x00\x00\x00\x00\x00\x00\x00\x42ab\x80\x00\x00\x00\x00\x00\x00\x00"), true, uint16(100))
	f.Add([]byte("\x00\x28abcdefghi\x3f\xf0\x00\x00\x00\x00\x00\x00\x18abcdefghj\x3f\xe0\x00\x00\x00\x00\x00\x00"), false, uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, given bool, rows uint16) {
		run := fromBytes(data)
		h, want := Header{}, trecOrder(run)
		if given {
			h.Order, want = OrderGiven, run
		}
		file := write(t, h, 1+int(rows), block(run))
		got, _, err := read(file, Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		same(t, readPlain(t, file), want)
	})
}

// resum makes every checksum of a file right, so that damage gets past them.
func resum(file []byte) {
	if len(file) < 16 {
		return
	}
	at := 12 + int(binary.LittleEndian.Uint32(file[8:])) + 4
	if at > len(file) || at < 16 {
		return
	}
	binary.LittleEndian.PutUint32(file[at-4:], checksum(file[:at-4]))
	for at+headSize <= len(file) && string(file[at:at+4]) == frameMark {
		n := int(binary.LittleEndian.Uint32(file[at+4:]))
		if n > len(file)-at-headSize {
			n = len(file) - at - headSize
			binary.LittleEndian.PutUint32(file[at+4:], uint32(n))
		}
		binary.LittleEndian.PutUint32(file[at+40:], checksum(file[at+headSize:at+headSize+n]))
		binary.LittleEndian.PutUint32(file[at+44:], checksum(file[at:at+44]))
		at += headSize + n
	}
}

// Any bytes are an error or a run that holds together: no panic, and memory in
// proportion to the input.
func FuzzReader(f *testing.F) {
	for _, run := range shapes {
		f.Add(write(f, Header{}, 2, block(run)), true)
	}
	file, _ := five(f)
	f.Add(file, false)
	f.Add([]byte(magic), false)
	f.Fuzz(func(t *testing.T, file []byte, sum bool) {
		file = slices.Clone(file)
		if sum {
			resum(file)
		}
		for _, opt := range []Options{{Workers: 1}, {Workers: 2, Skip: true}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := NewReader(bytes.NewReader(file), "x", opt)
			for err == nil {
				var b ranking.Block
				if err = r.Next(&b); err == nil {
					holds(t, &b)
				}
			}
			if err != io.EOF && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrFormat) {
				t.Fatalf("%v", err)
			}
			if r != nil && opt.Skip && err != io.EOF {
				t.Fatalf("skipping: %v", err)
			}
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 300<<20+uint64(len(file))*1000 {
				t.Fatalf("%d bytes made the reader allocate %d", len(file), grown)
			}
		}
	})
}

// holds checks the invariants of a block.
func holds(t *testing.T, b *ranking.Block) {
	t.Helper()
	if err := checkShape(b); err != nil || !b.Sorted {
		t.Fatal(err, b.Sorted)
	}
	for i := range b.Docs.Len() {
		if len(b.Docs.At(i)) == 0 || i > 0 && bytes.Compare(b.Docs.At(i-1), b.Docs.At(i)) >= 0 {
			t.Fatalf("document %d is %q", i, b.Docs.At(i))
		}
	}
	for _, s := range b.Score {
		if s != s {
			t.Fatal("NaN")
		}
	}
}

// Packed lists agree with the twin, bit by bit, whatever the widths.
func FuzzPack(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(64))
	f.Add(bytes.Repeat([]byte{0xff}, 800), uint8(64))
	f.Add(bytes.Repeat([]byte{0x93}, 800), uint8(58))
	f.Add(bytes.Repeat([]byte{0xb3, 0x30}, 364), uint8(1)) // blocks shorter than the slack behind them
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		var values []uint64
		for ; len(data) >= 8; data = data[8:] {
			values = append(values, binary.LittleEndian.Uint64(data)&(1<<min(width, 64)-1))
		}
		packed := appendPacked([]byte{7}, values)[1:]
		if len(packed) != packedSize(values) {
			t.Fatalf("%d bytes, said to be %d", len(packed), packedSize(values))
		}
		p := &plainFile{&testing.T{}, packed}
		if want := p.packed(len(values)); !slices.Equal(values, want) {
			t.Fatalf("twin read %v, want %v", want, values)
		}
		got := make([]uint64, len(values))
		at, ok := unpack(got, append(slices.Clone(packed), make([]byte, slack)...), 0, len(packed))
		if !ok || at != len(packed) || !slices.Equal(got, values) {
			t.Fatalf("read %v to %d, %v; want %v", got, at, ok, values)
		}
		if len(packed) > 0 {
			if _, ok := unpack(got, append(packed, make([]byte, slack)...), 0, len(packed)-1); ok {
				t.Fatal("a list that lacks a byte was read")
			}
		}
	})
}

// Codes of every width agree with the twin.
func TestCodes(t *testing.T) {
	for w := 0; w <= 31; w++ {
		codes := make([]int32, 100)
		top := int32(0)
		for i := range codes {
			codes[i] = int32(uint32(i*2654435761) & (1<<w - 1))
			top = max(top, codes[i])
		}
		b := appendBits(nil, codes, w)
		got := make([]int32, len(codes))
		if n := unpackCodes(got, append(b, make([]byte, slack)...), uint(w)); n != top || !slices.Equal(got, codes) {
			t.Errorf("width %d: top %d, want %d", w, n, top)
		}
		for i, v := range (&plainFile{t, b}).bits(len(codes), w) {
			if int32(v) != codes[i] {
				t.Fatalf("width %d: twin differs at %d", w, i)
			}
		}
	}
}

// Keys are ordered as identifiers are by bytes, and spelled back.
func FuzzDigits(f *testing.F) {
	f.Add(uint64(7), uint64(70), uint8(1), uint8(2))
	f.Add(uint64(0), uint64(99999999999999999), uint8(3), uint8(17))
	f.Fuzz(func(t *testing.T, a, b uint64, na, nb uint8) {
		text := func(v uint64, n uint8) string {
			s := strconv.FormatUint(v%pow10[maxDigits], 10)
			for len(s) < int(n%(maxDigits+1)) {
				s = "0" + s
			}
			return s
		}
		ids := []string{text(a, na), text(b, nb)}
		width := max(len(ids[0]), len(ids[1]))
		ka, ok1 := digitKey([]byte(ids[0]), width)
		kb, ok2 := digitKey([]byte(ids[1]), width)
		if !ok1 || !ok2 || (ka < kb) != (ids[0] < ids[1]) || (ka == kb) != (ids[0] == ids[1]) {
			t.Fatalf("%q and %q of width %d have keys %d %v and %d %v", ids[0], ids[1], width, ka, ok1, kb, ok2)
		}
		sort.Strings(ids)
		ids = slices.Compact(ids)
		keys := []uint64{min(ka, kb), max(ka, kb)}[:len(ids)]
		gaps, strips := appendDigitColumns(nil, nil, keys, width)
		start, end, buf := make([]uint32, len(ids)), make([]uint32, len(ids)), make([]byte, 2*(maxDigits+2)+maxDigits+2)
		d := digitDictionary{digitWriter{[]byte("p-"), width}, gaps}
		size, err := d.keys(gaps, strips)
		if err != nil || !slices.Equal(gaps, keys) || size != len(strings.Join(ids, ""))+2*len(ids) {
			t.Fatalf("%q: keys %d, want %d, of %d bytes, %v", ids, gaps, keys, size, err)
		}
		d.write(buf, start, end, gaps)
		for i, id := range ids {
			if got := string(buf[start[i]:end[i]]); got != "p-"+id || string(d.At(i)) != got {
				t.Fatalf("%q came back as %q and %q", id, got, d.At(i))
			}
			if code, ok := d.Find([]byte("p-" + id)); code != i || !ok {
				t.Fatalf("%q is found at %d, %v", id, code, ok)
			}
			for _, other := range []string{id, "p-" + id + "0", "p-", "p-x" + id} {
				if code, ok := d.Find([]byte(other)); ok && ids[code] != strings.TrimPrefix(other, "p-") {
					t.Fatalf("%q is found at %d of %q", other, code, ids)
				}
			}
		}
	})
}

// eightDigits is the twin's spelling for every four digits in either half, which
// its lanes treat alike.
func TestEightDigits(t *testing.T) {
	for n := range uint64(10000) {
		for _, v := range []uint64{n, 10000 * n, 10001 * n, 10000*n + 9999 - n} {
			var got, want [8]byte
			binary.LittleEndian.PutUint64(got[:], eightDigits(v))
			spell(want[:], v)
			if got != want {
				t.Fatalf("%d is spelled %q, want %q", v, got, want)
			}
		}
	}
}

// shortest agrees with strconv in its range, and what a writer takes it for agrees
// everywhere.
func TestShortest(t *testing.T) {
	form := func(f float32) float64 {
		v, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	check := func(f float32) {
		got, want := shortest(f), form(f)
		if size := math.Abs(float64(f)); size >= shortMin && size < shortMax && math.Float32bits(f)<<9 != 0 && got != want {
			t.Errorf("%v becomes %v, want %v", f, got, want)
		}
		for _, s := range []float64{got, want, float64(f)} {
			if _, ok := shortForm(s); ok && s != form(float32(s)) {
				t.Errorf("%v is taken for the shortest form of %v, which is %v", s, float32(s), form(float32(s)))
			}
		}
		if _, ok := shortForm(want); !ok && got == want {
			t.Errorf("%v is refused", want)
		}
	}
	for b := uint32(0); b < 0x7f800000; b += 9973 {
		check(math.Float32frombits(b))
		check(-math.Float32frombits(b))
	}
	for e := range uint32(255) {
		for _, m := range []uint32{0, 1, 2, 3, 1<<23 - 1} { // where neighbours are nearer on one side
			check(math.Float32frombits(e<<23 | m))
		}
	}
	for b := math.Float32bits(1 << 21); b < math.Float32bits(1<<21)+40; b++ { // quarters lie between two tenths
		check(math.Float32frombits(b))
	}
}

// sortKeyed sorts.
func TestSortKeyed(t *testing.T) {
	for _, width := range []int{0, 1, 11, 12, 30, 64} {
		rows := make([]keyed, 1000)
		for i := range rows {
			rows[i] = keyed{bits.Reverse64(uint64(i)*0x9e3779b97f4a7c15) & (1<<width - 1), int32(i)}
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b keyed) int {
			switch {
			case a.key < b.key:
				return -1
			case a.key > b.key:
				return 1
			}
			return 0
		})
		if got, _ := sortKeyed(rows, make([]keyed, len(rows))); !slices.Equal(got, want) {
			t.Errorf("width %d: not sorted", width)
		}
	}
}

// A payload of any bytes, with any counts, is an error or a block that holds
// together.
func FuzzDecode(f *testing.F) {
	for _, run := range shapes {
		file := write(f, Header{}, frameRows, block(run))
		at := frames(file)
		if len(at) < 2 {
			continue
		}
		h, err := parseHead(file[at[0]:])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(h.queries, h.rows, h.docs, file[at[0]+headSize:at[1]])
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, queries, rows, docs uint32, payload []byte) {
		raw := appendHead(nil, head{payload: uint32(len(payload)), queries: queries, rows: rows, docs: docs, sum: checksum(payload)})
		h, err := parseHead(raw)
		if err != nil {
			return
		}
		d := decoder{z: z}
		if err := d.decode(h, append(slices.Clone(payload), make([]byte, slack)...)); err == nil {
			if d.block.Len() != int(queries) || len(d.block.Score) != int(rows) || d.block.Docs.Len() != int(docs) {
				t.Fatalf("%d queries, %d rows, %d documents; the head says %d, %d, %d", d.block.Len(), len(d.block.Score), d.block.Docs.Len(), queries, rows, docs)
			}
			holds(t, &d.block)
		}
	})
}
