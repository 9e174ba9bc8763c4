package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"encbench/bench"
)

// writeGoBench writes one Go benchmark line a sample, so that benchstat computes
// medians, intervals and tests of its own
// (Go proposal 14313, Benchmark Data Format). An iteration is one sample.
//
// Lines before them configure what follows. Only what makes rates incomparable is
// configuration, because benchstat keeps configurations in tables apart; commit
// and way of running, which one compares, are comments.
func writeGoBench(buf *bytes.Buffer, recs []*bench.Record) error {
	for _, unit := range []string{"docs/s", "chunks/s", "tokens/s", "padded-tokens/s", "MB/s"} {
		fmt.Fprintf(buf, "Unit %s better=higher\n", unit)
	}
	last := map[string]string{}
	for _, r := range recs {
		for _, c := range [][2]string{
			{"goos", r.Env.OS}, {"goarch", r.Env.Arch}, {"cpu", r.Env.CPU.Model},
			{"corpus", strings.TrimSpace(r.Corpus.Name + " " + shortHash(r.Corpus.SHA256))},
			{"region", string(r.Protocol.Region)}, {"dtype", r.Protocol.DType},
			{"window", fmt.Sprintf("%d/%d", r.Protocol.Chunk, r.Protocol.Overlap)},
			{"accuracy", r.Accuracy.Level},
		} {
			if c[1] != last[c[0]] {
				// An empty value takes an earlier one back.
				buf.WriteString(strings.TrimRight(c[0]+": "+oneLine(c[1]), " ") + "\n")
				last[c[0]] = c[1]
			}
		}
		name := fmt.Sprintf("BenchmarkEncode/model=%s/batch=%s/threads=%d", benchName(r.Model.Name), batchShort(r.Protocol), r.Engine.Threads)
		fmt.Fprintf(buf, "# %s: %s\n", name, oneLine(join("; ", stateMark(r), given(r.Model.Synthetic, syntheticMark), r.Engine.HowRun, "encbench "+orNone(r.Tool.Version), commitText(r.Tool), projected(r))))
		if !hasRates(r) {
			fmt.Fprintf(buf, "# no rate: %s\n", oneLine(whyNoRates(r)))
			continue
		}
		for _, s := range r.Samples {
			if s.WallS <= 0 {
				continue
			}
			fmt.Fprintf(buf, "%s 1 %.0f ns/op", name, s.WallS*1e9)
			for _, v := range []struct {
				unit string
				x    float64
			}{
				{"docs/s", s.DocsPerS}, {"chunks/s", float64(s.Chunks) / s.WallS}, {"tokens/s", float64(s.RealTokens) / s.WallS},
				{"padded-tokens/s", float64(s.PaddedTokens) / s.WallS}, {"MB/s", float64(s.TextBytes) / 1e6 / s.WallS},
			} {
				if v.x > 0 && isNumber(v.x) {
					fmt.Fprintf(buf, " %s %s", strconv.FormatFloat(v.x, 'g', 7, 64), v.unit)
				}
			}
			buf.WriteByte('\n')
		}
	}
	return nil
}

// benchName makes s one part of a benchmark name: no space, no slash.
func benchName(s string) string {
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c == '/' {
			return '_'
		}
		return c
	}, orNone(s))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
