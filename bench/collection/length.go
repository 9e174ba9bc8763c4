package collection

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"encbench/metrics/judge"
)

// contextLength reads a split such as test_256, by which LongEmbed's needle and
// passkey pick one context length.
func contextLength(split string) (length int, ok bool) {
	i := strings.LastIndexByte(split, '_')
	if i < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(split[i+1:])
	return n, err == nil && n > 0
}

// contextLength gives the field of that name, 0 for none.
func (o object) contextLength() (int, error) {
	n, v := o.field([]string{"context_length"})
	if n == "" {
		return 0, nil
	}
	length, err := strconv.Atoi(strings.Trim(string(v), `"`))
	if err != nil || length <= 0 {
		return 0, fmt.Errorf("context_length %.40s: expected a positive whole number", v)
	}
	return length, nil
}

// byLength keeps the queries and documents of one context length. A collection of
// several is refused: a pool across lengths is not the task.
func (r *raw) byLength(docs []string, lengths []int, split string) error {
	length, wanted := contextLength(split)
	set := map[int]bool{}
	for _, n := range lengths {
		set[n] = true
	}
	have := slices.Sorted(maps.Keys(set))
	switch {
	case len(have) == 0, len(have) == 1 && have[0] == 0:
		if wanted && r.split != split {
			return fmt.Errorf("%w: split %q is not there: no query has a context_length, the judgements are of %s", ErrSplit, split, orWord(r.split, "no split"))
		}
		return nil
	case !wanted && len(have) > 1:
		return fmt.Errorf("%w: queries of %d context lengths, which are one task each and never one pool: choose a split of test_%s", ErrSplit, len(have), numbers(have))
	case !wanted:
		length = have[0]
	case !set[length]:
		return fmt.Errorf("%w: no query has context length %d: choose a split of test_%s", ErrSplit, length, numbers(have))
	}
	r.split = "test_" + strconv.Itoa(length)
	r.notes = append(r.notes, fmt.Sprintf("queries and documents of context length %d", length))
	kept := r.queries[:0:0]
	for i, q := range r.queries {
		if lengths[i] == length {
			kept = append(kept, q)
		}
	}
	r.queries = kept
	r.qrels = r.only(kept)
	var keep []int64
	number := int64(0)
	for _, path := range docs {
		err := eachLine(path, func(line []byte, _ int) error {
			o, err := parseObject(line)
			if err != nil {
				return err
			}
			n, err := o.contextLength()
			if n == length {
				keep = append(keep, number)
			}
			number++
			return err
		})
		if err != nil {
			return err
		}
	}
	r.docs = some(r.docs, keep)
	return nil
}

// numbers lists lengths as the ends of splits.
func numbers(n []int) string {
	s := make([]string, len(n))
	for i, v := range n {
		s[i] = strconv.Itoa(v)
	}
	return strings.Join(s, ", test_")
}

// orWord gives s, or word where s is empty.
func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// only gives the judgements of some queries.
func (r *raw) only(queries []placed) *judge.Qrels {
	var judged []Query
	for _, q := range queries {
		if _, ok := r.qrels.Find(q.ID); ok {
			judged = append(judged, q.Query)
		}
	}
	return subset(r.qrels, judged)
}
