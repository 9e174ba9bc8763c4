package bench

import (
	"fmt"
	"strings"
)

// field is one value of a record that a comparison looks at.
type field struct {
	name string // as in the record
	of   func(*Record) any
}

// Fields whose values say more than that they differ.
const (
	fieldPassed  = "accuracy.passed"
	fieldSamples = "samples"
)

// The fields that must be equal for any two records.
var protocolFields = []field{
	{"protocol.region", func(r *Record) any { return r.Protocol.Region }},
	{"protocol.chunk", func(r *Record) any { return r.Protocol.Chunk }},
	{"protocol.overlap", func(r *Record) any { return r.Protocol.Overlap }},
	{"protocol.batch", func(r *Record) any { return r.Protocol.Batch }},
	{"protocol.batch_tokens", func(r *Record) any { return r.Protocol.BatchTokens }},
	{"protocol.dtype", func(r *Record) any { return r.Protocol.DType }},
}

// The fields that belong to the model: equal for one, free between two.
var modelFields = []field{
	{"protocol.prompt", func(r *Record) any { return r.Protocol.Prompt }},
	{"protocol.pooling", func(r *Record) any { return r.Protocol.Pooling }},
	{"protocol.normalize", func(r *Record) any { return r.Protocol.Normalize }},
	{"protocol.dim", func(r *Record) any { return r.Protocol.Dim }},
	{"protocol.special_tokens", func(r *Record) any { return r.Protocol.SpecialTk }},
	{"protocol.prompt_tokens", func(r *Record) any { return r.Protocol.PromptTk }},
}

// The fields that make the input the same.
var inputFields = []field{
	{"corpus.sha256", func(r *Record) any { return r.Corpus.SHA256 }},
	{"corpus.selection.kind", func(r *Record) any { return r.Corpus.Selection.Kind }},
	{"truncation.policy", func(r *Record) any { return r.Truncation.Policy }},
}

var (
	selectionHash = field{"corpus.selection.sha256", func(r *Record) any { return r.Corpus.Selection.SHA256 }}
	selectionSeed = field{"corpus.selection.seed", func(r *Record) any { return r.Corpus.Selection.Seed }}
)

// The fields that may differ, what matters most first; modelFields come between
// the two.
var (
	freeModelFields = []field{
		{"model.name", func(r *Record) any { return r.Model.Name }},
		{"model.revision", func(r *Record) any { return r.Model.Revision }},
		{"model.sha256", func(r *Record) any { return short(r.Model.SHA256) }},
		{"model.tokenizer_sha256", func(r *Record) any { return short(r.Model.TokenizerSHA256) }},
		{"model.parameters", func(r *Record) any { return r.Model.Parameters }},
		{"model.dtype_stored", func(r *Record) any { return r.Model.Stored }},
		{"model.synthetic", func(r *Record) any { return r.Model.Synthetic }},
		{"model.stand_in_tokenizer", func(r *Record) any { return r.Model.StandInTokenizer }},
	}
	freeFields = []field{
		// With two tokenizers: how many chunks there are follows from them.
		{"corpus.chunks", func(r *Record) any { return r.Corpus.Chunks }},
		{"corpus.selection.chunks", func(r *Record) any { return r.Corpus.Selection.Chunks }},
		{"engine.backend", func(r *Record) any { return r.Engine.Backend }},
		{"engine.version", func(r *Record) any { return r.Engine.Version }},
		{"engine.library_sha256", func(r *Record) any { return short(r.Engine.LibrarySHA256) }},
		{"engine.device", func(r *Record) any { return r.Engine.Device }},
		{"engine.devices", func(r *Record) any { return r.Engine.Parts() }},
		{"engine.devices.cuda", func(r *Record) any { return r.Engine.drivers() }},
		{"engine.threads", func(r *Record) any { return r.Engine.Threads }},
		{"engine.workers", func(r *Record) any { return r.Engine.Workers }},
		{"engine.threads_per_worker", func(r *Record) any { return r.Engine.Intra }},
		{"engine.ubatch", func(r *Record) any { return r.Engine.UBatch }},
		{"engine.how_run", func(r *Record) any { return r.Engine.HowRun }},
		{"engine.optimization", func(r *Record) any { return r.Engine.Optimization }},
		{"engine.activation_bits", func(r *Record) any { return r.Engine.ActivationBits }},
		{"engine.slots", func(r *Record) any { return r.Engine.Slots }},
		{"env.host_hash", func(r *Record) any { return r.Env.HostHash }},
		{"env.cpu.model", func(r *Record) any { return r.Env.CPU.Model }},
		{"env.cpu.physical_cores", func(r *Record) any { return r.Env.CPU.Cores }},
		{"env.cpu.logical_cpus", func(r *Record) any { return r.Env.CPU.Logical }},
		{"env.cpu.governor", func(r *Record) any { return r.Env.CPU.Governor }},
		{"env.limits.affinity_list", func(r *Record) any { return r.Env.Limits.AffinityList }},
		{"env.limits.cgroup_quota_cpus", func(r *Record) any { return r.Env.Limits.Quota }},
		{"env.kernel", func(r *Record) any { return r.Env.Kernel }},
		{"env.go.gomaxprocs", func(r *Record) any { return r.Env.Go.GOMAXPROCS }},
		{"tool.version", func(r *Record) any { return r.Tool.Version }},
		{"tool.commit", func(r *Record) any { return short(r.Tool.Commit) }},
		{"tool.dirty", func(r *Record) any { return r.Tool.Dirty }},
		{"tool.go", func(r *Record) any { return r.Tool.Go }},
		{"schedule.profile", func(r *Record) any { return r.Schedule.Profile }},
		{"status", func(r *Record) any { return r.Status }},
	}
)

// differ adds the fields in which a and b differ to d.
func differ(d []Difference, a, b *Record, fields ...field) []Difference {
	for _, f := range fields {
		if x, y := f.of(a), f.of(b); x != y {
			d = append(d, Difference{f.name, text(x), text(y)})
		}
	}
	return d
}

// obstacles lists what forbids a comparison.
func obstacles(a, b *Record) []Difference {
	d := differ(nil, a, b, field{"schema", func(r *Record) any { return r.Schema }})
	if !a.Accuracy.Passed || !b.Accuracy.Passed {
		d = append(d, Difference{fieldPassed, text(a.Accuracy.Passed), text(b.Accuracy.Passed)})
	}
	d = differ(d, a, b, field{"accuracy.level", func(r *Record) any { return r.Accuracy.Level }})
	if len(a.Samples) == 0 || len(b.Samples) == 0 {
		d = append(d, Difference{fieldSamples, text(len(a.Samples)), text(len(b.Samples))})
	}
	d = differ(d, a, b, protocolFields...)
	if sameModel(a, b) {
		d = differ(d, a, b, modelFields...)
	}
	d = differ(d, a, b, inputFields...)
	switch {
	case sameTokenizer(a, b):
		d = differ(d, a, b, selectionHash)
	case a.Corpus.Selection.Kind != SelectionAll:
		d = differ(d, a, b, selectionSeed)
	}
	return d
}

// variations lists what differs and may differ.
func variations(a, b *Record) []Difference {
	d := differ([]Difference{}, a, b, freeModelFields...)
	if !sameModel(a, b) {
		d = differ(d, a, b, modelFields...)
	}
	return differ(d, a, b, freeFields...)
}

// sameModel compares by weights, and by name where there are none on disk.
func sameModel(a, b *Record) bool {
	if a.Model.SHA256 == "" && b.Model.SHA256 == "" {
		return a.Model.Name == b.Model.Name
	}
	return a.Model.SHA256 == b.Model.SHA256
}

func sameTokenizer(a, b *Record) bool {
	return a.Model.TokenizerSHA256 == b.Model.TokenizerSHA256
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "(none)"
		}
		if strings.TrimSpace(v) != v {
			return fmt.Sprintf("%q", v)
		}
		return v
	case float64:
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprint(v)
}
