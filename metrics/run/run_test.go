package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encbench/metrics/ranking"
)

// write makes a file of lists with frames of up to rows rows.
func write(t testing.TB, h Header, rows int, blocks ...*ranking.Block) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	w.rows = rows
	for _, b := range blocks {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read gives everything in a file.
func read(file []byte, opt Options) ([]list, *Reader, error) {
	r, err := NewReader(bytes.NewReader(file), "x.ebrun", opt)
	if err != nil {
		return nil, nil, err
	}
	var all []list
	var b ranking.Block
	for {
		if err := r.Next(&b); err != nil {
			if err == io.EOF {
				err = nil
			}
			return all, r, err
		}
		all = append(all, lists(&b)...)
	}
}

// shapes are identifiers and scores of many kinds.
var shapes = map[string][]list{
	"empty":          nil,
	"empty list":     {{"q", nil}},
	"one":            {{"q", []row{{"d", 1}}}},
	"integers":       {{"1", []row{{"10", 3}, {"9", 2}, {"100", 1}}}, {"2", []row{{"10", 2.5}}}, {"3", nil}, {"4", []row{{"7", 1}, {"70", 1}, {"700", 1}}}},
	"leading zeros":  {{"1", []row{{"0", 3}, {"00", 2}, {"000", 1}, {"007", 0.5}, {"7", 0.25}}}},
	"prefix":         {{"1", []row{{"doc1", 3}, {"doc", 2}, {"doc10", 1}}}},
	"seventeen":      {{"1", []row{{"12345678901234567", 3}, {"99999999999999999", 2}, {"0", 1}}}},
	"eighteen":       {{"1", []row{{"123456789012345678", 3}, {"9", 2}}}},
	"words":          {{"a b", []row{{"alpha", 3}, {"alphabet", 2}, {"beta", 1}, {"\x00", 0.5}, {"\xff\xfe", 0.25}}}},
	"ties":           {{"1", []row{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 2}}}},
	"zeros":          {{"1", []row{{"a", 0}, {"b", math.Copysign(0, -1)}, {"c", 0}, {"d", math.Copysign(0, -1)}}}},
	"infinite":       {{"1", []row{{"a", math.Inf(1)}, {"b", 0.1}, {"c", math.Inf(-1)}}}},
	"float32":        {{"1", []row{{"a", float64(float32(0.1))}, {"b", float64(float32(-0.3))}, {"c", -1e-40}}}},
	"tiny":           {{"1", []row{{"a", math.SmallestNonzeroFloat64}, {"b", -math.SmallestNonzeroFloat64}, {"c", math.MaxFloat64}}}},
	"decimal":        {{"1", []row{{"a", 12.345678}, {"b", 11}, {"c", -0.5}, {"d", 1e-6}}}},
	"shortest":       {{"1", []row{{"a", 0.71239847}, {"b", 0.6999999}, {"c", 0.123456789}, {"d", -0.00123}}}},
	"probabilities":  {{"1", []row{{"a", math.Log(0.1)}, {"b", math.Log(0.7)}, {"c", math.Pi}}}},
	"large integers": {{"1", []row{{"a", 1 << 60}, {"b", 1<<53 + 2}, {"c", -(1 << 62)}}}},
}

func TestRoundTrip(t *testing.T) {
	for name, want := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, order := range []string{OrderTREC, OrderGiven} {
				want := want
				if order == OrderTREC {
					want = trecOrder(want)
				}
				for _, b := range []*ranking.Block{block(shapes[name]), coded(shapes[name])} {
					for _, rows := range []int{1, frameRows} {
						file := write(t, Header{Order: order}, rows, b)
						for _, workers := range []int{1, 3} {
							got, r, err := read(file, Options{Workers: workers})
							if err != nil {
								t.Fatal(err)
							}
							same(t, got, want)
							if total := r.Totals(); total.Queries != int64(len(want)) {
								t.Errorf("totals %+v", total)
							}
						}
						same(t, readPlain(t, file), want)
					}
				}
			}
		})
	}
}

// random makes a run of mixed shape.
func random(rng *rand.Rand, queries, depth int) []list {
	var out []list
	kind := rng.IntN(6)
	for q := range queries {
		l := list{query: fmt.Sprintf("q%d", q)}
		seen := map[string]bool{}
		for range rng.IntN(depth + 1) {
			id := ""
			switch n := rng.IntN(3000); kind {
			case 0, 1:
				id = strconv.Itoa(n)
			case 2:
				id = fmt.Sprintf("msmarco_doc_%02d_%d", n%7, n)
			case 3:
				id = fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15)
			case 4:
				id = "D" + strconv.Itoa(n*n*n)
			case 5:
				id = fmt.Sprintf("%06d", n)
			}
			if seen[id] {
				continue
			}
			seen[id] = true
			s := rng.NormFloat64()
			switch (kind + q/50) % 5 {
			case 0:
				s, _ = strconv.ParseFloat(fmt.Sprintf("%.6f", 10*s), 64)
			case 1:
				s = float64(float32(s))
			case 2:
				s, _ = strconv.ParseFloat(strconv.FormatFloat(s, 'g', -1, 32), 64)
			case 3:
				s = math.Round(s)
			}
			l.rows = append(l.rows, row{id, s})
		}
		out = append(out, l)
	}
	return out
}

func TestRoundTripRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		run := random(rng, 1+rng.IntN(120), 1+rng.IntN(200))
		var blocks []*ranking.Block
		for rest := run; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			blocks = append(blocks, block(rest[:n]))
			rest = rest[n:]
		}
		file := write(t, Header{K: 200}, 1+rng.IntN(4000), blocks...)
		got, _, err := read(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := trecOrder(run)
		same(t, got, want)
		same(t, readPlain(t, file), want)
	}
}

// Every frame's dictionary is sorted, so that codes are ordered as identifiers.
func TestBlocksAreSorted(t *testing.T) {
	file := write(t, Header{}, 500, block(random(rand.New(rand.NewPCG(3, 4)), 50, 100)))
	r, err := NewReader(bytes.NewReader(file), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for b := (ranking.Block{}); ; blocks++ {
		if err := r.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < b.Docs.Len(); i++ {
			if bytes.Compare(b.Docs.At(i-1), b.Docs.At(i)) >= 0 {
				t.Fatalf("document %d %q follows %q", i, b.Docs.At(i), b.Docs.At(i-1))
			}
		}
		if !b.Sorted || len(b.Doc) != len(b.Score) {
			t.Fatalf("sorted %v, %d codes, %d scores", b.Sorted, len(b.Doc), len(b.Score))
		}
	}
	if blocks < 4 {
		t.Errorf("%d blocks, want several", blocks)
	}
}

// The header comes back, with the order and schema filled in.
func TestHeader(t *testing.T) {
	h := Header{
		K: 1000, Tag: "bm25", Protocol: "abc", Model: "m", ModelSHA256: "1", Corpus: "c", CorpusSHA256: "2",
		Notes: []string{"self hits dropped"}, Extra: []byte(`{"a":1}`),
	}
	_, r, err := read(write(t, h, 10), Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.Schema, h.Order = 1, "trec"
	if got := r.Header(); fmt.Sprint(got) != fmt.Sprint(h) {
		t.Errorf("header %+v, want %+v", got, h)
	}
}

// Lists as long as K whose lowest score is not alone are counted.
func TestTiesAtCut(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{K: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range [][]row{{{"a", 1}, {"b", 1}}, {{"a", 2}, {"b", 1}}, {{"a", 1}}, {{"c", 1}, {"b", 1}}} {
		if err := w.Write(block([]list{{strconv.Itoa(i), l}})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || w.TiesAtCut() != 2 {
		t.Errorf("%d ties, %v; want 2", w.TiesAtCut(), err)
	}
	_, r, err := read(out.Bytes(), Options{})
	if want := (Totals{Frames: 1, Queries: 4, Rows: 7, TiesAtCut: 2}); err != nil || r.Totals() != want {
		t.Errorf("totals %+v, %v; want %+v", r.Totals(), err, want)
	}
}

func TestWriterRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for name, c := range map[string]struct {
		blocks []*ranking.Block
		want   string
	}{
		"NaN":        {[]*ranking.Block{block([]list{{"q1", []row{{"d1", math.NaN()}}}})}, `write run: query "q1": the score of document "d1" is not a number`},
		"no query":   {[]*ranking.Block{block([]list{{"a", nil}, {"", nil}})}, `write run: query 2 has an empty identifier`},
		"no doc":     {[]*ranking.Block{block([]list{{"q1", []row{{"d", 1}, {"", 1}}}})}, `write run: query "q1" has an empty document identifier in its row 2`},
		"twice":      {[]*ranking.Block{block([]list{{"q1", []row{{"d", 1}, {"e", 1}, {"d", 2}}}})}, `write run: query "q1" names document "d" twice`},
		"again":      {[]*ranking.Block{block([]list{{"q1", nil}}), block([]list{{"q1", nil}})}, `write run: query "q1" came before; a run holds all rows of a query together`},
		"long doc":   {[]*ranking.Block{block([]list{{"q1", []row{{long, 1}}}})}, `write run: query "q1": document "` + long[:40] + `"… has an identifier of 1048577 bytes, more than 1048576`},
		"long query": {[]*ranking.Block{block([]list{{long, nil}})}, `write run: the identifier of query "` + long[:40] + `"… has 1048577 bytes, more than 1048576`},
		"deep":       {[]*ranking.Block{block([]list{{"q1", []row{{"d1", 3}, {"d2", 2}, {"d3", 1}, {"d4", 0}}}})}, `write run: query "q1" has 4 rows, and the header says that lists were cut at 3`},
		"shape":      {[]*ranking.Block{{Off: []int32{0, 1}}}, `write run: a block of 0 queries, 2 offsets, 0 rows and 0 documents does not hold together`},
	} {
		w, err := NewWriter(io.Discard, Header{K: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range c.blocks {
			err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if again := w.Close(); again != err {
			t.Errorf("%s: a second close gives %v", name, again)
		}
	}
	for want, h := range map[string]Header{
		`write run header: order "up", know "trec" and "given"`: {Order: "up"},
		`write run header: k -1 is negative`:                    {K: -1},
	} {
		if _, err := NewWriter(io.Discard, h); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

type failing struct{ left int }

var errFull = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return len(b) + f.left, errFull
	}
	return len(b), nil
}

// A writer that fails is reported, now and later.
func TestWriterFails(t *testing.T) {
	w, err := NewWriter(&failing{300}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.rows = 1
	for q := 0; q < 100 && err == nil; q++ {
		err = w.Write(block([]list{{strconv.Itoa(q), []row{{"d", 1}}}}))
	}
	if !errors.Is(err, errFull) || err.Error() != "write run file after 300 bytes: disk full" {
		t.Errorf("%v", err)
	}
	if again := w.Close(); again != err {
		t.Errorf("close gives %v", again)
	}
}

// frames gives the places of the frames of a file, and of its index.
func frames(file []byte) []int {
	at := 12 + int(binary.LittleEndian.Uint32(file[8:])) + 4
	var out []int
	for string(file[at:at+4]) == frameMark {
		out = append(out, at)
		at += headSize + int(binary.LittleEndian.Uint32(file[at+4:]))
	}
	return append(out, at)
}

// five is a file of five frames with two queries each.
func five(t testing.TB) ([]byte, []list) {
	var run []list
	for q := range 10 {
		run = append(run, list{strconv.Itoa(q), []row{{"d1", 2}, {"d2", 1}}})
	}
	return write(t, Header{}, 4, block(run)), run
}

// A file that was cut off anywhere gives its whole frames and says what is lost.
func TestTruncated(t *testing.T) {
	file, run := five(t)
	at := frames(file)
	for n := range file {
		got, _, err := read(file[:n], Options{})
		if !errors.Is(err, ErrTruncated) && !(n < 1 && errors.Is(err, ErrFormat)) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		whole := 0
		for whole < 5 && n >= at[whole+1] {
			whole++
		}
		same(t, got, run[:2*whole])
		if n < at[0] {
			continue
		}
		got, r, err := read(file[:n], Options{Skip: true})
		if err != nil || len(r.Damage()) != 1 || !errors.Is(r.Damage()[0], ErrTruncated) {
			t.Fatalf("%d bytes, skipping: %v, damage %v", n, err, r.Damage())
		}
		same(t, got, run[:2*whole])
	}
	for n, want := range map[int]string{
		0:          `read x.ebrun: not a compressed run file: it starts with "", want "\x89EBRUN\r\n"`,
		5:          `read x.ebrun: truncated run file: it ends within its header, after 5 bytes`,
		20:         `read x.ebrun: truncated run file: it ends within its header, after 20 bytes`,
		at[2]:      fmt.Sprintf(`read x.ebrun: truncated run file: frame 3 at byte %d: the file ends there, before its index; the 4 queries (8 rows) before are whole`, at[2]),
		at[2] + 50: fmt.Sprintf(`read x.ebrun: truncated run file: frame 3 at byte %d: the file ends after 50 of its %d bytes; the 4 queries (8 rows) before are whole; lost: 2 queries, 4 rows`, at[2], at[3]-at[2]),
		at[5] + 49: fmt.Sprintf(`read x.ebrun: truncated run file: the end at byte %d: the file ends after 49 of its %d bytes; the 10 queries (20 rows) before are whole`, at[5], len(file)-at[5]),
	} {
		if _, _, err := read(file[:n], Options{}); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", n, err, want)
		}
	}
}

// A changed byte anywhere costs the frame it lies in, which is named, and no other.
func TestDamaged(t *testing.T) {
	file, run := five(t)
	at := frames(file)
	for n := at[0]; n < len(file); n++ {
		broken := slices.Clone(file)
		broken[n] ^= 0x10
		frame := 0
		for frame < 5 && n >= at[frame+1] {
			frame++
		}
		got, _, err := read(broken, Options{})
		var d *Damage
		if !errors.As(err, &d) || frame < 5 && (d.Frame != frame+1 || d.Offset != int64(at[frame])) {
			t.Fatalf("byte %d in frame %d: %v", n, frame+1, err)
		}
		same(t, got, run[:2*frame])
		got, r, err := read(broken, Options{Skip: true, Workers: 2})
		if err != nil || len(r.Damage()) != 1 {
			t.Fatalf("byte %d, skipping: %v, damage %v", n, err, r.Damage())
		}
		want := run
		if frame < 5 {
			want = append(slices.Clone(run[:2*frame]), run[2*frame+2:]...)
			if d := r.Damage()[0]; d.Queries != 2 || d.Rows != 4 {
				t.Fatalf("byte %d: %v", n, d)
			}
		}
		same(t, got, want)
	}
	broken := slices.Clone(file)
	broken[at[2]-1] ^= 1
	want := fmt.Sprintf("read x.ebrun: damaged run file: frame 2 at byte %d: the checksum of its %d bytes is %08x, want %08x; lost: 2 queries, 4 rows",
		at[1], at[2]-at[1]-headSize, checksum(broken[at[1]+headSize:at[2]]), checksum(file[at[1]+headSize:at[2]]))
	if _, _, err := read(broken, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	broken[at[1]] = 'X'
	want = fmt.Sprintf(`read x.ebrun: damaged run file: frame 2 at byte %d: its head starts with "XBfr", want "EBfr"`, at[1])
	if _, _, err := read(broken, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	want = fmt.Sprintf(`read x.ebrun: damaged run file: the end at byte %d: more bytes follow; to join run files, merge them`, at[5])
	if _, _, err := read(append(slices.Clone(file), file...), Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	broken = slices.Clone(file)
	broken[20] ^= 1
	if _, _, err := read(broken, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged header: %v", err)
	}
	// A frame that is missing altogether.
	gone := append(slices.Clone(file[:at[1]]), file[at[3]:]...)
	want = fmt.Sprintf("read x.ebrun: damaged run file: frame 2 at byte %d: frame 4 comes in its place; lost: 4 queries, 8 rows", at[1])
	if _, _, err := read(gone, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A header of another version is refused.
func TestOtherSchema(t *testing.T) {
	file := []byte(magic + "\x1e\x00\x00\x00" + `{"schema":7,"order":"trec"}   `)
	file = binary.LittleEndian.AppendUint32(file, checksum(file))
	want := "read x.ebrun: not a compressed run file: schema 7, this program knows 1"
	if _, _, err := read(file, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestUnspelled: a block with a dictionary has the documents of one without.
func TestUnspelled(t *testing.T) {
	for _, cosine := range []bool{false, true} {
		blocks, _ := marco(20, 100, cosine)
		file := write(t, Header{K: 100}, 700, blocks...)
		spelt, err := NewReader(bytes.NewReader(file), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		unspelt, err := NewReader(bytes.NewReader(file), "x", Options{Unspelled: true})
		if err != nil {
			t.Fatal(err)
		}
		frames := 0
		for {
			var a, b ranking.Block
			errA, errB := spelt.Next(&a), unspelt.Next(&b)
			if errA != nil || errB != nil {
				if errA != io.EOF || errB != io.EOF || frames < 2 {
					t.Fatalf("%d frames, then %v and %v", frames, errA, errB)
				}
				break
			}
			frames++
			if a.Dictionary != nil || b.Dictionary == nil || b.Docs.Len() != 0 || b.Dictionary.Len() != a.Docs.Len() || !b.Sorted {
				t.Fatalf("%d documents, and a dictionary %v of %d", a.Docs.Len(), b.Dictionary, b.Docs.Len())
			}
			for row := range a.Score {
				if a.Score[row] != b.Score[row] || a.Doc[row] != b.Doc[row] || !bytes.Equal(a.DocAt(row), b.DocAt(row)) {
					t.Fatalf("row %d: %q with %v, and %q with %v", row, a.DocAt(row), a.Score[row], b.DocAt(row), b.Score[row])
				}
				if code, ok := b.Dictionary.Find(a.DocAt(row)); !ok || code != int(a.Doc[row]) {
					t.Fatalf("%q is found at %d, %v, want %d", a.DocAt(row), code, ok, a.Doc[row])
				}
			}
		}
	}
}

// QueriesOnly gives the queries of every frame and nothing else.
func TestQueriesOnly(t *testing.T) {
	file, run := five(t)
	r, err := NewReader(bytes.NewReader(file), "x", Options{QueriesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b := (ranking.Block{}); ; {
		if err := r.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for q := range b.Queries.Len() {
			if string(b.Queries.At(q)) != run[n].query {
				t.Fatalf("query %d is %q", n, b.Queries.At(q))
			}
			n++
		}
	}
	if n != len(run) {
		t.Errorf("%d queries, want %d", n, len(run))
	}
}
