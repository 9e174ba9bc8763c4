package corpus

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wheel writes a zip file of gzipped API descriptions.
func wheel(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "botocore.whl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, content := range files {
		w, err := z.Create(name)
		if err == nil {
			if strings.HasSuffix(name, ".gz") {
				content = string(gzipped(t, []byte(content)))
			}
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const zooAPI = `{
 "metadata": {"apiVersion": "2020"},
 "operations": {
  "Second": {"name": "Second", "documentation": "<p>Only   text.</p>"},
  "First": {
   "input": {"shape": "In"}, "output": {"shape": "Out"}, "errors": [{"shape": "Oops"}],
   "documentation": "<p>Does it.</p> <p>Well &amp; fast.</p>"
  },
  "Bare": {"output": {"shape": "Out"}}
 },
 "shapes": {
  "In": {"type": "structure", "documentation": "not said", "members": {
   "Zebra": {"shape": "Name", "documentation": "<p>A name.</p>"},
   "Ape": {"shape": "Cage"},
   "List": {"shape": "Cages", "documentation": ""},
   "Map": {"shape": "Table", "documentation": "A map."}
  }},
  "Name": {"type": "string", "documentation": "Of the shape."},
  "Cage": {"type": "structure", "documentation": "A cage.", "members": {
   "Inner": {"shape": "Cage", "documentation": "Recursive."},
   "Plain": {"shape": "Text"},
   "Owner": {"shape": "Name"}
  }},
  "Cages": {"type": "list", "member": {"shape": "Cage", "documentation": "not said"}},
  "Table": {"type": "map", "key": {"shape": "Name"}, "value": {"shape": "Row"}},
  "Row": {"type": "structure", "members": {"Cell": {"shape": "Text", "documentation": "A cell."}}},
  "Text": {"type": "string"},
  "Out": {"type": "structure", "members": {
   "Cage": {"shape": "Cage", "documentation": "Said before."},
   "Token": {"shape": "Text", "documentation": "New."}
  }},
  "Oops": {"type": "structure", "members": {"message": {"shape": "Text", "documentation": "not said"}}}
 }
}`

func TestTechdocsRule(t *testing.T) {
	path := wheel(t, map[string]string{
		"botocore/data/zoo/2020-01-01/service-2.json.gz":    zooAPI,
		"botocore/data/zoo/2019-12-31/service-2.json.gz":    `{"operations":{"Old":{"documentation":"old"}},"shapes":{}}`,
		"botocore/data/ant/2014-01-01/service-2.json.gz":    `{"shapes":{},"operations":{"Dig":{"documentation":"Digs."}}}`,
		"botocore/data/ant/2014-01-01/paginators-1.json.gz": `broken`,
		"botocore/data/endpoints.json":                      `broken`,
	})
	var out bytes.Buffer
	m, err := BuildTechdocs(path, &out)
	if err != nil {
		t.Fatal(err)
	}
	docs, _, err := drain(t, NewJSONL(bytes.NewReader(out.Bytes()), "out", Options{Strict: true}))
	if err != nil {
		t.Fatal(err)
	}
	want := []doc{
		{"ant.Dig", "", "Digs."},
		{"zoo.Bare", "", "Cage: Said before.\nInner: Recursive.\nOwner: Of the shape.\nToken: New."},
		{"zoo.First", "", "Does it. Well & fast.\nZebra: A name.\nApe: A cage.\nInner: Recursive.\nOwner: Of the shape.\nMap: A map.\nCell: A cell.\nCage: Said before.\nToken: New."},
		{"zoo.Second", "", "Only text."},
	}
	if !slices.Equal(docs, want) {
		t.Errorf("got\n%q\nwant\n%q", docs, want)
	}
	again, err := Scan(NewJSONL(bytes.NewReader(out.Bytes()), "out", Options{}), Techdocs, TechdocsRule, nil)
	if err != nil || again != m || m.Documents != 4 {
		t.Errorf("manifest %+v, of what was written %+v, %v", m, again, err)
	}
}

func TestTechdocsRefuses(t *testing.T) {
	const name = "botocore/data/zoo/2020-01-01/service-2.json.gz"
	for _, c := range []struct{ content, want string }{
		{`{"operations":{"Op":{"input":{"shape":"In"}}}}`, `operation Op: no shape "In"`},
		{`{"operations":{},"shapes":{"S":{"members":{"M":{}}}}}`, `shape S: member M: no shape ""`},
		{`{"operations":{},"shapes":{"S":{"member":{"shape":"X"}}}}`, `shape S: no shape "X"`},
		{`{"operations":[]}`, `not JSON at byte 15: expected an object`},
		{`{"operations":{`, `not JSON at byte 16: the line ends inside a value`},
	} {
		path := wheel(t, map[string]string{name: c.content})
		_, err := BuildTechdocs(path, io.Discard)
		wantError(t, err, ErrWheel, "build techdocs from "+path+": not a usable botocore wheel: parse "+name+": "+c.want)
	}

	path := wheel(t, map[string]string{"botocore/__init__.py": ""})
	_, err := BuildTechdocs(path, io.Discard)
	wantError(t, err, ErrWheel, "build techdocs: not a usable botocore wheel: "+path+" has no botocore/data/SERVICE/DATE/service-2.json.gz")

	path = write(t, "x.whl", []byte("no zip"))
	_, err = BuildTechdocs(path, io.Discard)
	wantError(t, err, ErrWheel, "build techdocs: not a usable botocore wheel: open "+path+": zip: not a valid zip file")

	full := errors.New("disk full")
	many := map[string]string{}
	for i := range 20 {
		many[fmt.Sprintf("botocore/data/s%d/1/service-2.json.gz", i)] = `{"operations":{"Op":{"documentation":"` + strings.Repeat("word ", 1<<16) + `"}},"shapes":{}}`
	}
	_, err = BuildTechdocs(wheel(t, many), failing{full})
	wantError(t, err, full, "write corpus: disk full")
}

// failing refuses every write.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestLawLengths(t *testing.T) {
	lengths := LawLengths()
	if slices.IsSorted(lengths) {
		t.Error("the lengths are not shuffled")
	}
	if !slices.Equal(lengths, LawLengths()) {
		t.Error("two calls differ")
	}
	// The same on every machine, though it comes from floating point.
	if h := fnv64(fmt.Append(nil, lengths)); h != 0xf203d38b636fb56d {
		t.Errorf("checksum %#x of the lengths", h)
	}
	slices.Sort(lengths)
	sum := int64(0)
	for _, n := range lengths {
		sum += n
	}
	if n := len(lengths); n != 23_000 || lengths[0] != 2 || lengths[n-1] != 329_116 || sum != 23_000*1_873 {
		t.Errorf("%d lengths from %d to %d, mean %v", n, lengths[0], lengths[n-1], float64(sum)/float64(n))
	}
	// A long tail: the median is far below the mean, and the longest hundredth of
	// the documents holds a large part of the text.
	tail := int64(0)
	for _, n := range lengths[len(lengths)*99/100:] {
		tail += n
	}
	if m, share := lengths[len(lengths)/2], float64(tail)/float64(sum); m != 547 && m != 548 || share < 0.2 || share > 0.35 {
		t.Errorf("median %d, share of the longest hundredth %.3f", m, share)
	}
}

func TestTwoPieceIsALogNormal(t *testing.T) {
	// Where the law is symmetric both halves have one σ: quantiles are known.
	const n, median, sigma = 10001, 1000.0, 0.5
	top := math.Sqrt2 * math.Erfinv(1-1.0/n)
	lo, hi := int64(math.Round(median*math.Exp(-sigma*top))), int64(math.Round(median*math.Exp(sigma*top)))
	got := twoPiece(n, lo, hi, int64(math.Round(median*math.Exp(sigma*sigma/2))))
	if !slices.IsSorted(got) {
		t.Error("lengths are not ascending")
	}
	for _, q := range []struct{ p, z float64 }{{0.5, 0}, {0.8413447, 1}, {0.1586553, -1}, {0.9772499, 2}} {
		want := median * math.Exp(sigma*q.z)
		if g := float64(got[int(q.p*n)]); math.Abs(g/want-1) > 0.01 { // rounding of the three figures to integers
			t.Errorf("quantile %v: %v, want %v", q.p, g, want)
		}
	}
}

func words(b []byte) int { return len(bytes.Fields(b)) }

func TestRegroup(t *testing.T) {
	build := func() (string, Law) {
		p := newParagraphs(words)
		p.add([]byte("a b c\nd e\n \nf"))
		p.add([]byte("d e\ng h i j k"))
		var out bytes.Buffer
		law, err := regroup(p, []int64{2, 1, 7, 1, 30, 2}, &out)
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), law
	}
	out, law := build()
	want := []doc{
		{"law-00000", "", "a b"},
		{"law-00001", "", "c"},
		{"law-00002", "", "d e\nf\nd e\ng h"},
		{"law-00003", "", "i"},
		{"law-00004", "", "j k\na b c\nd e\nf\nd e\ng h i j k\na b c\nd e\nf\nd e\ng h i j k\na b"},
		{"law-00005", "", "c\nd"},
	}
	docs, _, err := drain(t, NewJSONL(strings.NewReader(out), "out", Options{Strict: true}))
	if err != nil || !slices.Equal(docs, want) {
		t.Errorf("got\n%q\nwant\n%q\n%v", docs, want, err)
	}
	if law.Documents != 6 || law.Tokens != 43 || law.SourceTokens != 13 || law.DistinctTokens != 11 ||
		law.Shortest != 1 || law.LongestTokens != 30 || law.DroppedTokens != 0 {
		t.Errorf("%+v", law)
	}
	if got, want := law.Repetition(), "every paragraph of techdocs is used 3.31 times, every distinct one 3.91 times on average"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if again, l := build(); again != out || l != law {
		t.Error("two builds differ")
	}
}

// TestRegroupDropsWordsThatDoNotFit counts a word as its letters.
func TestRegroupDropsWordsThatDoNotFit(t *testing.T) {
	letters := func(b []byte) int { return len(b) - bytes.Count(b, []byte(" ")) - bytes.Count(b, []byte("\n")) }
	p := newParagraphs(letters)
	p.add([]byte("aaa bbbb c dd"))
	var out bytes.Buffer
	law, err := regroup(p, []int64{4, 2, 2}, &out)
	if err != nil {
		t.Fatal(err)
	}
	docs, _, _ := drain(t, NewJSONL(&out, "out", Options{Strict: true}))
	want := []doc{{"law-00000", "", "aaa c"}, {"law-00001", "", "dd"}, {"law-00002", "", "c\nc"}}
	if !slices.Equal(docs, want) {
		t.Errorf("got %q, want %q", docs, want)
	}
	for i, n := range []int{4, 2, 2} {
		if got := letters([]byte(docs[i].text)); got != n {
			t.Errorf("document %d has %d letters, want %d", i, got, n)
		}
	}
	if law.DroppedTokens != 4+3+4+2+3+4 {
		t.Errorf("%+v", law)
	}
}

func TestRegroupRefuses(t *testing.T) {
	_, err := regroup(newParagraphs(words), []int64{1}, io.Discard)
	wantError(t, err, nil, "build techdocs-law: the source has no text")

	for _, count := range []func([]byte) int{
		func(b []byte) int { return len(b) },       // not a sum over words
		func(b []byte) int { return 2 * words(b) }, // no odd number is reached
	} {
		p := newParagraphs(count)
		p.add([]byte("a bb ccc"))
		_, err = regroup(p, []int64{3}, io.Discard)
		if err == nil || !strings.HasSuffix(err.Error(), "tokens, not 3: the counter is not the sum over words, or no word fits the rest") {
			t.Errorf("%v", err)
		}
	}

	p := newParagraphs(words)
	p.add([]byte("a b"))
	full := errors.New("disk full")
	_, err = regroup(p, []int64{2}, failing{full})
	wantError(t, err, full, "write corpus: disk full")
}
