package report

import (
	"bytes"
	"fmt"
	"strings"

	"encbench/bench"
)

// writeText renders the report that a person reads: whole for one record, a table
// of runs for several. It never uses colour or a terminal's width, so a terminal
// and a file get the same bytes.
func writeText(buf *bytes.Buffer, recs []*bench.Record) error {
	p := page{buf}
	defer plainSpaces(buf)
	if len(recs) > 1 {
		writeRuns(p, recs)
		return nil
	}
	r := recs[0]
	writeHeadline(p, r)
	writeSubject(p, r)
	if hasRates(r) {
		writeRates(p, r)
		writeSearch(p, r)
		writeStages(p, r)
		writeDevices(p, r)
		writeLedgers(p, r)
		writeUtilization(p, r)
	}
	writeAccuracy(p, r)
	writeStart(p, r)
	writeEnvironment(p, r)
	list(p, "Warnings", warningTexts(r))
	writeVerdict(p, r)
	return nil
}

// hasRates tells whether any rate of r may be shown: no pass of the gate, no rate.
func hasRates(r *bench.Record) bool {
	e, _ := r.Headline()
	return r.Accuracy.Passed && len(r.Samples) > 0 && e.N > 0
}

// whyNoRates is the sentence shown instead.
func whyNoRates(r *bench.Record) string {
	switch {
	case !r.Accuracy.Passed:
		return "the accuracy gate did not pass: " + gateOutcome(r.Accuracy)
	case r.Status == bench.StatusInterrupted:
		return "the run was interrupted before its first sample was complete"
	case r.Status == bench.StatusFailed:
		return "the run failed before its first sample was complete"
	}
	return "no sample was measured"
}

func gateOutcome(a bench.Accuracy) string {
	switch {
	case a.Error != "":
		return a.Error
	case len(a.Probes) == 0:
		return "no probe was run"
	}
	return figures(a) + given(a.Reference != "", "; reference: "+a.Reference)
}

// figures is bench's account of the gate, or none where it holds what is no number.
func figures(a bench.Accuracy) string {
	for _, x := range []float64{a.Min, a.Mean, a.Threshold, a.MaxDiff, a.DiffLimit} {
		if !isNumber(x) {
			return none
		}
	}
	return a.Figures()
}

func title(r *bench.Record) string {
	return fmt.Sprintf("encbench speed %s: %s on %s", orNone(r.Protocol.Name), orNone(r.Model.Name), orNone(r.Corpus.Name))
}

// stateMark marks a record that is not complete.
func stateMark(r *bench.Record) string {
	switch r.Status {
	case bench.StatusComplete:
		return ""
	case bench.StatusInterrupted:
		return "INTERRUPTED"
	case bench.StatusRunning:
		return "NOT FINISHED"
	case bench.StatusFailed:
		return "FAILED"
	}
	return "STATUS " + strings.ToUpper(orNone(r.Status))
}

// tellsState tells whether the mark says more than that nothing was measured
// because the gate did not pass.
func tellsState(r *bench.Record) bool { return r.Accuracy.Passed || len(r.Samples) > 0 }

func writeHeadline(p page, r *bench.Record) {
	p.line(title(r))
	p.line("")
	if mark := stateMark(r); mark != "" && tellsState(r) {
		p.hang("  "+mark+"  ", fmt.Sprintf("measured until then: %s, %s", plural(int64(len(r.Samples)), "sample"), seconds(r.TimedSeconds())))
	}
	if !hasRates(r) {
		p.hang("  NO RATE  ", whyNoRates(r))
		return
	}
	e, unit := r.Headline()
	p.hang("  "+number(e.Median)+" "+unit+"  ", spread(e)+fmt.Sprintf(", %s timed", seconds(r.TimedSeconds())))
	if s := r.Engine.Parts(); s != "" {
		p.hang("  ", "on "+s)
	}
	if s := projected(r); s != "" {
		p.line("  " + s)
	}
	p.line("  " + verdictLine(r))
}

// spread describes the interval of e, honestly for few samples.
func spread(e bench.Estimate) string {
	switch {
	case e.N == 1:
		return "one sample, no interval"
	case bench.Coverage(e.N) < 0.95:
		return fmt.Sprintf("range %s of %s, too few for a 95 %% interval", interval(e.Median, e.Low, e.High), plural(int64(e.N), "sample"))
	}
	return fmt.Sprintf("95 %% interval %s (±%s), %s", interval(e.Median, e.Low, e.High), percent(e.HalfWidth()), plural(int64(e.N), "sample"))
}

func projected(r *bench.Record) string {
	if r.Projection == nil {
		return ""
	}
	return fmt.Sprintf("projected from %s of %s; the interval is timing only", bench.Thousands(r.Projection.FromDocs), plural(r.Projection.Documents, "document"))
}

func verdictLine(r *bench.Record) string {
	if r.Verdict.Publishable {
		return "verdict: publishable"
	}
	return fmt.Sprintf("verdict: not publishable (%s, at the end)", plural(int64(len(r.Verdict.Reasons)), "reason"))
}

// writeSubject says what was run.
func writeSubject(p page, r *bench.Record) {
	p.section("What ran")
	p.row("model", modelText(r.Model))
	p.row("tokenizer", join(", ", r.Model.Tokenizer, vocab(r.Model)))
	p.row("corpus", corpusText(r.Corpus))
	p.row("selection", selectionText(r.Corpus))
	p.row("protocol", protocolText(r.Protocol))
	p.row("timed", regionText(r))
	p.row("engine", engineText(r.Engine))
	for _, l := range deviceFacts(r.Engine) {
		p.row(l.name, l.text)
	}
	p.row("run as", r.Engine.HowRun)
	p.row("schedule", scheduleText(r.Schedule))
}

// syntheticMark stands wherever a model with random weights is named.
const syntheticMark = "synthetic weights: speed only"

func modelText(m bench.Model) string {
	name := m.Name
	if m.Revision != "" {
		name += "@" + revision(m.Revision)
	}
	var random string
	if m.Synthetic {
		random = syntheticMark + given(m.StandInTokenizer, ", stand-in tokenizer")
	}
	return join(", ", name, random, m.Architecture, given(m.Parameters > 0, scaled(float64(m.Parameters), "")+" parameters"),
		given(m.Layers > 0, fmt.Sprintf("%s × %d", plural(int64(m.Layers), "layer"), m.Hidden)), dtypes(m), m.Source)
}

func dtypes(m bench.Model) string {
	switch {
	case m.Computed == "int8":
		return "int8 in linear layers"
	case m.Stored == "" || m.Stored == m.Computed:
		return m.Computed
	}
	return fmt.Sprintf("stored %s, computed %s", m.Stored, m.Computed) + given(m.WidenedBytes > 0, " ("+size(m.WidenedBytes)+" widened in loading)")
}

func vocab(m bench.Model) string {
	return given(m.Vocab > 0, bench.Thousands(int64(m.Vocab))+" entries")
}

func corpusText(c bench.Corpus) string {
	name := c.Name
	if c.Rule != "" {
		name += " (" + c.Rule + ")"
	}
	s := fmt.Sprintf("%s: %s, %s, %s, %s of text", name, plural(c.Documents, "document"), plural(c.Chunks, "chunk"), scaledPlural(c.Tokens, "token"), size(c.TextBytes))
	if c.Documents > 0 {
		s += fmt.Sprintf("; %s chunks and %s tokens a document, longest %s", brief(float64(c.Chunks)/float64(c.Documents)),
			brief(float64(c.Tokens)/float64(c.Documents)), bench.Thousands(c.LongestTk))
	}
	return s
}

func selectionText(c bench.Corpus) string {
	s := c.Selection
	if s.Kind == "" {
		return ""
	}
	if s.Kind == bench.SelectionAll {
		return "all chunks, " + plural(s.Tokens, "token") + " a pass"
	}
	return fmt.Sprintf("%s of %s, %s by length, seed %d, %s a pass", bench.Thousands(s.Chunks), plural(c.Chunks, "chunk"), s.Kind, s.Seed, plural(s.Tokens, "token"))
}

func protocolText(p bench.Protocol) string {
	special := plural(int64(p.SpecialTk), "special token")
	if p.PromptTk > 0 {
		special = fmt.Sprintf("%d special and %s", p.SpecialTk, plural(int64(p.PromptTk), "prompt token"))
	}
	s := fmt.Sprintf("%s a chunk incl. %s, %d overlap, %s, %s", plural(int64(p.Chunk), "token"), special, p.Overlap, batchText(p), orNone(p.DType))
	if p.Pooling != "" {
		s += ", " + p.Pooling + " pooling"
	}
	if p.Normalize {
		s += ", L2-normalised"
	}
	if p.Dim > 0 {
		s += ", " + plural(int64(p.Dim), "value") + " a vector"
	}
	if p.Prompt != "" {
		s += fmt.Sprintf(", prompt %q in every chunk", p.Prompt)
	}
	return s
}

// regionText says what the clock covers. A sampled run does not read the user's
// own file, which may be compressed: the selected chunks' texts lie in another.
func regionText(r *bench.Record) string {
	switch region := r.Protocol.Region; {
	case region == bench.RegionEncode:
		return "encode: from ids in memory to vectors in memory"
	case region == bench.RegionTokenizeEncode:
		return "tokenize+encode: from text in memory to vectors in memory"
	case region == bench.RegionEndToEnd && r.Corpus.Selection.Kind == bench.SelectionStratified:
		return "end-to-end: from a file of the selected chunks' texts (plain JSON lines) to vectors in memory"
	case region == bench.RegionEndToEnd:
		return "end-to-end: from the corpus file to vectors in memory"
	default:
		return string(region)
	}
}

func engineText(e bench.Engine) string {
	threads := given(e.Threads > 0, plural(int64(e.Threads), "thread"))
	if len(e.Devices) > 0 {
		threads = join(", ", plural(int64(e.Workers), "stream"), given(e.Feeders > 0, plural(int64(e.Feeders), "tokenizing thread")))
	} else if e.Workers > 0 && e.Intra > 0 {
		threads += fmt.Sprintf(" (%s × %d)", plural(int64(e.Workers), "worker"), e.Intra)
	}
	return join(", ", strings.TrimSpace(e.Backend+" "+e.Version), e.Device, threads,
		given(e.Optimization != "", "optimization "+e.Optimization),
		given(e.ActivationBits > 0, fmt.Sprintf("activations of int8 layers in %d bits", e.ActivationBits)), given(e.Slots > 0, plural(int64(e.Slots), "slot")))
}

func scheduleText(s bench.Schedule) string {
	if s.Profile == "" {
		return ""
	}
	t := fmt.Sprintf("%s: at least %s and %s s timed", s.Profile, plural(int64(s.Repeats), "sample"), trimNumber(s.MinTime.Seconds()))
	if s.MinChunks > 0 {
		t += " and " + plural(s.MinChunks, "chunk")
	}
	return t
}

// join joins the parts that are not empty.
func join(sep string, parts ...string) string {
	kept := parts[:0]
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, sep)
}

// given is s where the fact behind it is known.
func given(known bool, s string) string {
	if known {
		return s
	}
	return ""
}
