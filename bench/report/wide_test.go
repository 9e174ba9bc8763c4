package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"encbench/bench"
)

func render(t *testing.T, format string, recs ...*bench.Record) string {
	t.Helper()
	var buf strings.Builder
	if err := Write(&buf, format, recs); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func compared(t *testing.T, format string, a, b *bench.Record) string {
	t.Helper()
	c, err := bench.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var buf strings.Builder
	if err := WriteComparison(&buf, format, &c); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func fits(t *testing.T, page string) {
	t.Helper()
	for i, l := range strings.Split(page, "\n") {
		if n := utf8.RuneCountInString(l); n > 100 {
			t.Errorf("line %d has %d characters: %s", i+1, n, l)
		}
	}
}

// vast is a record of a large machine, with long names.
func vast() *bench.Record {
	r := full()
	r.Model.Name = "some-organisation/" + strings.Repeat("long-", 14) + "model"
	r.Env.CPU.Model = "Example Processor of a Long Name, Twelfth Edition, 96 Cores @ 3.70GHz"
	r.Env.Limits.AffinityList = strings.TrimSuffix(strings.Repeat("0-95,192-287,", 9), ",")
	r.Env.HostHash = "0a0a0a0a0a0a"
	for i := range r.Samples {
		s := &r.Samples[i]
		s.Chunks *= 100_000
		s.RealTokens *= 100_000
		s.PaddedTokens *= 100_000
		s.DocsPerS *= 100_000
	}
	return settle(r)
}

func TestComparisonFitsTheTerminal(t *testing.T) {
	page := compared(t, "text", full(), vast())
	fits(t, page)
	for _, want := range []string{"422,634", "model.name", "env.limits.affinity_list"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	// Folded cells lose nothing.
	if n := strings.Count(strings.Join(strings.Fields(page), ""), "192-287"); n != 9 {
		t.Errorf("%d of 9 ranges of the affinity list are left in\n%s", n, page)
	}
	fits(t, compared(t, "text", vast(), vast()))
}

func TestRatesFitTheTerminal(t *testing.T) {
	page := render(t, "text", vast())
	_, table, _ := strings.Cut(page, "\nRates")
	table, _, _ = strings.Cut("Rates"+table, "\n\n")
	fits(t, table)
	if !strings.Contains(table, "422,634") || strings.Contains(table, "max") {
		t.Error(table)
	}
}

func TestRunsFitTheTerminal(t *testing.T) {
	for _, recs := range [][]*bench.Record{{full(), vast()}, {vast(), full(), faster()}, {full(), vast(), failed(), interrupted()}} {
		page := render(t, "text", recs...)
		table, _, _ := strings.Cut(page, "\nNotes\n")
		fits(t, table)
		if !strings.Contains(page, "; model minilm-l6;") && !strings.Contains(page, " model minilm-l6;") {
			t.Errorf("a setting that has no column is not in the notes:\n%s", page)
		}
	}
}

// Below 6 samples an arm a comparison claims nothing but the ratio.
func TestComparisonOfFewSamples(t *testing.T) {
	for n, wants := range map[int][]string{
		1: {"B does 1.000× the docs/s of A: too few samples to say whether they differ (A has 12, B 1, 6 are needed)", "± 95 %", "± range"},
		3: {"B does 1.000× the docs/s of A (range ", "too few samples to say whether they differ (A has 12, B 3, 6 are needed)", "± range", "range  p"},
	} {
		b := full()
		b.Samples = b.Samples[:n]
		for i := range b.Samples {
			b.Samples[i].WallS, b.Samples[i].DocsPerS = 7.122, 30.1/7.122
		}
		settle(b)
		for _, format := range []string{"text", "md"} {
			page := strings.Join(strings.Fields(strings.ReplaceAll(compared(t, format, full(), b), "|", "")), " ")
			for _, want := range wants {
				if want = strings.Join(strings.Fields(want), " "); format == "text" && !strings.Contains(page, want) {
					t.Errorf("%d samples as %s: no %q in\n%s", n, format, want, page)
				}
			}
			for _, claim := range []string{"Mann-Whitney", "beyond chance", "95 % interval "} {
				if strings.Contains(page, claim) && !strings.Contains(page, "no 95 % interval ") {
					t.Errorf("%d samples as %s: %q in\n%s", n, format, claim, page)
				}
			}
		}
	}
}

func TestComparisonNotesAnUnfinishedRecord(t *testing.T) {
	b := full()
	b.Status = bench.StatusFailed
	page := compared(t, "text", full(), settle(b))
	if !strings.Contains(page, "B failed: its figures cover what was measured until then") || !strings.Contains(page, "failed") {
		t.Error(page)
	}
}

// Interleaved runs are paired by round; what shares no round is independent.
func TestRunsArePairedByRound(t *testing.T) {
	page := render(t, "text", full(), faster())
	if !strings.Contains(page, "1.075× (1.075 – 1.075)") || !strings.Contains(page, "Against run 1: the median over the rounds") {
		t.Errorf("the runs are not paired:\n%s", page)
	}
	other := faster()
	for i := range other.Samples {
		other.Samples[i].Round += 100
	}
	page = render(t, "text", full(), other)
	if strings.Contains(page, "(1.075 – 1.075)") || !strings.Contains(page, "medians of independent samples") {
		t.Errorf("runs without common rounds are paired:\n%s", page)
	}
	short := faster()
	short.Samples = short.Samples[:3]
	page = render(t, "text", full(), settle(short))
	if !strings.Contains(page, "too few to say whether the runs differ") || strings.Contains(page, "1.075× (") {
		t.Errorf("an interval from 3 rounds:\n%s", page)
	}
}

func TestSmallTextRate(t *testing.T) {
	for scale, want := range map[int64]string{1: "29.63  kB/s", 4: "0.1185  MB/s"} {
		r := full()
		for i := range r.Samples {
			r.Samples[i].TextBytes *= scale
		}
		if page := render(t, "text", settle(r)); !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestRatesSayWhatTheyCount(t *testing.T) {
	for _, format := range []string{"text", "md"} {
		page := render(t, format, full())
		for _, want := range []string{"projected", "timed chunks", "incl. overlap and special tokens", "basis"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q in\n%s", format, want, page)
			}
		}
		if page := render(t, format, interrupted()); strings.Contains(page, "basis") {
			t.Errorf("%s: rates of one basis have a column for it:\n%s", format, page)
		}
	}
}

// One of anything is singular.
func TestSingulars(t *testing.T) {
	r := interrupted()
	r.Corpus.Tokens, r.Corpus.Selection.Tokens, r.Protocol.PromptTk, r.Protocol.Dim, r.Engine.Slots = 1, 1, 1, 1, 1
	r.Model.Layers, r.Overlap = 1, bench.Overlap{Factor: 1, Tokens: 1, Special: 1, Prompt: 1}
	r.Padding.Real, r.Padding.Padded = 1, 1
	page := strings.Join(strings.Fields(render(t, "text", settle(r))), " ")
	for _, wrong := range []string{"documents,", " 1 tokens", " 1 chunks", " 1 layers", " 1 values", " 1 slots", "1 prompt tokens", "1 special tokens", "1 content tokens", "1 samples"} {
		if strings.Contains(page, wrong) {
			t.Errorf("%q in\n%s", wrong, page)
		}
	}
	for _, want := range []string{"1 document, 1 chunk, 1 token,", "all chunks, 1 token a pass", "and 1 prompt token", "1 layer ×", "1 slot", "1 content token encoded again"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}
