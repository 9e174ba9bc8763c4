package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"encbench/bench"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s:%d: got\n%s\nwant\n%s\n(-update rewrites it)", path, i+1, a, b)
		}
	}
}

var cases = []struct {
	name string
	recs func() []*bench.Record
}{
	{"full", func() []*bench.Record { return []*bench.Record{full()} }},
	{"failed", func() []*bench.Record { return []*bench.Record{failed()} }},
	{"interrupted", func() []*bench.Record { return []*bench.Record{interrupted()} }},
	{"types", func() []*bench.Record { return []*bench.Record{full(), quantised(), halved()} }},
	{"quantised", func() []*bench.Record { return []*bench.Record{quantised()} }},
	{"standin", func() []*bench.Record { return []*bench.Record{standIn()} }},
	{"searched", func() []*bench.Record { return []*bench.Record{searched()} }},
	{"budgeted", func() []*bench.Record { return []*bench.Record{budgeted()} }},
	{"devices", func() []*bench.Record { return []*bench.Record{devices()} }},
	{"nocuda", func() []*bench.Record { return []*bench.Record{noCUDA(), devices()} }},
	{"several", func() []*bench.Record { return []*bench.Record{full(), faster(), failed(), interrupted()} }},
}

func TestGoldens(t *testing.T) {
	for _, c := range cases {
		recs := c.recs()
		for _, f := range Formats() {
			var buf bytes.Buffer
			if err := Write(&buf, f, recs); err != nil {
				t.Fatalf("%s as %s: %v", c.name, f, err)
			}
			golden(t, c.name+"."+f+".golden", buf.Bytes())
		}
	}
}

func TestComparisonGoldens(t *testing.T) {
	other := full()
	other.Tool.Commit = strings.Repeat("fe", 20)
	other.Engine.Threads, other.Engine.Intra, other.Engine.Workers = 1, 1, 1
	other.Env.HostHash = "0a0a0a0a0a0a"
	for i := range other.Samples {
		other.Samples[i].WallS *= 1.8
		other.Samples[i].DocsPerS /= 1.8
	}
	settle(other)
	c, err := bench.Compare(full(), other)
	if err != nil {
		t.Fatal(err)
	}
	same, err := bench.Compare(full(), full())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ComparisonFormats() {
		var buf bytes.Buffer
		if err := WriteComparison(&buf, f, &c); err != nil {
			t.Fatal(err)
		}
		golden(t, "compare."+f+".golden", buf.Bytes())
		buf.Reset()
		if err := WriteComparison(&buf, f, &same); err != nil {
			t.Fatal(err)
		}
		if f == "text" && !strings.Contains(buf.String(), "no difference beyond chance") {
			t.Errorf("a record compared with itself reads\n%s", buf.String())
		}
	}
}

var badNumber = regexp.MustCompile(`(?i)\b(nan|[+-]?inf)\b`)

func TestNoFormatPrintsWhatIsNoNumber(t *testing.T) {
	for _, f := range []string{"text", "csv", "md", "bench"} {
		for _, recs := range [][]*bench.Record{{hollow()}, {full(), hollow()}, {hollow(), full()}, {{}}, {{}, {}}} {
			var buf bytes.Buffer
			if err := Write(&buf, f, recs); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			if m := badNumber.FindString(buf.String()); m != "" {
				t.Errorf("%s prints %q:\n%s", f, m, buf.String())
			}
		}
	}
	for _, f := range []string{"json", "jsonl"} {
		var buf bytes.Buffer
		err := Write(&buf, f, []*bench.Record{hollow()})
		if err == nil || !strings.Contains(err.Error(), "unsupported value") || buf.Len() != 0 {
			t.Errorf("%s of a record with NaN: %v, %d bytes written", f, err, buf.Len())
		}
	}
}

// No pass, no rate, in whatever the record holds.
func TestFailedGateShowsNoRate(t *testing.T) {
	r := full()
	r.Accuracy.Passed = false
	r.Accuracy.Min = 0.5
	settle(r)
	rates := regexp.MustCompile(`\d (docs|chunks|tokens|MB)/s`)
	for _, f := range []string{"text", "md", "bench"} {
		for _, recs := range [][]*bench.Record{{r}, {r, r}} {
			var buf bytes.Buffer
			if err := Write(&buf, f, recs); err != nil {
				t.Fatal(err)
			}
			if m := rates.FindString(buf.String()); m != "" {
				t.Errorf("%s shows %q:\n%s", f, m, buf.String())
			}
			if !strings.Contains(strings.ToLower(buf.String()), "no rate") || !strings.Contains(buf.String(), "1 − cosine at most 0.5 ") {
				t.Errorf("%s does not say why there is no rate:\n%s", f, buf.String())
			}
		}
	}
	var buf bytes.Buffer
	if err := Write(&buf, "csv", []*bench.Record{r}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range rows[0] {
		if strings.Contains(name, "_per_s") && name != "peak_flop_per_s" && rows[1][i] != "" {
			t.Errorf("csv: %s = %s", name, rows[1][i])
		}
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	for _, c := range cases {
		var buf bytes.Buffer
		if err := Write(&buf, "text", c.recs()); err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(buf.String(), "\n") {
			n := utf8.RuneCountInString(l)
			if n > 100 {
				t.Errorf("%s:%d has %d characters: %s", c.name, i+1, n, l)
			}
			if strings.TrimRight(l, " ") != l || strings.ContainsAny(l, "\t\x1b") {
				t.Errorf("%s:%d: blanks at the end, a tab or an escape: %q", c.name, i+1, l)
			}
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	want := []*bench.Record{full(), failed(), interrupted()}
	for _, f := range []string{"json", "jsonl"} {
		for n := 1; n <= len(want); n++ {
			var buf bytes.Buffer
			if err := Write(&buf, f, want[:n]); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := bench.ReadRecords(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want[:n]) {
				t.Errorf("%s: %d records do not read back as written", f, n)
			}
		}
	}
}

func TestJSONFields(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, "json", []*bench.Record{full()}); err != nil {
		t.Fatal(err)
	}
	var rec map[string]json.RawMessage
	if err := json.Unmarshal(buf.Bytes(), &rec); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("schema protocol model corpus env samples rates stages bottleneck padding overlap truncation mfu hfu accuracy warnings verdict") {
		if _, ok := rec[name]; !ok {
			t.Errorf("no field %q", name)
		}
	}
	var rates map[string]map[string]float64
	if err := json.Unmarshal(rec["rates"], &rates); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("docs_per_s chunks_per_s tokens_per_s padded_tokens_per_s text_mb_per_s") {
		for _, part := range strings.Fields("median ci_low ci_high cv") {
			if v, ok := rates[name][part]; !ok || v <= 0 {
				t.Errorf("rates.%s.%s = %v, %v", name, part, v, ok)
			}
		}
	}
}

func TestCSVIsRectangular(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, "csv", []*bench.Record{full(), failed(), interrupted()}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll() // refuses rows of unequal length
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	seen := map[string]bool{}
	for _, name := range rows[0] {
		if seen[name] {
			t.Errorf("column %s is there twice", name)
		}
		seen[name] = true
	}
}

var benchLine = regexp.MustCompile(`^Benchmark[A-Z]\S* [1-9][0-9]*( [0-9.e+]+ \S+)+$`)

func TestGoBenchLines(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, "bench", []*bench.Record{full(), faster()}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range strings.Split(buf.String(), "\n") {
		if strings.HasPrefix(l, "Benchmark") {
			n++
			if !benchLine.MatchString(l) {
				t.Errorf("not a benchmark line: %s", l)
			}
		}
	}
	if n != 24 {
		t.Errorf("%d benchmark lines, want one for each of 24 samples", n)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrors(t *testing.T) {
	recs := []*bench.Record{full()}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown format", Write(&bytes.Buffer{}, "xml", recs), `unknown format "xml", expected one of text, json, jsonl, csv, md, bench`},
		{"unknown comparison format", WriteComparison(&bytes.Buffer{}, "csv", &bench.Comparison{}), `unknown format "csv", expected one of text, md, json`},
		{"no records", Write(&bytes.Buffer{}, "text", nil), "write report: no records"},
		{"full disk", Write(brokenWriter{}, "text", recs), "write report: no space left"},
		{"full disk, comparison", WriteComparison(brokenWriter{}, "text", &bench.Comparison{}), "write comparison: no space left"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
	}
}

// Trials that share a reason are named together, in the table's order.
func TestSearchReasons(t *testing.T) {
	trial := func(batch int, ubatch, outcome, reason string) bench.BatchTrial {
		return bench.BatchTrial{Batch: batch, UBatch: ubatch, Outcome: outcome, Reason: reason}
	}
	got := searchReasons(&bench.BatchSearch{Trials: []bench.BatchTrial{
		trial(128, "auto", bench.TrialChosen, ""), trial(128, "16", bench.TrialExcluded, "too few"),
		trial(128, "32", bench.TrialFailed, "no memory"), trial(64, "auto", bench.TrialExcluded, "too few"),
	}})
	if want := []string{"128/16, 64/auto excluded: too few", "128/32 failed: no memory"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
