package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"encbench/bench"
	"encbench/corpus"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// scoredQrels is a file of judgements.
type scoredQrels struct {
	name  string
	qrels *judge.Qrels
	stats trec.QrelsStats
}

// scoredRun is a judged run file.
type scoredRun struct {
	name, tag, format string
	result            *judge.Result
	stats             trec.Stats
	damage            []string // passed over in a file of our own format
	corpus            string   // of a file of our own format, with its hash
	corpusSHA256      string
	collected         bool // read in memory because its queries do not stand together
}

// openText opens a file, plain or compressed, or standard input, and gives the
// name for messages.
func (a *app) openText(path string) (io.ReadCloser, string, error) {
	if path == "-" {
		r, err := corpus.Unpack(a.stdin, "standard input")
		return r, "standard input", err
	}
	r, err := corpus.Open(path)
	return r, path, err
}

func (s *scoring) readQrels(a *app, path string) (*scoredQrels, error) {
	r, name, err := a.openText(path)
	if err != nil {
		return nil, fmt.Errorf("judgements: %w", err)
	}
	defer r.Close()
	q := &scoredQrels{name: path}
	in := bufio.NewReader(r)
	head, _ := in.Peek(1 << 10) // what is wrong with it, reading tells
	swapped := isRun(head) || len(splitColumns(head)) == 6
	q.qrels, q.stats, err = trec.ReadQrelsWith(in, name, trec.QrelsOptions{Lenient: s.lenient, Comments: s.comments})
	if err != nil && swapped {
		return nil, fmt.Errorf("judgements: %w; this looks like a run: the order is QRELS RUN", err)
	}
	if err != nil {
		return nil, fmt.Errorf("judgements: %w", err)
	}
	return q, nil
}

// textSource is a run as text.
type textSource interface {
	ranking.Source
	Stats() trec.Stats
	Tag() string
	Format() trec.Format
}

// scoreRun judges one run. Where its queries turn out not to stand together it is
// read once more, into memory, if the flags allow it and it is a file.
func (s *scoring) scoreRun(ctx context.Context, a *app, qrels *judge.Qrels, path string) (*scoredRun, error) {
	collect := s.grouping == "collect"
	r, err := s.judge(ctx, a, qrels, path, collect)
	if !errors.Is(err, trec.ErrNotGrouped) {
		return r, err
	}
	switch {
	case s.grouping == "stream":
		return nil, fmt.Errorf("%w, so that it cannot be read as a stream; sort it by query (sort -s -k1,1), or leave out --grouping stream", err)
	case path == "-":
		return nil, fmt.Errorf("%w, and it cannot be read a second time; sort it by query (sort -s -k1,1), or give --grouping collect to hold it in memory", err)
	}
	fmt.Fprintf(a.stderr, "encbench score: %v; reading it again in memory\n", err)
	return s.judge(ctx, a, qrels, path, true)
}

func (s *scoring) judge(ctx context.Context, a *app, qrels *judge.Qrels, path string, collect bool) (*scoredRun, error) {
	in, name, err := a.openText(path)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	defer in.Close()
	// Note: the text reader asks for a megabyte at a time, which passes by this buffer.
	p := a.progress()
	defer p.clear()
	buffered := bufio.NewReaderSize(watched(in, p, name), 4<<10)
	j, err := judge.New(qrels, s.list, s.options)
	if err != nil {
		return nil, err
	}
	sr := &scoredRun{name: path, collected: collect}
	head, err := buffered.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("run: %w", err)
	}
	if run.Sniff(head) {
		err = s.judgeOwn(ctx, j, buffered, name, sr)
	} else {
		err = s.judgeText(ctx, j, buffered, name, collect, sr)
	}
	if err == nil {
		sr.result, err = j.Result()
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			if f := sr.stats.Fault; f != nil {
				err = fmt.Errorf("%w; skipped %s, the first: %w", err, several(int(sr.stats.Skipped), "line", "lines"), f)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return sr, nil
}

// judgeOwn judges a run in our own format, whose reader decodes on goroutines of
// its own.
func (s *scoring) judgeOwn(ctx context.Context, j *judge.Judge, in io.Reader, name string, sr *scoredRun) error {
	r, err := run.NewReader(in, name, run.Options{Workers: s.threads, Skip: s.lenient, Unspelled: true})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	h := r.Header()
	sr.format, sr.tag, sr.corpus, sr.corpusSHA256 = "ebrun", h.Tag, h.Corpus, h.CorpusSHA256
	if err := j.Run(ctx, r, 1); err != nil {
		return inRun(name, err)
	}
	for _, d := range r.Damage() {
		sr.damage = append(sr.damage, d.Error())
	}
	return nil
}

// inRun names the run of an error that does not.
func inRun(name string, err error) error {
	if strings.HasSuffix(err.Error(), trec.NameFormat) {
		err = fmt.Errorf("%w with --run-format", err)
	}
	if strings.Contains(err.Error(), name) {
		return fmt.Errorf("run: %w", err)
	}
	return fmt.Errorf("run %s: %w", name, err)
}

// watched shows how much was read.
func watched(r io.Reader, p *progress, name string) io.Reader {
	n := int64(0)
	return readerFunc(func(b []byte) (int, error) {
		m, err := r.Read(b)
		n += int64(m)
		p.show(0, func() string { return fmt.Sprintf("%s: %s MB read", name, bench.Thousands(n>>20)) })
		return m, err
	})
}

func (s *scoring) judgeText(ctx context.Context, j *judge.Judge, in io.Reader, name string, collect bool, sr *scoredRun) error {
	opt := trec.Options{Format: s.runFormat, Lenient: s.lenient, Comments: s.comments}
	var src textSource
	if collect {
		c, err := trec.Collect(in, name, opt)
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		src = c
	} else {
		src = trec.NewReader(in, name, opt)
	}
	if err := j.Run(ctx, src, s.threads); err != nil {
		return inRun(name, err)
	}
	sr.stats, sr.tag, sr.format = src.Stats(), src.Tag(), src.Format().String()
	return nil
}
