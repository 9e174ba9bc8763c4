package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// rankedInfo is what a run file says of itself.
type rankedInfo struct {
	sha256 string     // of the file unpacked
	header run.Header // of text the tag alone
}

// rankedFile visits the rankings of a run file, our own or text, plain or
// compressed, in trec_eval's order; opt says how text is read. docs and scores are the
// visitor's to keep. Text is held in memory: its queries need not stand together.
func (a *app) rankedFile(ctx context.Context, path string, opt trec.Options, visit func(query string, docs []string, scores []float64) error) (info rankedInfo, err error) {
	in, name, err := a.openText(path)
	if err != nil {
		return info, fmt.Errorf("run: %w", err)
	}
	defer in.Close()
	h := sha256.New()
	r := bufio.NewReader(io.TeeReader(in, h))
	head, err := r.Peek(8)
	if err != nil && err != io.EOF {
		return info, fmt.Errorf("run: %w", err)
	}
	var src ranking.Source
	if run.Sniff(head) {
		var own *run.Reader
		if own, err = run.NewReader(r, name, run.Options{}); err == nil {
			src, info.header = own, own.Header()
		}
	} else {
		var text *trec.Collected
		if text, err = trec.Collect(r, name, opt); err == nil {
			src, info.header = text, run.Header{Tag: text.Tag()}
		}
	}
	if err != nil {
		return info, fmt.Errorf("run: %w", err)
	}
	var b ranking.Block
	var sorter ranking.Sorter
	for {
		if err := ctx.Err(); err != nil {
			return info, err
		}
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return info, fmt.Errorf("run: %w", err)
		}
		for q := range b.Len() {
			docs, scores := rankedList(&sorter, &b, q)
			if err := visit(string(b.Queries.At(q)), docs, scores); err != nil {
				return info, fmt.Errorf("run %s: %w", name, err)
			}
		}
	}
	// The rest of the file, which a reader need not have asked for.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return info, fmt.Errorf("run: %w", err)
	}
	info.sha256 = hex.EncodeToString(h.Sum(nil))
	return info, nil
}

// rankedList gives the documents of a block's query and their scores in the order
// of the sorter, copied.
func rankedList(s *ranking.Sorter, b *ranking.Block, q int) (docs []string, scores []float64) {
	from, to := b.Rows(q)
	rows := s.Rank(b, q)
	docs, scores = make([]string, to-from), make([]float64, to-from)
	for i := range docs {
		row := from + i
		if rows != nil {
			row = int(rows[i])
		}
		docs[i], scores[i] = string(b.DocAt(row)), b.Score[row]
	}
	return docs, scores
}
