package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/metrics"
)

// trecEvalArgs gives for each kind of stored trec_eval output the arguments of
// `encbench score` that stand for trec_eval's. The binary that wrote them compares
// scores as float32.
var trecEvalArgs = map[string][]string{
	"default":          nil,
	"q":                {"-q"},
	"c":                {"-c"},
	"c-q":              {"-c", "-q"},
	"l2":               {"-l", "2"},
	"l2-q":             {"-l", "2", "-q"},
	"M10-recip_rank":   {"-M", "10", "-m", "recip_rank"},
	"M10-recip_rank-q": {"-M", "10", "-m", "recip_rank", "-q"},
	// Of all_trec those measures that encbench has; see known.
	"all_trec-q":   {"-q"},
	"c-all_trec-q": {"-c", "-q"},
}

// TestScoreIsTrecEval: under the trec_eval convention every stored output comes out
// byte for byte.
func TestScoreIsTrecEval(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "metrics", "trec", "testdata", "golden")
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d goldens in %s, %v", len(files), dir, err)
	}
	for _, file := range files {
		set, kind, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), ".")
		args, stored := trecEvalArgs[kind]
		if !ok || !stored {
			t.Errorf("%s: no command is known that writes it", file)
			continue
		}
		t.Run(set+"/"+kind, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(text)
			if strings.HasSuffix(kind, "all_trec-q") {
				var names []string
				names, want = known(want)
				if len(names) < 60 {
					t.Errorf("%d measures are known, 60 expected: %v", len(names), names)
				}
				args = slices.Concat(args, []string{"-m", strings.Join(names, ",")})
			}
			r := encbench("", slices.Concat([]string{"score", "--convention", "trec_eval", "--score-f32"}, args,
				[]string{filepath.Join(dir, set+".qrels"), filepath.Join(dir, set+".run")})...)
			if r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.stderr)
			}
			if r.stdout != want {
				t.Errorf("%s", firstDifference(r.stdout, want))
			}
		})
	}
}

// known gives the measures of an output that encbench has, in its order, and the
// lines with them. A run's tag is no measure.
func known(text string) (names []string, lines string) {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimRight(line[:strings.IndexByte(line, '\t')], " ")
		if _, err := metrics.Parse(name); err != nil {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		kept.WriteString(line)
	}
	return names, kept.String()
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	a, b := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return "line " + x + "expected " + y
		}
	}
	return "equal"
}
