package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"encbench/metrics"
	"encbench/metrics/judge"
)

// trecNames are trec_eval's measures in the order in which it prints them, whatever
// the order in which they are asked for. Of names with cut-offs the stem stands here.
var trecNames = []string{
	"num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
	"iprec_at_recall", "P", "recall", "infAP", "ndcg", "ndcg_cut", "map_cut", "success", "unj",
	"set_P", "set_recall", "set_F",
}

// trecOrder puts the measures into trec_eval's order, and refuses those that it
// does not have.
func (s *scoring) trecOrder() error {
	place := func(m metrics.Measure) int { return slices.Index(trecNames, trecStem(m)) }
	for _, m := range s.list {
		if place(m) < 0 {
			return usagef("trec_eval has no name for %s; leave out --convention trec_eval, or print --format json", m)
		}
	}
	slices.SortStableFunc(s.list, func(a, b metrics.Measure) int {
		if c := place(a) - place(b); c != 0 {
			return c
		}
		return a.Cut() - b.Cut()
	})
	return nil
}

// trecStem gives the name in trecNames.
func trecStem(m metrics.Measure) string {
	name := m.TrecName()
	switch {
	case name == "":
		return ""
	case strings.HasPrefix(name, "iprec_at_recall"):
		return "iprec_at_recall"
	case strings.HasPrefix(name, "set_F"):
		return "set_F"
	case strings.Contains(name, "="):
		return "ndcg"
	case m.Cut() > 0:
		return name[:strings.LastIndexByte(name, '_')]
	}
	return name
}

// writeTrec prints a run as trec_eval 9.0 does. Lines for single queries leave out
// those that the run misses.
func (r *scoreReport) writeTrec(out io.Writer, sr *scoredRun) error {
	w := bufio.NewWriter(out)
	line := func(m metrics.Measure, query string, v float64) {
		if m.Counts() {
			fmt.Fprintf(w, "%-22s\t%s\t%.0f\n", m.TrecName(), query, v)
		} else {
			fmt.Fprintf(w, "%-22s\t%s\t%6.4f\n", m.TrecName(), query, v)
		}
	}
	res := sr.result
	if r.perQuery {
		for i, query := range res.Queries {
			if _, missing := slices.BinarySearch(res.Missing, query); missing {
				continue
			}
			for n, m := range res.Measures {
				if m.PerQuery() {
					line(m, query, res.Values[n][i])
				}
			}
		}
	}
	if r.official {
		fmt.Fprintf(w, "%-22s\tall\t%s\n", "runid", sr.tag)
	}
	for n, m := range res.Measures {
		v := res.Mean[n]
		if r.complete && m.TrecName() == "num_rel" {
			v = positive(r.qrels.qrels)
		}
		line(m, "all", v)
	}
	return w.Flush()
}

// positive counts the judgements of positive grade: what trec_eval prints as num_rel
// over all judged queries, whatever the level.
func positive(q *judge.Qrels) (n float64) {
	for i := range q.Len() {
		_, grades := q.Judged(i)
		for _, g := range grades {
			if g > 0 {
				n++
			}
		}
	}
	return n
}
