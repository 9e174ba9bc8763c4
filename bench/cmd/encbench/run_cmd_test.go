package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"encbench/engine"
	"encbench/engine/vectors"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
)

// put writes files into the test's folder.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// ok runs the program, which must succeed, and gives its output.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	r := encbench("", args...)
	if r.code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, r.code, r.stderr)
	}
	return r.stdout
}

// runExamples writes what the examples of the run commands and of search read.
func runExamples(t *testing.T) {
	put(t, map[string]string{
		"run.txt":    "7 Q0 d1 1 2.5 mine\n7 Q0 d2 2 1.5 mine\n8 Q0 d1 1 1 mine\n",
		"more.txt":   "m1 Q0 d1 1 2.5 mine\n",
		"shard1.txt": "7 Q0 d1 1 2.5 mine\n",
		"shard2.txt": "7 Q0 d2 1 1.5 mine\n",
	})
	for _, name := range []string{"run", "shard1", "shard2"} {
		ok(t, "run", "convert", name+".txt", name+".ebrun", "-k", "10")
	}
	putVectors(t, "docs.npy", 3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1)
	putVectors(t, "queries.npy", 3, 1, 0, 0, 0, 1, 1)
}

// putVectors writes a .npy file.
func putVectors(t *testing.T, name string, dim int, values ...float32) {
	t.Helper()
	var out bytes.Buffer
	rows := engine.HostRows(values, dim)
	w, err := vectors.NewNPYWriter(&out, int64(rows.N), dim, engine.F32)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{name: out.String()})
}

// unsorted has ties, ranks that say nothing, and a query that is not sorted.
const unsorted = "2 Q0 a 1 1 t\n2 Q0 c 2 1 t\n2 Q0 b 3 7.25 t\n10 Q0 z 1 -0.125 t\n"

// sorted is unsorted in trec_eval's order.
const sorted = "2 Q0 b 1 7.25 t\n2 Q0 c 2 1 t\n2 Q0 a 3 1 t\n10 Q0 z 1 -0.125 t\n"

func TestRunConvert(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"in.txt": unsorted})
	if got, want := ok(t, "run", "convert", "in.txt", "a.ebrun"), "a.ebrun: 2 queries, 4 rows, 238 bytes, 59.50 a row\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	from := "a.ebrun"
	for _, to := range []string{"b.run", "c.txt.gz", "d.ebrun", "e.trec.zst", "f.ebrun"} {
		ok(t, "run", "convert", from, to)
		if got := ok(t, "run", "cat", to); got != sorted {
			t.Errorf("%s: %q, want %q", to, got, sorted)
		}
		from = to
	}
	// Files are what their names say, and a result may be replaced.
	for name, begin := range map[string]string{"b.run": "2 Q0", "c.txt.gz": "\x1f\x8b", "e.trec.zst": "\x28\xb5\x2f\xfd", "f.ebrun": "\x89EBRUN\r\n"} {
		if b, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(b), begin) {
			t.Errorf("%s begins with %q, %v", name, b[:min(8, len(b))], err)
		}
		ok(t, "run", "convert", "in.txt", name)
	}
	ok(t, "run", "convert", "in.txt", "g.ebrun", "--order", "given", "--tag", "other", "--note", "as it came", "-k", "3")
	if got, want := ok(t, "run", "cat", "g.ebrun"), strings.ReplaceAll(unsorted, " t\n", " other\n"); got != want {
		t.Errorf("as given: %q, want %q", got, want)
	}
	// Standard input, and a text whose queries do not stand together.
	r := encbench(unsorted, "run", "convert", "-", "h.ebrun")
	if r.code != 0 || ok(t, "run", "cat", "h.ebrun") != sorted {
		t.Errorf("standard input: exit %d, %s", r.code, r.stderr)
	}
	put(t, map[string]string{"mixed.txt": "2 Q0 a 1 1 t\n10 Q0 z 1 -0.125 t\n2 Q0 c 2 1 t\n2 Q0 b 3 7.25 t\n"})
	r = encbench("", "run", "convert", "mixed.txt", "i.ebrun")
	if r.code != 0 || ok(t, "run", "cat", "i.ebrun") != sorted || !strings.HasSuffix(r.stderr, "; reading it again in memory\n") {
		t.Errorf("mixed: exit %d, %s", r.code, r.stderr)
	}
}

func TestRunCat(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"in.txt": sorted})
	ok(t, "run", "convert", "in.txt", "in.ebrun")
	lines := strings.SplitAfter(sorted, "\n")
	for _, in := range []string{"in.txt", "in.ebrun"} {
		for args, want := range map[string]string{
			"--depth 1":               lines[0] + lines[3],
			"--query 10":              lines[3],
			"--query 2 --depth 2":     lines[0] + lines[1],
			"--query 2 --query 10":    sorted,
			"--tag x --query 10":      "10 Q0 z 1 -0.125 x\n",
			"--lenient --query 10":    lines[3],
			"--query 10 --depth 1000": lines[3],
		} {
			if got := ok(t, append([]string{"run", "cat", in}, strings.Fields(args)...)...); got != want {
				t.Errorf("%s %s: %q, want %q", in, args, got, want)
			}
		}
		r := encbench("", "run", "cat", in, "--query", "3")
		if want := "encbench run cat: " + in + " has no query \"3\"\n"; r.code != 1 || r.stderr != want {
			t.Errorf("exit %d, %q, want %q", r.code, r.stderr, want)
		}
	}
	if got := ok(t, "run", "cat", "in.txt", "in.ebrun"); got != sorted+sorted {
		t.Errorf("two files: %q", got)
	}
}

func TestRunInfo(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"in.txt": sorted})
	ok(t, "run", "convert", "in.txt", "in.ebrun", "-k", "3", "--note", "self hits kept")
	want := `run           in.ebrun
format        compressed columns, schema 1, rows in trec order
cut at        3
tag           t
note          self hits kept
queries       2, 0 without documents
rows          4, longest list 3
size          265 bytes, 66.25 a row
as TREC text  61 bytes, 15.25 a row: 0.23 times as large
frames        1, 1 list tied at the cut
integrity     every checksum is right
`
	if got := ok(t, "run", "info", "in.ebrun"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	want = `run           in.txt
format        text, trec
tag           t
queries       2, 0 without documents
rows          4, longest list 3
size          61 bytes, 15.25 a row
as TREC text  61 bytes, 15.25 a row: 1.00 times as large
`
	if got := ok(t, "run", "info", "in.txt"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// bigRun is a run of three frames.
func bigRun() string {
	var b strings.Builder
	for q := range 1500 {
		for d := range 100 {
			fmt.Fprintf(&b, "q%d Q0 d%d %d %d t\n", q, (q*31+d*17)%5000, d+1, 100-d)
		}
	}
	return b.String()
}

// A damaged frame is named, the others are kept, and nobody takes it for success.
func TestRunDamaged(t *testing.T) {
	t.Chdir(t.TempDir())
	text := bigRun()
	put(t, map[string]string{"big.txt": text})
	ok(t, "run", "convert", "big.txt", "big.ebrun")
	file, err := os.ReadFile("big.ebrun")
	if err != nil {
		t.Fatal(err)
	}
	f, err := run.OpenFile(bytes.NewReader(file), int64(len(file)), "big.ebrun")
	if err != nil {
		t.Fatal(err)
	}
	second := f.Frames()[1]
	broken := slices.Clone(file)
	broken[second.Offset+second.Bytes-1] ^= 1
	put(t, map[string]string{"broken.ebrun": string(broken), "short.ebrun": string(file[:second.Offset+second.Bytes/2])})
	fault := fmt.Sprintf("read broken.ebrun: damaged run file: frame 2 at byte %d: the checksum of its %d bytes is ", second.Offset, second.Bytes-48)
	lost := "; lost: 655 queries, 65500 rows\n"
	for _, args := range [][]string{{"run", "cat", "broken.ebrun"}, {"run", "convert", "broken.ebrun", "x.txt"}} {
		r := encbench("", args...)
		if begin := "encbench run " + args[1] + ": " + fault; r.code != 1 || !strings.HasPrefix(r.stderr, begin) || !strings.HasSuffix(r.stderr, lost) {
			t.Errorf("%v: exit %d, %q, want %q…%q", args, r.code, r.stderr, begin, lost)
		}
	}
	if _, err := os.Stat("x.txt"); err == nil {
		t.Error("a damaged run was converted")
	}
	r := encbench("", "run", "convert", "--lenient", "broken.ebrun", "x.txt")
	if r.code != 0 || !strings.HasPrefix(r.stderr, "encbench run convert: passed over: "+fault) || r.stdout != "x.txt: 845 queries, 84,500 rows, 1,834,896 bytes, 21.71 a row\n" {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	r = encbench("", "run", "info", "broken.ebrun")
	if r.code != 1 || !strings.HasSuffix(r.stdout, "integrity     1 fault, 2 whole frames\n") || !strings.HasPrefix(r.stderr, "encbench run info: "+fault) {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	r = encbench("", "run", "cat", "short.ebrun")
	want := fmt.Sprintf("encbench run cat: read short.ebrun: truncated run file: frame 2 at byte %d: the file ends after %d of its %d bytes; the 655 queries (65500 rows) before are whole; lost: 655 queries, 65500 rows\n",
		second.Offset, second.Bytes/2, second.Bytes)
	if r.code != 1 || r.stderr != want {
		t.Errorf("exit %d, %q, want %q", r.code, r.stderr, want)
	}
	if whole := strings.Index(text, "q655 "); r.stdout != text[:whole] {
		t.Errorf("%d bytes were printed, want the %d of the whole frame", len(r.stdout), whole)
	}
}

func TestRunMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{
		"a.txt":     "1 Q0 x 1 3 t\n1 Q0 y 2 1 t\n2 Q0 x 1 1 t\n",
		"b.txt":     "1 Q0 z 1 2 t\n1 Q0 w 2 1 t\n",
		"other.txt": "1 Q0 x 1 4 u\n",
		"joined":    "3 Q0 x 1 4 u\n",
		"mine.run":  "what I think of it\n",
	})
	ok(t, "run", "convert", "a.txt", "a.ebrun", "-k", "2")
	ok(t, "run", "convert", "b.txt", "b.ebrun", "-k", "2")
	r := encbench("", "run", "merge", "--out", "m.ebrun", "a.ebrun", "b.ebrun")
	want := "encbench run merge: 1 of 2 queries came from several inputs; 2 rows below the cut, 0 repeated; 0 ties at the cut; at most 1 query waited\n"
	if r.code != 0 || r.stderr != want {
		t.Errorf("exit %d, %q, want %q", r.code, r.stderr, want)
	}
	merged := "1 Q0 x 1 3 t\n1 Q0 z 2 2 t\n2 Q0 x 1 1 t\n"
	if got := ok(t, "run", "cat", "m.ebrun"); got != merged {
		t.Errorf("%q, want %q", got, merged)
	}
	ok(t, "run", "merge", "--out", "m.run.gz", "a.txt", "b.ebrun", "-k", "2")
	if got := ok(t, "run", "cat", "m.run.gz"); got != merged {
		t.Errorf("%q, want %q", got, merged)
	}
	ok(t, "run", "merge", "--out", "j.run", "a.txt", "joined", "--tag", "both")
	if got, want := ok(t, "run", "cat", "j.run"), "1 Q0 x 1 3 both\n1 Q0 y 2 1 both\n2 Q0 x 1 1 both\n3 Q0 x 1 4 both\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for args, want := range map[string]string{
		"--out x.ebrun a.txt b.txt":           "encbench run merge: merge depth: a.txt does not say at which depth its lists were cut, and other inputs have its query \"1\" too; state the depth (-k)\nSee `encbench run merge --help`.\n",
		"--out x.ebrun a.ebrun b.ebrun -k 3":  "encbench run merge: merge depth: the lists of a.ebrun were cut at 2, so a merge is exact only up to that, not to 3 (-k)\nSee `encbench run merge --help`.\n",
		"--out x.ebrun a.ebrun other.txt -k2": "encbench run merge: merge: query \"1\": document \"x\" has score 3 in a.ebrun and 4 in other.txt\n",
		"--out x.ebrun a.ebrun -":             "encbench run merge: run merge reads its inputs twice, so standard input cannot be one\nSee `encbench run merge --help`.\n",
		"--out a.ebrun a.ebrun b.ebrun":       "encbench run merge: --out a.ebrun is an input of this command; name another file\nSee `encbench run merge --help`.\n",
		"--out x.ebrun a.ebrun":               "encbench run merge: run merge takes two runs or more, 1 given\nSee `encbench run merge --help`.\n",
		"--out x.ebrun":                       "encbench run merge: run merge takes two runs or more, 0 given\nSee `encbench run merge --help`.\n",
		"a.ebrun b.ebrun":                     "encbench run merge: --out: name the file to write, as in run merge --out OUT IN IN\nSee `encbench run merge --help`.\n",
		"--out mine.run a.txt b.txt":          "encbench run merge: --out mine.run exists and is no earlier result; name another file, or remove it\nSee `encbench run merge --help`.\n",
		"--out - a.txt b.txt":                 "encbench run merge: --out: the result goes to a file; `encbench run cat` writes to standard output\nSee `encbench run merge --help`.\n",
	} {
		r := encbench("", append([]string{"run", "merge"}, strings.Fields(args)...)...)
		if r.code == 0 || r.stderr != want {
			t.Errorf("%s: exit %d, %q, want %q", args, r.code, r.stderr, want)
		}
	}
	// A forgotten --out costs no input.
	if got, want := ok(t, "run", "cat", "a.ebrun"), "1 Q0 x 1 3 t\n1 Q0 y 2 1 t\n2 Q0 x 1 1 t\n"; got != want {
		t.Errorf("the first input became %q, want %q", got, want)
	}
	if left, err := os.ReadDir("."); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool {
		return strings.Contains(e.Name(), "partial") || strings.HasPrefix(e.Name(), "x.")
	}) {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestRunErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{
		"in.txt":    sorted,
		"mixed.txt": "1 Q0 x 1 3 t\n2 Q0 x 1 1 t\n1 Q0 y 1 2 t\n",
		"twice.txt": "1 Q0 x 1 3 t\n1 Q0 x 2 2 t\n",
		"notes.txt": "my own notes\n",
		"empty.txt": "",
	})
	see := func(c string) string { return "\nSee `encbench run " + c + " --help`.\n" }
	for args, want := range map[string]string{
		"convert in.txt":                        "run convert takes a run and the file to write, 1 given" + see("convert"),
		"convert in.txt out.parquet":            "OUT out.parquet: the ending says the format: .ebrun (compressed columns), or .run, .txt or .trec (TREC text), which .gz or .zst may follow" + see("convert"),
		"convert in.txt out.ebrun.zst":          "OUT out.ebrun.zst: the ending says the format: .ebrun (compressed columns), or .run, .txt or .trec (TREC text), which .gz or .zst may follow" + see("convert"),
		"convert in.txt -":                      "OUT: the result goes to a file; `encbench run cat` writes to standard output" + see("convert"),
		"convert in.txt notes.txt":              "OUT notes.txt exists and is no earlier result; name another file, or remove it" + see("convert"),
		"convert in.txt in.txt":                 "OUT in.txt is an input of this command; name another file" + see("convert"),
		"convert in.txt o.ebrun -k -1":          "--depth -1: must not be negative" + see("convert"),
		"convert in.txt o.ebrun --order up":     "--order \"up\": trec or given" + see("convert"),
		"convert in.txt o.ebrun --run-format x": "--run-format: unknown run format \"x\": auto, trec, msmarco, scores, pairs, json" + see("convert"),
		"convert nope o.ebrun":                  "open input: open nope: no such file or directory\n",
		"convert twice.txt o.ebrun":             "convert twice.txt: write o.ebrun: write run: query \"1\" names document \"x\" twice\n",
		"convert empty.txt o.ebrun":             "empty.txt: no rows: the file is empty\n",
		"cat empty.txt":                         "empty.txt: no rows: the file is empty\n",
		"info empty.txt":                        "empty.txt: no rows: the file is empty\n",
		"merge --out o.ebrun empty.txt in.txt":  "empty.txt: no rows: the file is empty\n",
		"merge --out o.ebrun in.txt mixed.txt":  "mixed.txt: query \"1\" has rows at line 1 and again at line 3: the rows of a query do not stand together; `encbench run convert` puts them together\n",
		"info mixed.txt":                        "mixed.txt: query \"1\" has rows at line 1 and again at line 3: the rows of a query do not stand together; `encbench run convert` puts them together\n",
		"convert in.txt o.ebrun -k 2":           "convert in.txt: query \"2\" has 3 rows, so its list was not cut at 2; give the -k that it was cut at, or leave it out" + see("convert"),
		"cat":                                   "run cat takes at least one run" + see("cat"),
		"cat in.txt --depth -2":                 "--depth -2: must not be negative" + see("cat"),
		"cat nope --query 1":                    "open input: open nope: no such file or directory\n",
		"info":                                  "run info takes one run, 0 given" + see("info"),
	} {
		r := encbench("", append([]string{"run"}, strings.Fields(args)...)...)
		want = "encbench run " + strings.Fields(args)[0] + ": " + want
		if r.code == 0 || r.stderr != want {
			t.Errorf("%s: exit %d, %q, want %q", args, r.code, r.stderr, want)
		}
	}
	r := encbench("", "run", "cat", "mixed.txt")
	if want := ", so that it cannot be printed as a stream; `encbench run convert` reads it in memory\n"; r.code != 1 || !strings.HasSuffix(r.stderr, want) {
		t.Errorf("exit %d, %q, want …%q", r.code, r.stderr, want)
	}
	if _, err := os.Stat("o.ebrun"); err == nil {
		t.Error("something was written")
	}
}

// What a lenient merge passes over is said, and so is what that means.
func TestRunMergeDamaged(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"big.txt": bigRun(), "more.txt": "q0 Q0 other 1 99.5 t\n", "bad.txt": "q0 Q0 x 1 nan t\nq0 Q0 y 2 99 t\n"})
	ok(t, "run", "convert", "big.txt", "big.ebrun", "-k", "100")
	ok(t, "run", "convert", "more.txt", "more.ebrun", "-k", "100")
	file, err := os.ReadFile("big.ebrun")
	if err != nil {
		t.Fatal(err)
	}
	file[len(file)/2] ^= 1
	put(t, map[string]string{"big.ebrun": string(file)})
	r := encbench("", "run", "merge", "--out", "m.ebrun", "big.ebrun", "more.ebrun")
	if want := "encbench run merge: read big.ebrun: damaged run file: frame 2 at byte "; r.code != 1 || !strings.HasPrefix(r.stderr, want) {
		t.Errorf("exit %d, %q, want %q…", r.code, r.stderr, want)
	}
	r = encbench("", "run", "merge", "--out", "m.ebrun", "big.ebrun", "more.ebrun", "--lenient")
	for _, want := range []string{
		"encbench run merge: passed over: read big.ebrun: damaged run file: frame 2 at byte ",
		"; lost: 655 queries, 65500 rows\nencbench run merge: big.ebrun is not whole: lists that it shares with others lack its rows\n",
	} {
		if r.code != 0 || strings.Count(r.stderr, want) != 1 {
			t.Errorf("exit %d, %q, want %q in it once", r.code, r.stderr, want)
		}
	}
	r = encbench("", "run", "merge", "--out", "t.run", "bad.txt", "more.txt", "--lenient", "-k", "5")
	if want := "encbench run merge: bad.txt is not whole: lists that it shares with others lack its rows\n"; r.code != 0 || !strings.Contains(r.stderr, want) {
		t.Errorf("exit %d, %q, want %q in it", r.code, r.stderr, want)
	}
}

// A file's own words neither look like rows of the report nor steer a terminal, and
// an identifier that text cannot carry is said once.
func TestRunHostile(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	w, err := run.NewWriter(&out, run.Header{Model: "m\nintegrity\tfine\x1b[2J\u202e", Tag: "a\tb"})
	if err != nil {
		t.Fatal(err)
	}
	b := ranking.Block{Off: []int32{0, 1}, Score: []float64{1}}
	b.Queries.Append([]byte("q 1"))
	b.Docs.Append([]byte("d\n"))
	if err := errors.Join(w.Write(&b), w.Close()); err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{"h.ebrun": out.String()})
	got := ok(t, "run", "info", "h.ebrun")
	for _, want := range []string{
		"\ntag           a b\nmodel         m integrity fine\uFFFD[2J\uFFFD\n",
		"\nas TREC text  impossible: write a TREC run: query id \"q 1\" is empty or holds white space, which a TREC run cannot carry\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
	r := encbench("", "run", "cat", "h.ebrun")
	if want := "encbench run cat: write a TREC run: query id \"q 1\" is empty or holds white space, which a TREC run cannot carry\n"; r.code != 1 || r.stderr != want {
		t.Errorf("exit %d, %q, want %q", r.code, r.stderr, want)
	}
}

// Several writers of one file at once: one of them is the last, and its file whole.
func TestRunConvertAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"big.txt": bigRun(), "in.txt": sorted})
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			if r := encbench("", "run", "convert", []string{"big.txt", "in.txt"}[i%2], "o.run"); r.code != 0 {
				t.Errorf("exit %d, %s", r.code, r.stderr)
			}
		})
	}
	running.Wait()
	got, err := os.ReadFile("o.run")
	if err != nil || string(got) != sorted && string(got) != ok(t, "run", "cat", "big.txt") {
		t.Errorf("a mixture of %d bytes, %v", len(got), err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 3 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// An interrupted conversion leaves nothing.
func TestRunInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"in.txt": sorted})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"run", "convert", "in.txt", "o.ebrun"}, {"run", "merge", "--out", "o.ebrun", "in.txt", "in.txt"}} {
		r := encbenchContext(ctx, "", args...)
		if want := "encbench run " + args[1] + ": interrupted; nothing was written\n"; r.code != 1 || r.stderr != want {
			t.Errorf("exit %d, %q, want %q", r.code, r.stderr, want)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
