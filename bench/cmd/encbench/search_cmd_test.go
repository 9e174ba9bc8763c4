package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"encbench/engine"
	"encbench/engine/vectors"
)

// searchFiles writes four documents and two queries.
func searchFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	putVectors(t, "docs.npy", 2, 3, 0, 0, 2, 3, 4, 3, 0)
	putVectors(t, "queries.npy", 2, 1, 0, 0.5, 0.5)
	put(t, map[string]string{"docs.txt": "north\nsouth\r\neast\nwest", "queries.txt": "q1\nq2\n"})
}

func TestSearch(t *testing.T) {
	searchFiles(t)
	names := strings.Fields("search --docs docs.npy --queries queries.npy --doc-ids docs.txt --query-ids queries.txt --tag t")
	for args, want := range map[string]string{
		// Rows 0, 2 and 3 tie: the lower two are in, and stand by identifier descending.
		"-k 2":                 "q1 Q0 north 1 3 t\nq1 Q0 east 2 3 t\nq2 Q0 east 1 3.5 t\nq2 Q0 north 2 1.5 t\n",
		"-k 2 --metric cosine": "q1 Q0 west 1 1 t\nq1 Q0 north 2 1 t\nq2 Q0 east 1 0.9899494647979736 t\nq2 Q0 north 2 0.7071067690849304 t\n",
		"-k 1 --metric l2":     "q1 Q0 north 1 -4 t\nq2 Q0 south 1 -2.5 t\n",
		"-k 100 --path exact": "q1 Q0 west 1 3 t\nq1 Q0 north 2 3 t\nq1 Q0 east 3 3 t\nq1 Q0 south 4 0 t\n" +
			"q2 Q0 east 1 3.5 t\nq2 Q0 west 2 1.5 t\nq2 Q0 north 3 1.5 t\nq2 Q0 south 4 1 t\n",
		"-k 1 --store bfloat16 --threads 1": "q1 Q0 north 1 3 t\nq2 Q0 east 1 3.5 t\n",
	} {
		got := ok(t, append(append([]string{}, names...), strings.Fields(args)...)...)
		if got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
		for _, out := range []string{"o.ebrun", "o.run", "o.txt.zst"} {
			ok(t, append(append([]string{}, names...), strings.Fields(args+" --out "+out)...)...)
			if got := ok(t, "run", "cat", out); got != want {
				t.Errorf("%s in %s: %q, want %q", args, out, got, want)
			}
		}
	}
	// Row numbers where there are no identifiers; what is said on standard error.
	r := encbench("", "search", "--docs", "docs.npy", "--queries", "queries.npy", "-k", "1")
	if want := "0 Q0 0 1 3 encbench\n1 Q0 2 1 3.5 encbench\n"; r.code != 0 || r.stdout != want {
		t.Errorf("exit %d, %q, want %q", r.code, r.stdout, want)
	}
	want := regexp.MustCompile(`^documents  4 rows of 2 values kept as float32, \d+ bytes each; metric ip
loading    [\d.]+ (?:µs|ms|s) reading, [\d.]+ (?:µs|ms|s) appending, [\d.]+ (?:µs|ms|s) building codes
search     2 queries in [\d.]+ (?:µs|ms|s): [\d,.]+ queries/s
path       \w+ on [\w-]+ \(.+\); \d (?:query|queries) took the exact path, \d (?:query|queries) scanned twice
(?:device     cpu; CUDA is off: .+\n)?$`)
	if !want.MatchString(r.stderr) {
		t.Errorf("standard error %q, want %s", r.stderr, want)
	}
	if got, want := ok(t, append(names, "--out", "o.ebrun", "-k", "1")...), "o.ebrun: 2 queries, 2 rows, 293 bytes, 146.50 a row\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A matrix of records has the order of the search.
func TestSearchNPY(t *testing.T) {
	searchFiles(t)
	if got, want := ok(t, "search", "--docs", "docs.npy", "--queries", "queries.npy", "-k", "3", "--out", "o.npy"), "o.npy: 2 queries, 6 rows, 200 bytes, 33.33 a row\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b, err := os.ReadFile("o.npy")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, hit := range []struct {
		row   uint64
		score float32
	}{{0, 3}, {2, 3}, {3, 3}, {2, 3.5}, {0, 1.5}, {3, 1.5}} {
		want = binary.LittleEndian.AppendUint64(want, hit.row)
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(hit.score))
	}
	if !bytes.HasSuffix(b, want) || len(b) != 128+len(want) {
		t.Errorf("%q, want a header and %q", b, want)
	}
}

// putNamed writes an .ebvec file of rows of two values, whose identifiers are the
// letters of names.
func putNamed(t *testing.T, file, names string, values ...float32) {
	t.Helper()
	var out bytes.Buffer
	w, err := vectors.NewWriter(&out, vectors.Header{Dim: 2, Type: "float32", IDs: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(engine.HostRows(values, 2), func(i int) []byte { return []byte{names[i]} }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{file: out.String()})
}

// A matrix of no queries keeps its number of columns.
func TestSearchNoQueries(t *testing.T) {
	searchFiles(t)
	putVectors(t, "none.npy", 2)
	ok(t, "search", "--docs", "docs.npy", "--queries", "none.npy", "-k", "3", "--out", "o.npy")
	if b, err := os.ReadFile("o.npy"); err != nil || !strings.Contains(string(b), "'shape': (0, 3)") {
		t.Errorf("%q, %v", b, err)
	}
}

// Identifiers are found however many there are, and a byte order mark is none of them.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "\xef\xbb\xbffirst\n"
	for i := range 5000 {
		text += strconv.Itoa(i*7) + "\n"
	}
	put(t, map[string]string{"ids": text, "again": text + "first"})
	a := &app{}
	n, err := a.readNames("ids")
	if err != nil || n.ids.Len() != 5001 || string(n.at(nil, 0)) != "first" || string(n.at(nil, 5000)) != "34993" {
		t.Errorf("%d identifiers, %v", n.ids.Len(), err)
	}
	if _, err := a.readNames("again"); err == nil || err.Error() != `again:5002: identifier "first" is that of row 0 too; give every row its own` {
		t.Errorf("again: %v", err)
	}
}

// Vectors in our own format bring their identifiers; other types and tensors work.
func TestSearchFormats(t *testing.T) {
	searchFiles(t)
	putNamed(t, "docs.ebvec", "ab", 0, 1, 5, 0)
	header := `{"e":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},"f":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]}}`
	put(t, map[string]string{
		"query.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "\x80\x3f\x00\x40\x00\x00\x00\x00",
	})
	r := encbench("", "search", "--docs", "docs.ebvec", "--queries", "query.safetensors", "--queries-tensor", "e", "-k", "2")
	if want := "0 Q0 b 1 5 encbench\n0 Q0 a 2 2 encbench\n"; r.code != 0 || r.stdout != want {
		t.Errorf("exit %d, %q %q, want %q", r.code, r.stdout, r.stderr, want)
	}
	r = encbench("", "search", "--docs", "docs.ebvec", "--queries", "docs.ebvec", "-k", "1")
	if want := "a Q0 a 1 1 encbench\nb Q0 b 1 25 encbench\n"; r.code != 0 || r.stdout != want {
		t.Errorf("exit %d, %q %q, want %q", r.code, r.stdout, r.stderr, want)
	}
}

func TestSearchErrors(t *testing.T) {
	searchFiles(t)
	putVectors(t, "three.npy", 3, 1, 2, 3)
	putVectors(t, "nan.npy", 2, 1, 2, float32(math.NaN()), 0)
	putVectors(t, "none.npy", 2)
	put(t, map[string]string{
		"short.txt": "a\nb\n", "gap.txt": "a\n\nb\n", "white.txt": "a\nb c\n", "long.txt": strings.Repeat("x", 70000),
		"twice.txt": "a\na\nb\nc\n", "notes.ebrun": "my notes", "same.txt": "q\nq\n", "empty.npy": "",
	})
	putNamed(t, "twice.ebvec", "baa", 1, 0, 0, 1, 1, 1)
	const see = "\nSee `encbench search --help`.\n"
	for args, want := range map[string]string{
		"":                                     "--docs and --queries: both name a file of vectors" + see,
		"--docs - --queries -":                 "--docs and --queries: only one of them can be standard input" + see,
		"D --metric x --store y -k 0":          "--metric \"x\": ip, cosine, l2\n--store \"y\": given, float32, float16, bfloat16, int8\n-k 0: 1 or more" + see,
		"D --path z --threads -1":              "--path \"z\": auto, exact, int16, int8\n--threads -1: must not be negative" + see,
		"D --format npy":                       "--format npy needs a file: --out FILE" + see,
		"D --format csv":                       "--format \"csv\": trec, ebrun, npy" + see,
		"D --out o.csv":                        "--out o.csv: the ending says the format: .ebrun, .npy, or .run, .txt or .trec; or give --format" + see,
		"D --out o.npy --format trec":          "--format trec and --out o.npy contradict each other" + see,
		"D --out notes.ebrun":                  "--out notes.ebrun exists and is no earlier result; name another file, or remove it" + see,
		"D --out three.npy":                    "--out three.npy exists and is no earlier result; name another file, or remove it" + see,
		"D --out docs.npy":                     "--out docs.npy is an input of this command; name another file" + see,
		"D extra":                              "unexpected argument \"extra\"" + see,
		"D --queries three.npy":                "--queries three.npy has vectors of 3 values, --docs docs.npy of 2\n",
		"D --docs nope":                        "--docs: open input: open nope: no such file or directory\n",
		"D --docs none.npy":                    "--docs none.npy has no rows\n",
		"D --docs docs.txt":                    "--docs: read docs.txt: not a readable file of vectors: it starts with \"north\\nsou\"; .npy, .safetensors and .ebvec are read\n",
		"D --doc-ids short.txt":                "--doc-ids short.txt has 2 identifiers, --docs docs.npy has 4 rows\n",
		"D --query-ids docs.txt":               "--query-ids docs.txt has 4 identifiers, --queries queries.npy has 2 rows\n",
		"D --doc-ids gap.txt":                  "--doc-ids: gap.txt:2: an empty line, want an identifier\n",
		"D --doc-ids white.txt":                "--doc-ids: white.txt:2:2: white space in identifier \"b c\", want one identifier a line\n",
		"D --doc-ids long.txt":                 "--doc-ids: long.txt:1: an identifier of more than 65535 bytes\n",
		"D --doc-ids nope":                     "--doc-ids: open input: open nope: no such file or directory\n",
		"D --query-ids same.txt --out o.ebrun": "--query-ids: same.txt:2: identifier \"q\" is that of row 0 too; give every row its own\n",
		"D --doc-ids twice.txt":                "--doc-ids: twice.txt:2: identifier \"a\" is that of row 0 too; give every row its own\n",
		"D --docs twice.ebvec":                 "--docs twice.ebvec: row 2: identifier \"a\" is that of row 1 too; give every row its own\n",
		"D --queries empty.npy":                "--queries: read empty.npy: not a readable file of vectors: it is empty\n",
	} {
		args = strings.Replace(args, "D", "--docs docs.npy --queries queries.npy", 1)
		r := encbench("", append([]string{"search"}, strings.Fields(args)...)...)
		if want := "encbench search: " + want; r.code == 0 || r.stderr != want {
			t.Errorf("%s: exit %d, %q, want %q", args, r.code, r.stderr, want)
		}
	}
	for args, want := range map[string]string{
		"--docs nan.npy --queries queries.npy": "encbench search: --docs nan.npy: ",
		"--docs docs.npy --queries nan.npy":    "encbench search: --queries nan.npy: rows from 0: ",
	} {
		r := encbench("", append([]string{"search"}, strings.Fields(args)...)...)
		if r.code != 1 || !strings.HasPrefix(r.stderr, want) {
			t.Errorf("%s: exit %d, %q, want %q…", args, r.code, r.stderr, want)
		}
	}
	if _, err := os.Stat("o.ebrun"); err == nil {
		t.Error("something was written")
	}
}
