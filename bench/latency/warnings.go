package latency

import (
	"fmt"
	"math"
	"strings"

	"encbench/bench"
)

// driftLimit is the change between the first and the last third of the samples from
// which it is worth a warning.
const driftLimit = 0.02

// warnings gives the caveats that follow from what r holds.
func warnings(r *Record) []bench.Warning {
	w := []bench.Warning{}
	add := func(code, advice, format string, args ...any) {
		w = append(w, bench.Warning{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice})
	}
	if r.Status == bench.StatusInterrupted {
		add("interrupted", "", "the run was interrupted: these figures cover the samples until then")
	}
	if r.Model.Synthetic {
		add("synthetic-model", "", "synthetic weights: speed only, the vectors mean nothing")
	}
	if r.Accuracy.Level == bench.LevelConsistency {
		add("consistency-only", "--model with the Hugging Face directory", "a bare .onnx has no reference: only its consistency was checked")
	}
	if x := r.Index; x != nil && x.ModelSHA256 != "" && r.Model.SHA256 != "" && x.ModelSHA256 != r.Model.SHA256 {
		add("other-model", "an index made by this model", "the vectors of the index are those of model %s: what is found means nothing, and takes as long", x.Model)
	}
	var few []string
	for _, p := range r.Lengths[0].Vector.Percentiles {
		if p.Low == nil {
			few = append(few, fmt.Sprintf("p%.0f (%s)", p.P, bench.Thousands(int64(p.ForInterval))))
		}
	}
	if len(few) > 0 {
		add("few-samples", "--samples", "%s: too few for an interval of %s", counted(r.Lengths[0].Vector.N, "sample"), strings.Join(few, ", "))
	}
	lengthWarnings(r, add)
	if n := r.GC.During; n > 0 {
		add("collected", "unset GOMEMLIMIT", "Go's collector ran %s while samples were taken: a memory limit forced it", often(n))
	}
	if threads, cores := r.Engine.Threads, r.Env.CPU.Cores; cores > 0 && threads > cores {
		add("smt", fmt.Sprintf("--threads %d", cores), "%s on %s", counted(threads, "thread"), counted(cores, "physical core"))
	}
	if g := r.Env.CPU.Governor; g != "" && g != "performance" {
		add("governor", "set the governor to performance", "the frequency governor is %s: the clock follows the load", g)
	}
	_, noise := r.Machine.Quiet()
	if _, before := r.Env.Quiet(); len(noise) == 0 {
		noise = before
	}
	if len(noise) > 0 {
		add("not-quiet", "run again on a quiet machine", "the machine was not quiet: %s", strings.Join(noise, "; "))
	}
	return w
}

// lengthWarnings has one line for all lengths that share a caveat.
func lengthWarnings(r *Record, add func(code, advice, format string, args ...any)) {
	what := "text to vector"
	var drift, outliers, allocations []string
	for i := range r.Lengths {
		l := &r.Lengths[i]
		s := &l.Vector
		if l.TopK != nil {
			s, what = l.TopK, "text to top-k"
		}
		if math.Abs(s.Drift) > driftLimit {
			way := "slower"
			if s.Drift < 0 {
				way = "faster"
			}
			drift = append(drift, fmt.Sprintf("%.1f %% %s at %d tokens", 100*math.Abs(s.Drift), way, l.Tokens))
		}
		if s.Outliers > 0 {
			outliers = append(outliers, fmt.Sprintf("%s of %s at %d tokens", bench.Thousands(int64(s.Outliers)), bench.Thousands(int64(s.N)), l.Tokens))
		}
		if l.Allocations > 0 {
			allocations = append(allocations, fmt.Sprintf("%.3g objects a query at %d tokens", l.Allocations, l.Tokens))
		}
	}
	if len(drift) > 0 {
		add("drift", "", "%s: the last third of the samples against the first was %s", what, strings.Join(drift, ", "))
	}
	if len(outliers) > 0 {
		add("outliers", "", "%s: samples far from the others (modified z-score), kept: %s", what, strings.Join(outliers, ", "))
	}
	if len(allocations) > 0 {
		add("allocations", "", "text to vector allocates %s", strings.Join(allocations, ", "))
	}
}

func often(n int) string {
	if n == 1 {
		return "once"
	}
	return bench.Thousands(int64(n)) + " times"
}

// counted writes n with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return bench.Thousands(int64(n)) + " " + noun + "s"
}
