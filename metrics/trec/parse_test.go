package trec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"encbench/metrics/ranking"
)

// twinRow is a row as the twin of the readers understands it.
type twinRow struct {
	query, doc string
	score      float64
	line       int
}

// twin reads a strict TREC run with strings and strconv alone.
func twin(text string) (rows []twinRow, ok bool) {
	text = strings.TrimPrefix(text, byteOrderMark)
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		f := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(f) == 0 {
			continue
		}
		if len(f) != 6 || strings.ContainsAny(f[4], "xX_pP") {
			return rows, false
		}
		if _, err := strconv.ParseInt(f[3], 10, 32); err != nil {
			return rows, false
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
			return rows, false
		}
		rows = append(rows, twinRow{f[0], f[2], score, n + 1})
	}
	return rows, len(rows) > 0
}

// readAll reads a run by a source, row by row, and checks the places that it names.
func readAll(tb testing.TB, src ranking.Source) (rows []twinRow, err error) {
	tb.Helper()
	var b ranking.Block
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		if len(b.Off) != b.Len()+1 || len(b.Score) != b.Docs.Len() || int(b.Off[b.Len()]) != len(b.Score) {
			tb.Fatalf("block of %d queries, %d offsets, %d documents, %d scores", b.Len(), len(b.Off), b.Docs.Len(), len(b.Score))
		}
		for q := range b.Len() {
			from, to := b.Rows(q)
			for row := from; row < to; row++ {
				r := twinRow{string(b.Queries.At(q)), string(b.DocAt(row)), b.Score[row], 0}
				if b.Place != nil && (row < 20 || row%997 == 0) { // it counts from the beginning of the block
					place := b.Place(row)
					if r.line, err = strconv.Atoi(place[strings.LastIndexByte(place, ':')+1:]); err != nil {
						tb.Fatalf("place %q: %v", place, err)
					}
				}
				rows = append(rows, r)
			}
		}
	}
}

// sameRow compares rows; a line that was not looked up is not compared.
func sameRow(got, want twinRow) bool {
	if got.line == 0 {
		want.line = 0
	}
	return got == want && math.Signbit(got.score) == math.Signbit(want.score)
}

// grouped says whether every query's rows stand together.
func grouped(rows []twinRow) bool {
	seen := map[string]bool{}
	for i, r := range rows {
		if i > 0 && rows[i-1].query == r.query {
			continue
		}
		if seen[r.query] {
			return false
		}
		seen[r.query] = true
	}
	return true
}

// checkReader holds the reader against the twin.
func checkReader(t *testing.T, text string) {
	t.Helper()
	want, ok := twin(text)
	r := NewReader(strings.NewReader(text), "run", Options{Format: TREC})
	got, err := readAll(t, r)
	switch {
	case otherMark([]byte(text)) != "" || strings.HasPrefix(strings.TrimPrefix(text, byteOrderMark), byteOrderMark):
		return // the twin does not tell encodings
	case !ok:
		if err == nil {
			t.Fatalf("%q: read, the twin refuses it", text)
		}
		return
	case !grouped(want):
		if !errors.Is(err, ErrNotGrouped) {
			t.Fatalf("%q: error %v for rows that are not grouped", text, err)
		}
		return
	case err != nil:
		t.Fatalf("%q: %v", text, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%q: %d rows, want %d", text, len(got), len(want))
	}
	for i := range got {
		if !sameRow(got[i], want[i]) {
			t.Fatalf("%q, row %d: %+v, want %+v", text, i, got[i], want[i])
		}
	}
	if s := r.Stats(); s.Rows != int64(len(want)) {
		t.Fatalf("%q: %d rows counted, want %d", text, s.Rows, len(want))
	}
}

var shapes = []string{
	"q Q0 d 1 2 t\n", "q Q0 d 1 2 t", "q Q0 d 1 2 t\r\n", "q\tQ0\td\t1\t2\tt\n", "  q   Q0 \t d 1   2.5 t  \n", "\n\nq Q0 d 1 2 t\n\n",
	"q Q0 d 1 2 t\nq Q0 e 2 1 t\nq Q0 f 3 0.5 t\nr Q0 d 1 9 t\nr Q0 e 2 8 t2\n",
	"q Q0 d 1 2 t\r\nq Q0 e 2 1 t\r\nq Q0 f 3 0.5 other\n",
	"q Q0 d 1 -1.5e-3 t\nq Q0 e 2 .5 t\nq Q0 f 3 5. t\nq Q0 g 04 +1 t\n",
	"q Q0 d 1 0.12345678901234567 t\nq Q0 e 1 123456789012345678901 t\nq Q0 f 1 1e-320 t\n",
	"a-query-id-of-more-than-sixteen-bytes Q0 d 1 2 t\na-query-id-of-more-than-sixteen-bytes Q0 e 2 1 t\n",
	"q Q0 a-document-id-of-more-than-sixteen-bytes 1 2 a-tag-of-more-than-sixteen-bytes\nq Q0 e 2 1 a-tag-of-more-than-sixteen-bytes\n",
	"q Q0 d 1 2\n", "q Q0 d 1 2 t extra\n", "q Q0 my doc 1 2 t\n", "q Q0 my doc 1 2\n", "q Q0 d 1 nan t\n", "q Q0 d 1 inf t\n", "q Q0 d one 2 t\n", "q Q0 d 1 2x t\n",
	"q Q0 d 1 0x10 t\n", "q Q0 d 1 1_0 t\n", "q Q0 d 1 1e999 t\n", "q Q0 d 9999999999 1 t\n", "q Q0 d 123456789 1 t\n", "q Q0 d 1234567890 1 t\n", "",
	"\xef\xbb\xbfq Q0 d 1 2 t\n", "q Q0 \xff\xfe\x80 1 2 t\nq Q0 caf\xe9 2 1 t\n", "q Q0 d\x01\x0b 1 2 t\nq\x0c Q0 d 1 2 t\x7f\n", "q Q0 d\r 1 2 t\n", "q\r Q0 d 1 2 t\n",
	"q Q0 d 1 2 t\nr Q0 d 1 2 t\nq Q0 e 1 2 t\n", "# Q0 d 1 2 t\n", "{ Q0 d 1 2 t\n",
}

func TestReaderAgainstTwin(t *testing.T) {
	for _, s := range shapes {
		checkReader(t, s)
	}
	// Random files from parts that are mostly right.
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	for range 3000 {
		var b strings.Builder
		for q := range 1 + rng.IntN(4) {
			query := fmt.Sprintf("%s%d", pick("q", "query-", "a-rather-long-query-id-"), q)
			for r := range 1 + rng.IntN(5) {
				sep := pick(" ", " ", " ", "\t", "  ")
				fmt.Fprint(&b, query, sep, "Q0", sep, pick("d", "doc", "clueweb09-en0000-00-"), r, sep, r+1, sep, pick("1.5", "2", "1e3", "0.12345678901234567", "-7.25", "3.14159"), sep, pick("tag", "tag", "bm25"), pick("\n", "\n", "\n", "\r\n"))
			}
			if rng.IntN(20) == 0 {
				b.WriteString(pick("\n", "x\n", "q Q0 d 1 2\n", " \t\n"))
			}
		}
		checkReader(t, b.String())
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range shapes {
		f.Add(s)
	}
	f.Fuzz(checkReader)
}

// The same rows come out however the text arrives and wherever chunks end.
func TestReaderOverChunks(t *testing.T) {
	var b strings.Builder
	var want []twinRow
	rng := rand.New(rand.NewPCG(3, 4))
	line := 0
	for q := range 300 {
		n := 1 + rng.IntN(400)
		if q == 150 {
			n = 90_000 // the rows of one query are more than a chunk
		}
		for r := range n {
			line++
			score := float64(n-r) / 7
			fmt.Fprintf(&b, "query%d Q0 document-%d %d %v tag\n", q, rng.IntN(1e9), r+1, score)
		}
	}
	text := b.String()
	want, _ = twin(text)
	if len(text) < 3*chunkSize {
		t.Fatalf("%d bytes are too few", len(text))
	}
	for name, in := range map[string]io.Reader{
		"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := readAll(t, NewReader(in, "run", Options{}))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d, %v", name, len(got), len(want), err)
		}
		for i := range got {
			if !sameRow(got[i], want[i]) {
				t.Fatalf("%s, row %d: %+v, want %+v", name, i, got[i], want[i])
			}
		}
	}
	broken := errors.New("the line went dead")
	_, err := readAll(t, NewReader(io.MultiReader(strings.NewReader(text[:len(text)/2]), iotest.ErrReader(broken)), "run", Options{}))
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// Reading allocates by the block and not by the row.
func TestReaderAllocations(t *testing.T) {
	var b bytes.Buffer
	for q := range 200 {
		for r := range 1000 {
			fmt.Fprintf(&b, "%d Q0 D%07d %d %.6f tag\n", q, r*7, r+1, 30-float64(r)/100)
		}
	}
	text := b.Bytes()
	n := testing.AllocsPerRun(3, func() {
		r := NewReader(bytes.NewReader(text), "run", Options{})
		var blk ranking.Block
		for {
			if err := r.Next(&blk); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 1000 { // 200,000 rows
		t.Errorf("%.0f allocations", n)
	}
}

// endless gives rows without end, query by query.
type endless struct {
	line, left int
	rest       []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left -= 100; e.left < 0 {
			return 0, io.EOF
		}
		for range 100 {
			e.rest = fmt.Appendf(e.rest, "query%d Q0 document-%d 1 %d tag\n", e.line/1000, e.line, 1000-e.line%1000)
			e.line++
		}
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A run takes as much memory as a block, however long it is.
func TestReaderMemory(t *testing.T) {
	r := NewReader(&endless{left: 2_000_000}, "run", Options{})
	var b ranking.Block
	rows, largest := 0, 0
	for {
		err := r.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += b.Docs.Len()
		largest = max(largest, cap(b.Docs.Bytes)+cap(r.in.carry)+4*(cap(b.Docs.Start)+cap(b.Docs.End)+cap(b.Rank))+8*cap(b.Score))
	}
	if rows != 2_000_000 || largest > 4*chunkSize { // 75 MB of text
		t.Errorf("%d rows in blocks of up to %d bytes", rows, largest)
	}
}

func BenchmarkReader(b *testing.B) {
	var buf bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 1))
	for q := range 200 {
		for r := range 1000 {
			fmt.Fprintf(&buf, "%d Q0 %d %d %.6f bm25\n", 1000000+q, rng.IntN(8841823), r+1, 30-float64(r)/100)
		}
	}
	text := buf.Bytes()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r := NewReader(bytes.NewReader(text), "run", Options{})
		var blk ranking.Block
		for {
			if err := r.Next(&blk); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*200_000/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
