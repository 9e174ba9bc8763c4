package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"encbench/metrics"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/stat"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var scoreCommand = &command{
	name:  "score",
	args:  "QRELS RUN...",
	short: "judge runs of any system; compare them when there are several",
	long: `
Reads judgements and runs, scores every query, and says over which queries the
means are. Judgements: TREC's four columns, BEIR's and MTEB's tables with a header,
MS MARCO's, JSON lines. Runs: TREC text, MS MARCO's, JSON of MTEB and ranx, and our
own .ebrun. All of them plain, gzip or zstd, told by their content; "-" is standard
input. A run whose rows are grouped by query is read as a stream, whatever its size.

With several runs the first is the baseline: differences to it with intervals, a
paired randomisation test, and p-values corrected over the table (Holm). Every
measure of -m that is no count is tested. Without -m the tests are of
` + strings.Join(decisive, ", ") + ` alone, since more of them would hide what they find; the others
show their differences.

--convention trec_eval prints what trec_eval prints, to the byte; add --score-f32 for
versions before 10, which hold scores as 32-bit floats.`,
	examples: []example{
		{"encbench score qrels.txt bm25.txt", "the default measures with 95 % intervals"},
		{"encbench score qrels.txt bm25.txt dense.txt -m nDCG@10,R@100", "is the second run better?"},
		{"encbench score qrels.txt bm25.txt --convention trec_eval -q", "trec_eval's own text, with lines for each query"},
		{"encbench score qrels.txt bm25.txt -m nDCG@10 -q --format csv", "a table of queries for a plot"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &scoreFlags{fs: fs}
		fs.StringArrayVarP(&f.measures, "measures", "m", nil, "`NAMES` of measures, such as nDCG@10,R@100, or presets: "+presetNames()+" (repeatable); default: the preset default, or official under --convention trec_eval")
		fs.BoolVarP(&f.perQuery, "per-query", "q", false, "print every query's value too")
		fs.StringVar(&f.convention, "convention", "ir_measures", "`TOOL` whose habits decide which queries are averaged: "+strings.Join(judge.Conventions(), ", "))
		fs.StringVar(&f.ties, "ties", "desc", "`RULE` for equal scores: by id desc or asc, file, rank (by the rank column alone), average (expected value)")
		fs.BoolVar(&f.float32, "score-f32", false, "compare scores as 32-bit floats, as trec_eval before version 10")
		fs.BoolVarP(&f.complete, "complete", "c", false, "average over every judged query, a missing one with an empty ranking")
		fs.IntVarP(&f.level, "level", "l", 0, "lowest relevant `GRADE` of measures that name none, 1 or more (default 1); nDCG reads grades")
		fs.IntVarP(&f.depth, "depth", "M", 0, "cut every ranking after `N` documents, 1 or more (default: none is cut)")
		fs.BoolVarP(&f.judgedOnly, "judged-only", "J", false, "drop documents without a judgement before ranks are counted")
		fs.StringVar(&f.self, "self", "", "`WHAT` to do with documents of the query's own id: keep or drop (default: keep; beir: drop)")
		fs.BoolVar(&f.excludeEmpty, "exclude-without-relevant", false, "leave queries without a relevant document out of the means")
		fs.BoolVar(&f.tieRange, "tie-range", false, "print the lowest and highest mean over every order of equal scores")
		fs.BoolVar(&f.lenient, "lenient", false, "skip and count lines that cannot be read, accept infinite scores, keep the first of repeated documents")
		fs.BoolVar(&f.comments, "comments", false, "lines that begin with # are comments")
		fs.StringVar(&f.runFormat, "run-format", "auto", "`FORMAT` of text runs: "+strings.Join(trec.Formats(), ", ")+" (msmarco: query document rank; scores: query document score)")
		fs.StringVar(&f.grouping, "grouping", "auto", "`HOW` to read runs whose queries do not stand together: auto (read again in memory), stream (refuse), collect (always in memory)")
		fs.StringVar(&f.format, "format", "text", "`FORMAT`: "+strings.Join(scoreFormats, ", "))
		fs.Uint64Var(&f.seed, "seed", 1, "`N` that the resampling starts from")
		fs.IntVar(&f.replicates, "replicates", stat.Replicates, "`N` resamples of tests and intervals, 1,000 or more")
		fs.IntVar(&f.threads, "threads", 0, "`N` goroutines; 0 means every CPU that this process may use")
		return f
	},
}

var scoreFormats = []string{"text", "json", "jsonl", "csv", "tsv"}

// presetNames lists the presets for the help.
func presetNames() string {
	var names []string
	for _, p := range metrics.Presets() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

type scoreFlags struct {
	fs                                                  *pflag.FlagSet
	measures                                            []string
	convention, ties, self, runFormat, grouping, format string
	perQuery, float32, complete, judgedOnly             bool
	excludeEmpty, tieRange, lenient, comments           bool
	level, depth, threads, replicates                   int
	seed                                                uint64
}

// scoring is what the flags ask for, checked.
type scoring struct {
	*scoreFlags
	list      []metrics.Measure
	official  bool // trec_eval's own list, whose text begins with the run's tag
	options   judge.Options
	runFormat trec.Format
}

func (f *scoreFlags) run(ctx context.Context, a *app, args []string) error {
	s, err := f.check(args)
	if err != nil {
		return err
	}
	qrels, err := s.readQrels(a, args[0])
	if err != nil {
		return err
	}
	var runs []*scoredRun
	for _, name := range args[1:] {
		r, err := s.scoreRun(ctx, a, qrels.qrels, name)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	report := newScoreReport(s, qrels, runs)
	return report.write(a)
}

// check turns the flags into options.
func (f *scoreFlags) check(args []string) (*scoring, error) {
	if len(args) < 2 {
		return nil, usagef("score takes judgements and at least one run, %d given", len(args))
	}
	if n := slices.Index(args, "-"); n >= 0 && slices.Contains(args[n+1:], "-") {
		return nil, usagef("standard input can be read once; give the other files by name")
	}
	s := &scoring{scoreFlags: f}
	var err error
	if s.options.Convention, err = judge.ParseConvention(f.convention); err != nil {
		return nil, usagef("--convention: %w", err)
	}
	if s.options.Ties, err = ranking.ParseTies(f.ties); err != nil {
		return nil, usagef("--ties: %w", err)
	}
	if s.runFormat, err = trec.ParseFormat(f.runFormat); err != nil {
		return nil, usagef("--run-format: %w", err)
	}
	switch {
	case !slices.Contains(scoreFormats, f.format):
		return nil, usagef("unknown format %q: %s", f.format, strings.Join(scoreFormats, ", "))
	case !slices.Contains([]string{"auto", "stream", "collect"}, f.grouping):
		return nil, usagef("--grouping %q: auto, stream or collect", f.grouping)
	case !slices.Contains([]string{"", "keep", "drop"}, f.self):
		return nil, usagef("--self %q: keep or drop", f.self)
	case f.fs.Changed("level") && f.level < 1:
		return nil, usagef("--level %d: at least 1, which is the level without the flag", f.level)
	case f.fs.Changed("depth") && f.depth < 1:
		return nil, usagef("--depth %d: at least 1; without the flag no ranking is cut", f.depth)
	case f.threads < 0:
		return nil, usagef("--threads %d: must not be negative", f.threads)
	case f.tieRange && f.convention == "trec_eval" && f.format == "text":
		return nil, usagef("--tie-range: trec_eval's text has no place for it; print --format json")
	case f.replicates < 1000:
		return nil, usagef("--replicates %d: at least 1,000, so that a p-value has three digits", f.replicates)
	}
	if f.threads == 0 {
		f.threads = runtime.GOMAXPROCS(0)
	}
	if err := s.chooseMeasures(); err != nil {
		return nil, err
	}
	o := &s.options
	o.Float32, o.JudgedOnly, o.Depth, o.Level = f.float32, f.judgedOnly, f.depth, float64(f.level)
	o.ExcludeWithoutRelevant, o.Range = f.excludeEmpty, f.tieRange
	o.KeepFirst, o.Infinite = f.lenient, f.lenient
	if f.complete {
		o.Complete = judge.Yes
	}
	switch f.self {
	case "keep":
		o.DropSelf = judge.No
	case "drop":
		o.DropSelf = judge.Yes
	}
	return s, nil
}

// chooseMeasures reads --measures and --level.
func (s *scoring) chooseMeasures() error {
	names := strings.Join(s.measures, " ")
	switch {
	case names != "":
	case s.options.Convention == judge.TrecEval:
		names = "official"
	default:
		names = "default"
	}
	list, err := metrics.ParseList(names)
	if err != nil {
		return usagef("--measures: %w", err)
	}
	if len(s.measures) == 0 && s.options.Ties == ranking.Average {
		list = slices.DeleteFunc(list, func(m metrics.Measure) bool { return judge.Averageable(m) != nil })
	}
	s.official = slices.Contains(strings.FieldsFunc(names, func(c rune) bool { return c == ' ' || c == ',' }), "official")
	if s.level > 0 {
		for i, m := range list {
			if list[i], err = withLevel(m, s.level); err != nil {
				return usagef("--level %d: %w", s.level, err)
			}
		}
	}
	s.list = list
	if s.options.Convention == judge.TrecEval && s.format == "text" {
		return s.trecOrder()
	}
	return nil
}

// withLevel gives a measure that names no level this one.
func withLevel(m metrics.Measure, level int) (metrics.Measure, error) {
	if m.Rel() != metrics.Level || level == metrics.Level {
		return m, nil
	}
	name, cut, _ := strings.Cut(m.String(), "@")
	rel := fmt.Sprintf("rel=%d", level)
	if before, ok := strings.CutSuffix(name, ")"); ok {
		name = before + "," + rel + ")"
	} else {
		name += "(" + rel + ")"
	}
	if cut != "" {
		name += "@" + cut
	}
	return metrics.Parse(name)
}
