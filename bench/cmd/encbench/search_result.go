package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"encbench/engine"
	"encbench/engine/vectors"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// hitSink takes the hits of blocks of queries.
type hitSink interface {
	write(h *engine.Hits, id func(buf []byte, q int) []byte) error
	commit(s *search) (line string, err error)
	discard()
}

// sink opens what the format asks for.
func (s *search) sink(k int) (hitSink, error) {
	if s.format == "npy" {
		return &matrixSink{out: s.out, hits: engine.Hits{K: k}}, nil
	}
	if s.out.path == "" {
		return &runSink{names: &s.docName, to: trec.NewWriter(s.app.stdout, s.tag)}, nil
	}
	t := new(runTarget)
	h := run.Header{K: k, Tag: s.tag, Notes: []string{"exact search, metric " + s.opt.Metric.String() + ", rows kept as " + s.opt.Store.String()}}
	if err := t.create(s.out, s.format, h); err != nil {
		return nil, err
	}
	return &runSink{names: &s.docName, to: t, file: t}, nil
}

// runSink writes hits as a run.
type runSink struct {
	names *names
	to    interface {
		Write(*ranking.Block) error
	}
	file   *runTarget // nil for standard output
	block  ranking.Block
	sorter ranking.Sorter
	rows   int64
}

func (r *runSink) write(h *engine.Hits, id func(buf []byte, q int) []byte) error {
	b := &r.block
	b.Reset()
	b.Off = append(b.Off, 0)
	var buf [20]byte
	for q := range h.Queries {
		b.Queries.Append(id(buf[:0], q))
		rows, scores := h.Query(q)
		for i, row := range rows {
			b.Docs.Append(r.names.at(buf[:0], row))
			b.Score = append(b.Score, float64(scores[i]))
		}
		b.Off = append(b.Off, int32(len(b.Score)))
	}
	r.arrange()
	r.rows += int64(len(b.Score))
	return r.to.Write(b)
}

// arrange puts hits of equal score in the order of runs. They come in that of the
// rows, by which the search decided who is among the first k.
func (r *runSink) arrange() {
	b := &r.block
	for q := range b.Len() {
		order := r.sorter.Rank(b, q)
		if order == nil {
			continue
		}
		from, to := b.Rows(q)
		start, end, score := slices.Clone(b.Docs.Start[from:to]), slices.Clone(b.Docs.End[from:to]), slices.Clone(b.Score[from:to])
		for i, row := range order {
			b.Docs.Start[from+i], b.Docs.End[from+i], b.Score[from+i] = start[int(row)-from], end[int(row)-from], score[int(row)-from]
		}
	}
}

func (r *runSink) commit(s *search) (string, error) {
	if r.file == nil {
		return "", r.to.(*trec.Writer).Close()
	}
	size, err := r.file.commit()
	return wrote(s.out.path, s.queries, r.rows, size), err
}

func (r *runSink) discard() {
	if r.file != nil {
		r.file.discard()
	}
}

// matrixSink keeps all hits and writes them as a matrix of records, whose header
// has their number.
type matrixSink struct {
	out  *outFile
	hits engine.Hits
}

func (m *matrixSink) write(h *engine.Hits, _ func([]byte, int) []byte) error {
	m.hits.Queries += h.Queries
	m.hits.Row, m.hits.Score = append(m.hits.Row, h.Row...), append(m.hits.Score, h.Score...)
	return nil
}

func (m *matrixSink) commit(s *search) (string, error) {
	if err := m.out.replace(func(w io.Writer) error { return vectors.WriteHitsNPY(w, &m.hits) }); err != nil {
		return "", err
	}
	st, err := os.Stat(m.out.path)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", m.out.path, err)
	}
	return wrote(m.out.path, s.queries, int64(len(m.hits.Row)), st.Size()), nil
}

func (m *matrixSink) discard() {}
