package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
)

// scoreExamples writes the files of score's examples: 12 queries of 30 documents,
// the second run a little better.
func scoreExamples(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 4))
	var qrels, bm25, dense strings.Builder
	for q := range 12 {
		for d := range 30 {
			relevant := d%6 == 0
			if relevant || d%4 == 0 {
				grade := 0
				if relevant {
					grade = 1 + d/6%2
				}
				fmt.Fprintf(&qrels, "q%d 0 d%d %d\n", q, d, grade)
			}
			boost := 0.
			if relevant {
				boost = 0.3
			}
			fmt.Fprintf(&bm25, "q%d Q0 d%d 0 %.4f bm25\n", q, d, boost+rng.Float64())
			fmt.Fprintf(&dense, "q%d Q0 d%d 0 %.4f dense\n", q, d, 2*boost+rng.Float64())
		}
	}
	put(t, map[string]string{"qrels.txt": qrels.String(), "bm25.txt": bm25.String(), "dense.txt": dense.String()})
}

// The outputs of score are goldens: standard output, standard error and exit code.
func TestScoreOutput(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "score.txt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	scoreExamples(t)
	const bad = "q0 Q0 d1 0 1 t\n"
	put(t, map[string]string{
		"odd.qrels":     "query-id\tcorpus-id\tscore\nq0\td1\t1\nq0\td1\t1\nq0\tq0\t2\nq1\td1\t0\nq2\td1\t1\nq3\td1\t0.5\n",
		"odd.run":       "\xef\xbb\xbfq0 Q0 q0 1 3 odd\r\nq0 Q0 d1 2 3 odd\r\nq0 Q0 d7 3 1 odd\r\nq1 Q0 d1 2 1 odd\r\nx Q0 d1 1 1 odd\r\n",
		"scattered.run": "q0 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq0 Q0 d2 2 2 t\n",
		"lenient.run":   bad + "q0 Q0 d1 2 0.5 t\nq0 Q0 d2 3\nq2 Q0 d1 1 inf t\n",
		"nan.run":       bad + "q0 Q0 d2 2 nan t\n",
		"twice.run":     bad + "q0 Q0 d2 2 0.5 t\nq0 Q0 d1 3 0.25 t\n",
		"five.run":      bad + "q0 Q0 d2 2 0.5\n",
		"other.run":     "1 Q0 d1 1 1 t\n2 Q0 d1 1 1 t\n",
		"names.run":     "q0 Q0 doc-1 1 1 t\nq2 Q0 doc-2 1 1 t\n",
		"three.run":     "q0 d1 1\n",
		"two.run":       "q0 d1\n",
		"comma.run":     bad + "q2 Q0 d1 1 9,5 t\n",
		"header.qrels":  "query-id\tcorpus-id\tscore\n",
		"runs.json":     `{"q0": {"d1": 0.5, "d2": 0.75}, "q2": {}}`,
		"empty.run":     "",
		"short.run":     "q0 Q0 d1 1 2\nq0 Q0 d2 1\n",
		"bytes.qrels":   "q\xff 0 d 1\nq\xfe 0 d 1\nq\x1b[1m 0 d 1\n",
		"bytes.run":     "q\xff Q0 d 1 1 t\nq\xfe Q0 d 1 1 t\n",
		"graded.qrels":  "q 0 a -1\nq 0 b 0\nq 0 c 1\nq 0 d 2\nr 0 a 1\n",
		"graded.run":    "q Q0 x 1 9 t\nq Q0 d 2 8 t\nq Q0 a 3 7 t\nq Q0 b 4 6 t\nq Q0 c 5 5 t\n",
		"empty.qrels":   "\n",
		"same.txt":      "q0 Q0 d1 1 1 t\nq2 Q0 d1 1 1 t\n",
	})
	small := "-m nDCG@10,AP,P@5,NumRelRet"
	var got bytes.Buffer
	for _, line := range []string{
		"qrels.txt bm25.txt",
		"qrels.txt bm25.txt --convention trec_eval",
		"qrels.txt bm25.txt --convention trec_eval -m ndcg_cut.5,10 -m map -l 2",
		"qrels.txt bm25.txt dense.txt " + small,
		"qrels.txt bm25.txt dense.txt",
		"qrels.txt bm25.txt dense.txt -m NumRet,Judged@10",
		"qrels.txt bm25.txt dense.txt bm25.txt --convention trec_eval -m map --seed 7 --replicates 2000",
		"odd.qrels odd.run " + small + " -q",
		"odd.qrels odd.run " + small + " --convention beir --ties asc --exclude-without-relevant",
		"odd.qrels odd.run " + small + " --convention mteb --self drop --score-f32",
		"odd.qrels odd.run " + small + " --complete --convention mteb --tie-range -J",
		"odd.qrels odd.run " + small + " --tie-range -J -M 1",
		"graded.qrels graded.run --convention trec_eval -m num_rel -m num_ret -m map -c -l 2 -J -M 3",
		"bytes.qrels bytes.run -m RR -q",
		"bytes.qrels bytes.run -m RR -q --format jsonl",
		"odd.qrels short.run -m RR --lenient",
		"odd.qrels odd.run -m RR --ties rank",
		"odd.qrels odd.run -m RR --ties average",
		"odd.qrels odd.run names.run -m RR -q --format csv",
		"odd.qrels odd.run names.run -m RR,NumRet -q --format tsv",
		"odd.qrels odd.run same.txt -m RR@10 -q --format jsonl",
		"odd.qrels same.txt runs.json -m RR,NumRet -q --format json --tie-range",
		"odd.qrels same.txt same.txt -m RR",
		"odd.qrels scattered.run -m RR",
		"odd.qrels scattered.run -m RR --grouping collect",
		"odd.qrels lenient.run -m RR --lenient",
		"odd.qrels three.run -m RR --run-format scores",
		"odd.qrels runs.json -m RR",
		"odd.qrels names.run -m RR",
		// What is refused.
		"odd.qrels scattered.run --grouping stream",
		"odd.qrels nan.run", "odd.qrels twice.run", "odd.qrels five.run", "odd.qrels other.run", "odd.qrels three.run", "odd.qrels empty.run", "empty.qrels same.txt",
		"odd.qrels nowhere.run", "nowhere.qrels same.txt", "odd.qrels odd.run --convention trec_eval",
		"odd.qrels odd.run -m Bpref --ties average", "qrels.txt bm25.txt -m nDCG@0", "qrels.txt bm25.txt --convention trec_eval -m R_cap@5",
		"qrels.txt", "- -", "qrels.txt bm25.txt --convention ranx", "qrels.txt bm25.txt --ties none", "qrels.txt bm25.txt --format md",
		"qrels.txt bm25.txt --run-format csv", "qrels.txt bm25.txt --grouping no", "qrels.txt bm25.txt --self no", "qrels.txt bm25.txt --level=-1",
		"qrels.txt bm25.txt --depth=-1", "qrels.txt bm25.txt -l 0 --convention trec_eval", "qrels.txt bm25.txt -M 0", "qrels.txt bm25.txt --replicates 0", "bm25.txt qrels.txt", "header.qrels bm25.txt", "odd.qrels two.run", "odd.qrels comma.run", "qrels.txt bm25.txt --threads=-1", "qrels.txt bm25.txt --replicates 10",
		"qrels.txt bm25.txt --convention trec_eval --tie-range",
	} {
		r := encbench("", append([]string{"score"}, strings.Fields(line)...)...)
		fmt.Fprintf(&got, "$ encbench score %s\n%s", line, r.stdout)
		if r.stderr != "" {
			fmt.Fprintf(&got, "standard error:\n%s", r.stderr)
		}
		fmt.Fprintf(&got, "exit %d\n\n", r.code)
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	// The last digits of p_t depend on whether a machine fuses multiply and add.
	if got, want := twelveDigits(got.String()), twelveDigits(string(want)); got != want {
		t.Errorf("%s; run go test ./bench/cmd/encbench -run ScoreOutput -update and read the difference", firstDifference(got, want))
	}
}

// twelveDigits rounds the numbers of a text that have more digits.
func twelveDigits(s string) string {
	return regexp.MustCompile(`\d\.\d{13,}(e-?\d+)?`).ReplaceAllStringFunc(s, func(number string) string {
		v, _ := strconv.ParseFloat(number, 64)
		return strconv.FormatFloat(v, 'g', 12, 64)
	})
}

// Runs of our own format name their collection: two collections do not compare, and
// every format says so.
func TestScoreCollections(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"qrels.txt": "q 0 d 1\n"})
	for name, hash := range map[string]string{"a.ebrun": "11aa22bb33cc44dd", "b.ebrun": "55aa66bb77cc88dd", "c.ebrun": "11aa22bb33cc44dd"} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := run.NewWriter(f, run.Header{K: 1, Corpus: "of " + name, CorpusSHA256: hash})
		if err != nil {
			t.Fatal(err)
		}
		var b ranking.Block
		b.Queries.Append([]byte("q"))
		b.Docs.Append([]byte("d"))
		b.Score, b.Off = []float64{1}, []int32{0, 1}
		if err := errors.Join(w.Write(&b), w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	const want = `b.ebrun is a run over "of b.ebrun" (hash 55aa66bb77cc), a.ebrun one over "of a.ebrun" (hash 11aa22bb33cc): values of two collections do not compare`
	for _, c := range []struct {
		format, warning string
		stderr          bool
	}{{"text", "\nwarning: " + want + "\n", false}, {"csv", "encbench score: warning: " + want + "\n", true}, {"tsv", "encbench score: warning: " + want + "\n", true}} {
		r := encbench("", "score", "qrels.txt", "a.ebrun", "b.ebrun", "c.ebrun", "-m", "RR", "--format", c.format)
		text := r.stdout
		if c.stderr {
			text = r.stderr
		}
		if r.code != 0 || strings.Count(text, c.warning) != 1 {
			t.Errorf("%s: exit %d\n%s%s", c.format, r.code, r.stdout, r.stderr)
		}
	}
	var doc scoreJSON
	r := encbench("", "score", "qrels.txt", "a.ebrun", "b.ebrun", "-m", "RR", "--format", "json")
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || len(doc.Warnings) != 1 || doc.Warnings[0] != want {
		t.Errorf("%v, warnings %q", err, doc.Warnings)
	}
	if r := encbench("", "score", "qrels.txt", "a.ebrun", "c.ebrun", "-m", "RR"); strings.Contains(r.stdout, "collections") {
		t.Errorf("one collection:\n%s", r.stdout)
	}
}

// The method of an interval follows from the measure, not from values that happen to
// be 0 and 1; the tests are of the decisive measures; the baseline is a.
func TestScoreFamily(t *testing.T) {
	t.Chdir(t.TempDir())
	scoreExamples(t)
	var doc scoreJSON
	read := func(args ...string) {
		t.Helper()
		doc = scoreJSON{}
		r := encbench("", append([]string{"score", "--format", "json"}, args...)...)
		if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
			t.Fatalf("%v in %s, %s", err, r.stdout, r.stderr)
		}
	}
	read("qrels.txt", "bm25.txt", "dense.txt", "-l", "2")
	var tested []string
	for _, c := range doc.Comparisons {
		if c.Tested {
			tested = append(tested, c.Measure)
		}
	}
	if got, want := strings.Join(tested, " "), "nDCG@10 AP(rel=2) R(rel=2)@100 RR(rel=2)"; got != want {
		t.Errorf("tested %s, want %s", got, want)
	}
	read("qrels.txt", "bm25.txt", "dense.txt")
	tested = nil
	for _, c := range doc.Comparisons {
		if c.Tested {
			tested = append(tested, c.Measure)
		}
		if c.Tested != (c.P != nil) || c.Tested != (c.PHolm != nil) || c.Tested && *c.PHolm < *c.P || c.Tested && *c.PHolm > 4**c.P {
			t.Errorf("%s: tested %v, p %v, corrected %v", c.Measure, c.Tested, c.P, c.PHolm)
		}
		for n, mean := range []float64{c.MeanA, c.MeanB} {
			for _, m := range doc.Runs[n].Measures {
				if m.Measure == c.Measure && math.Abs(m.Value-mean) > 1e-12 {
					t.Errorf("%s of %s: %v, in the comparison %v", c.Measure, doc.Runs[n].Run, m.Value, mean)
				}
			}
		}
		if math.Abs(c.Diff-(c.MeanB-c.MeanA)) > 1e-12 {
			t.Errorf("%s: difference %v from %v to %v", c.Measure, c.Diff, c.MeanA, c.MeanB)
		}
	}
	if got, want := strings.Join(tested, " "), "nDCG@10 AP R@100 RR"; got != want {
		t.Errorf("tested %s, want %s", got, want)
	}
	put(t, map[string]string{"one.qrels": "a 0 d 1\nb 0 d 1\nc 0 d 1\n", "one.run": "a Q0 d 1 1 t\nb Q0 d 1 1 t\nc Q0 e 1 1 t\n"})
	read("one.qrels", "one.run", "-m", "nDCG@10,RR,Success@5")
	var methods []string
	for _, m := range doc.Runs[0].Measures {
		methods = append(methods, m.Interval.Method)
	}
	if got, want := strings.Join(methods, ", "), "BCa bootstrap, BCa bootstrap, Wilson"; got != want {
		t.Errorf("methods %s, want %s", got, want)
	}
}

// Two runs are paired by query id, whatever queries each of them averages.
func TestPairUp(t *testing.T) {
	scored := func(queries string, values ...float64) *scoredRun {
		return &scoredRun{result: &judge.Result{Queries: strings.Fields(queries), Values: [][]float64{values}}}
	}
	x, y, filled := pairUp(scored("a c d", 1, 2, 3), scored("b c e", 4, 5, 6), 0)
	if got := fmt.Sprint(x, y, filled); got != "[1 0 2 3 0] [0 4 5 0 6] 4" {
		t.Errorf("%s", got)
	}
}

// The same figures come out of plain text, gzip, zstd, our own format, standard
// input and any number of goroutines.
func TestScoreInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	scoreExamples(t)
	text, err := os.ReadFile("bm25.txt")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{"packed": packed.String()})
	ok(t, "run", "convert", "bm25.txt", "bm25.ebrun")
	ok(t, "run", "convert", "bm25.txt", "bm25.run.zst")
	values := func(r result) string {
		t.Helper()
		var doc scoreJSON
		if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
			t.Fatalf("%v in %s, %s", err, r.stdout, r.stderr)
		}
		if doc.Schema != scoreSchema || len(doc.Runs) != 1 || len(doc.Runs[0].Queries) != 12 {
			t.Fatalf("%+v", doc)
		}
		return fmt.Sprint(doc.Runs[0].Measures[0].Value, doc.Runs[0].Tag, doc.Runs[0].Queries)
	}
	args := []string{"score", "-q", "--format", "json", "-m", "AP,nDCG@10,RR"}
	want := values(encbench("", append(args, "qrels.txt", "bm25.txt")...))
	for _, name := range []string{"packed", "bm25.ebrun", "bm25.run.zst"} {
		for _, threads := range []string{"1", "3"} {
			if got := values(encbench("", append(args, "qrels.txt", name, "--threads", threads)...)); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	for name, in := range map[string]string{"plain": string(text), "gzip": packed.String()} {
		if got := values(encbench(in, append(args, "qrels.txt", "-")...)); got != want {
			t.Errorf("%s from standard input: %s, want %s", name, got, want)
		}
	}
	// Standard input cannot be read twice.
	r := encbench("q0 Q0 d0 1 3 t\nq1 Q0 d1 1 3 t\nq0 Q0 d2 2 2 t\n", "score", "qrels.txt", "-")
	message := "encbench score: run: standard input: query \"q0\" has rows at line 1 and again at line 3: the rows of a query do not stand together, and it cannot be read a second time; sort it by query (sort -s -k1,1), or give --grouping collect to hold it in memory\n"
	if r.code != exitFailure || r.stderr != message || r.stdout != "" {
		t.Errorf("exit %d, %q, want %q", r.code, r.stderr, message)
	}
	// A damaged archive is told with its place.
	if err := os.WriteFile("cut", packed.Bytes()[:packed.Len()-6], 0o644); err != nil {
		t.Fatal(err)
	}
	if r := encbench("", "score", "qrels.txt", "cut"); r.code != exitFailure || !strings.HasPrefix(r.stderr, "encbench score: run: read cut: ") || !strings.Contains(r.stderr, "gzip at byte") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}
