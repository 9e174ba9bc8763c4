//go:build ignore

// Generate writes the goldens of this folder: judgements and runs of our own
// making from fixed seeds, and beside them what trec_eval prints for them.
//
//	go run metrics/trec/testdata/golden/generate.go -trec-eval PATH
//
// README.md names the trec_eval that was used. Without -trec-eval only the
// inputs are written.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// commands gives for each output's name the arguments before the two files.
var commands = []struct {
	name string
	args []string
	only string // the set it is for; "" = all
}{
	{name: "default"},
	{name: "q", args: []string{"-q"}},
	{name: "all_trec-q", args: []string{"-m", "all_trec", "-q"}},
	{name: "l2", args: []string{"-l", "2"}},
	{name: "M10-recip_rank", args: []string{"-M", "10", "-m", "recip_rank"}},
	// Without missing queries -c changes nothing.
	{name: "c", args: []string{"-c"}, only: "missing"},
	{name: "c-q", args: []string{"-c", "-q"}, only: "missing"},
	{name: "c-all_trec-q", args: []string{"-c", "-m", "all_trec", "-q"}, only: "missing"},
	{name: "l2-q", args: []string{"-l", "2", "-q"}, only: "grades"},
	{name: "M10-recip_rank-q", args: []string{"-M", "10", "-m", "recip_rank", "-q"}, only: "plain"},
}

// judgement and hit are a line of either file.
type judgement struct {
	query, doc string
	grade      int
}

type hit struct {
	query, doc string
	rank       int
	score      string
}

// set is one case: what goes into NAME.qrels and NAME.run.
type set struct {
	name   string
	qrels  []judgement
	run    []hit
	format func(qrels []judgement, run []hit) (q, r string) // nil: one space between columns
}

func main() {
	binary := flag.String("trec-eval", "", "`PATH` of the trec_eval binary")
	flag.Parse()
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		log.Fatal("generate: where this file lies is unknown")
	}
	dir := filepath.Dir(self)
	for _, s := range []set{plain(), ties(), missing(), grades(), layout(), long(), scattered()} {
		format := s.format
		if format == nil {
			format = spaced
		}
		q, r := format(s.qrels, s.run)
		qrels, run := filepath.Join(dir, s.name+".qrels"), filepath.Join(dir, s.name+".run")
		write(qrels, []byte(q))
		write(run, []byte(r))
		if *binary == "" {
			continue
		}
		for _, c := range commands {
			if c.only != "" && c.only != s.name {
				continue
			}
			cmd := exec.Command(*binary, append(slices.Clone(c.args), qrels, run)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || stderr.Len() > 0 {
				log.Fatalf("generate: %v: %v\n%s", cmd.Args, err, &stderr)
			}
			write(filepath.Join(dir, s.name+"."+c.name+".txt"), out)
		}
	}
}

func write(path string, text []byte) {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		log.Fatalf("generate: %v", err)
	}
}

func spaced(qrels []judgement, run []hit) (string, string) {
	var q, r strings.Builder
	for _, j := range qrels {
		fmt.Fprintf(&q, "%s 0 %s %d\n", j.query, j.doc, j.grade)
	}
	for _, h := range run {
		fmt.Fprintf(&r, "%s Q0 %s %d %s made\n", h.query, h.doc, h.rank, h.score)
	}
	return q.String(), r.String()
}

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 4)) }

// docs gives n different ids from a small range, so that judged and retrieved
// ones overlap. Numbers of different length order otherwise as bytes.
func docs(r *rand.Rand, n, of int) []string {
	ids := make([]string, 0, n)
	for _, i := range r.Perm(of)[:n] {
		ids = append(ids, fmt.Sprintf("d%d", i))
	}
	return ids
}

// query adds a query with random judgements and a random ranking.
func (s *set) query(r *rand.Rand, id string, judged, retrieved, of int, grade func() int, score func(i int) string) {
	for _, d := range docs(r, judged, of) {
		s.qrels = append(s.qrels, judgement{id, d, grade()})
	}
	for i, d := range docs(r, retrieved, of) {
		s.run = append(s.run, hit{id, d, i + 1, score(i)})
	}
}

// plain has distinct scores, graded judgements and unjudged documents, lists of
// 1 to 120 documents, and negative scores.
func plain() set {
	r, s := generator(1), set{name: "plain"}
	for q := range 12 {
		s.query(r, fmt.Sprint(301+q), 5+r.IntN(60), 1+r.IntN(120), 150,
			func() int { return max(0, r.IntN(7)-3) },
			func(i int) string { return strconv.FormatFloat(12.5-float64(i)*0.37+0.1*r.Float64(), 'f', 4, 64) })
	}
	return s
}

// ties has few different scores, scores that differ as float64 and not as
// float32, wrong and repeated ranks, and identifiers whose order as bytes is
// neither that of numbers nor that of a locale.
func ties() set {
	r, s := generator(2), set{name: "ties"}
	names := []string{"10", "9", "9#1", "100", "A", "a", "B", "_", "~", "Zürich", "zebra", "élan", "doc-1", "doc_1", "doc.1", "doc1", "DOC1", "1e3", "01", "1", "日本", "x/y", "x:y", "<z>"}
	values := []string{"1", "1.0", "0.5", "0.50000001", "0.49999999", "2.921875", "-1", "-1.00000001", "0", "-0"}
	for q := range 10 {
		id := fmt.Sprintf("t%d", q)
		for _, i := range r.Perm(len(names))[:4+r.IntN(12)] {
			s.qrels = append(s.qrels, judgement{id, names[i], r.IntN(3)})
		}
		for _, i := range r.Perm(len(names))[:6+r.IntN(18)] {
			s.run = append(s.run, hit{id, names[i], r.IntN(5), values[r.IntN(len(values))]})
		}
	}
	// Everything equal: the order is that of the identifiers alone.
	for i, d := range names {
		s.run = append(s.run, hit{"same", d, i, "0.25"})
	}
	s.qrels = append(s.qrels, judgement{"same", "9", 1}, judgement{"same", "A", 1}, judgement{"same", "nowhere", 1})
	return s
}

// missing has queries in one file only, queries without a relevant document, and
// queries none of whose documents are judged.
func missing() set {
	r, s := generator(3), set{name: "missing"}
	grade := func() int { return r.IntN(3) }
	score := func(i int) string { return fmt.Sprint(100 - i) }
	for q := range 6 {
		s.query(r, fmt.Sprintf("both%d", q), 12, 25, 60, grade, score)
	}
	for q := range 3 {
		s.query(r, fmt.Sprintf("judged%d", q), 8, 0, 60, grade, score)
		s.query(r, fmt.Sprintf("run%d", q), 0, 8, 60, grade, score)
	}
	s.query(r, "none-relevant", 10, 20, 40, func() int { return 0 }, score)
	s.query(r, "none-found", 5, 0, 40, func() int { return 1 }, score)
	for i := range 15 {
		s.run = append(s.run, hit{"none-found", fmt.Sprintf("other%d", i), i + 1, score(i)})
	}
	return s
}

// grades has negative and high grades.
func grades() set {
	r, s := generator(4), set{name: "grades"}
	for q := range 8 {
		s.query(r, fmt.Sprintf("g%d", q), 30, 50, 80,
			func() int { return r.IntN(9) - 2 },
			func(i int) string { return strconv.FormatFloat(math.Exp(-float64(i)/9), 'g', -1, 64) })
	}
	return s
}

// layout has tabs, runs of spaces, CRLF, exponents, signs, a blank line in the
// run and no newline at the end.
func layout() set {
	r, s := generator(5), set{name: "layout"}
	forms := []string{"%e", "%E", "%+.6f", "%.3g"}
	for q := range 5 {
		s.query(r, fmt.Sprintf("L%d", q), 10, 18, 40,
			func() int { return r.IntN(4) },
			func(i int) string {
				return fmt.Sprintf(forms[r.IntN(len(forms))], math.Pow(10, float64(r.IntN(40)-20))*(1+r.Float64())-1e-3)
			})
	}
	s.format = func(qrels []judgement, run []hit) (string, string) {
		gap := []string{" ", "\t", "  ", " \t ", "   "}
		line := func(columns ...any) string {
			var b strings.Builder
			for i, c := range columns {
				if i > 0 {
					b.WriteString(gap[r.IntN(len(gap))])
				}
				fmt.Fprint(&b, c)
			}
			return b.String()
		}
		var q, t strings.Builder
		for i, j := range qrels {
			fmt.Fprint(&q, line(j.query, "0", j.doc, j.grade), []string{"\n", "\r\n"}[i%2])
		}
		for i, h := range run {
			if i == 7 {
				t.WriteString("\n")
			}
			fmt.Fprint(&t, line(h.query, "Q0", h.doc, h.rank, h.score, "a-tag"), []string{"\n", "\r\n"}[i/2%2])
		}
		return q.String(), strings.TrimRight(t.String(), "\r\n")
	}
	return s
}

// long has one list beyond the last cut-off, 1,000.
func long() set {
	r, s := generator(6), set{name: "long"}
	s.query(r, "1", 400, 1300, 2000, func() int { return r.IntN(3) },
		func(i int) string { return strconv.FormatFloat(30/float64(i+1), 'f', 6, 64) })
	s.query(r, "2", 40, 10, 100, func() int { return r.IntN(3) }, func(i int) string { return fmt.Sprint(-i) })
	return s
}

// scattered has the lines of all queries in one random order.
func scattered() set {
	r, s := generator(7), set{name: "scattered"}
	for q := range 6 {
		s.query(r, fmt.Sprint(q*7), 15, 30, 60, func() int { return r.IntN(3) },
			func(int) string { return strconv.FormatFloat(r.Float64(), 'f', 2, 64) })
	}
	r.Shuffle(len(s.run), func(i, j int) { s.run[i], s.run[j] = s.run[j], s.run[i] })
	r.Shuffle(len(s.qrels), func(i, j int) { s.qrels[i], s.qrels[j] = s.qrels[j], s.qrels[i] })
	return s
}
