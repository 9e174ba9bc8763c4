package peers

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Lists is a made-up run with its judgements, from a seed: the same values always
// give the same bytes.
type Lists struct {
	Queries   int
	Depth     int // documents a query
	Judged    int // documents a query, about half of them in the list; grades 0 to 3
	Documents int // identifiers are the numbers below it
	Seed      uint64
	// Ties rounds scores so that many are equal, leaves a query in ten out of the
	// run and gives lists of any length up to Depth.
	Ties bool
}

// list is one query.
type list struct {
	docs   []int32
	scores []float32 // descending, all different unless Ties
	judged []int32
	grades []int
}

func (l Lists) query(q int) list {
	r := rand.New(rand.NewPCG(l.Seed, uint64(q)))
	var out list
	depth := l.Depth
	if l.Ties {
		depth = 1 + r.IntN(depth)
	}
	seen := make(map[int32]bool, depth)
	next := func() int32 {
		for {
			if d := int32(r.IntN(l.Documents)); !seen[d] {
				seen[d] = true
				return d
			}
		}
	}
	for range depth {
		out.docs = append(out.docs, next())
		out.scores = append(out.scores, r.Float32())
	}
	if l.Ties {
		for i, s := range out.scores {
			out.scores[i] = float32(int(s*16)) / 16
		}
	} else {
		slices.SortFunc(out.scores, func(a, b float32) int {
			switch {
			case a > b:
				return -1
			case a < b:
				return 1
			}
			return 0
		})
		// Equal neighbours are one in some thousands; the next smaller value ends that.
		for i := 1; i < len(out.scores); i++ {
			if out.scores[i] >= out.scores[i-1] {
				out.scores[i] = out.scores[i-1] - 1.0/(1<<24)
			}
		}
	}
	for i, place := range r.Perm(depth) {
		if i >= l.Judged/2 {
			break
		}
		out.judged = append(out.judged, out.docs[place])
	}
	for len(out.judged) < l.Judged {
		out.judged = append(out.judged, next())
	}
	for range out.judged {
		out.grades = append(out.grades, max(0, r.IntN(6)-2))
	}
	// Every query has something to find, so that no tool leaves it out.
	out.grades[0] = 1
	return out
}

// absent says whether a query is left out of the run.
func (l Lists) absent(q int) bool { return l.Ties && q%10 == 9 }

// id gives the identifier of a query; all have the same length, so that their
// order as bytes is that of the numbers.
func (l Lists) id(q int) string { return strconv.Itoa(1000000 + q) }

// WriteRun writes the run as TREC text: scores in the fewest digits that give the
// float32 back.
func (l Lists) WriteRun(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for q := range l.Queries {
		if l.absent(q) {
			continue
		}
		id, of := l.id(q), l.query(q)
		for i, d := range of.docs {
			line = append(append(line[:0], id...), " Q0 "...)
			line = append(strconv.AppendInt(line, int64(d), 10), ' ')
			line = append(strconv.AppendInt(line, int64(i+1), 10), ' ')
			line = append(strconv.AppendFloat(line, float64(of.scores[i]), 'g', -1, 32), " made\n"...)
			if _, err := b.Write(line); err != nil {
				return fmt.Errorf("write a run: %w", err)
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write a run: %w", err)
	}
	return nil
}

// WriteQrels writes the judgements as TREC text.
func (l Lists) WriteQrels(w io.Writer) error {
	b := bufio.NewWriter(w)
	for q := range l.Queries {
		of := l.query(q)
		for i, d := range of.judged {
			fmt.Fprintf(b, "%s 0 %d %d\n", l.id(q), d, of.grades[i])
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write judgements: %w", err)
	}
	return nil
}
