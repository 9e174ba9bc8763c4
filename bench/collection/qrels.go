package collection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
	"encbench/metrics/trec"
)

// readQrels reads the judgements of some files of the folder as one set, and notes
// the columns by which they were read.
func (r *raw) readQrels(l *listing, parts []part) error {
	var layouts []string
	for _, p := range parts {
		q, layout, err := readQrelsFile(l.path(p.file))
		if err != nil {
			return err
		}
		if !slices.Contains(layouts, layout) {
			layouts = append(layouts, layout)
		}
		if r.qrels == nil {
			r.qrels = q
			continue
		}
		all := r.qrels
		all.Repeated += q.Repeated
		for j := range q.Len() {
			docs, grades := q.Judged(j)
			for i, d := range docs {
				if err := all.Add(q.Query(j), d, grades[i]); err != nil {
					return fmt.Errorf("%s: %w: %w", l.path(p.file), ErrLabels, err)
				}
			}
		}
	}
	r.notes = append(r.notes, "judgements are read as "+strings.Join(layouts, " and as "))
	return nil
}

// readQrelsFile reads one file and says by which columns.
func readQrelsFile(path string) (q *judge.Qrels, layout string, err error) {
	f, err := corpus.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	q, stats, err := trec.ReadQrelsWith(f, path, trec.QrelsOptions{})
	return q, stats.Layout, err
}
