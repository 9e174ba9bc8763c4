package ort

import (
	"cmp"
	"fmt"
)

// Layout is how the threads of a CPU are used.
type Layout struct {
	Workers int // concurrent runs
	Intra   int // threads a run
	UBatch  int // rows a group; 0 = auto: rows of equal length, up to GroupTokens
	Batch   int // rows a batch
	Tokens  int // tokens that a batch is limited to, for String; 0 = rows alone count
}

// GroupTokens is the size of an automatic group: rows of one length share a run
// until they hold this many tokens. Equal lengths need neither padding nor a
// mask, which keeps ONNX Runtime on its fast attention path.
const GroupTokens = 512

// Plan chooses a layout that uses all threads: as many runs at a time as there
// are groups in a batch to feed them and as divide the threads, each with its
// share. The literal protocol (ubatch = batch) is therefore one run with all
// threads, and the automatic one as many one-thread runs as there are threads.
func Plan(threads, batch, ubatch int) Layout {
	threads = max(threads, 1)
	groups := batch
	if ubatch > 0 {
		groups = (batch + ubatch - 1) / ubatch
	}
	w := max(1, min(threads, groups))
	for threads%w != 0 {
		w--
	}
	return Layout{Workers: w, Intra: threads / w, UBatch: ubatch, Batch: batch}
}

// longTokens is how many tokens of a row are worth a thread.
const longTokens = 2048

// For is the layout for rows of up to longest tokens: each 2,048 tokens of the longest
// row give a run one more thread, as far as that divides the threads, and there are as
// many fewer runs at a time. Long rows keep several threads busy, and what a run holds
// in memory grows with its tokens. A layout with fewer runs than that stays as it is.
//
// Note: ModernBERT-base on two cores with AVX-512, seconds a row: of 4,096 tokens 7.15
// as one run of two threads, 7.18 as two runs of one; of 512 tokens 0.618 and 0.596. A
// run of 8,192 tokens holds 0.45 GB besides the weights.
func (l Layout) For(longest int) Layout {
	threads := l.Workers * l.Intra
	intra := max(1, min(longest/longTokens, threads))
	for threads%intra != 0 {
		intra--
	}
	if intra > l.Intra {
		l.Workers, l.Intra = threads/intra, intra
	}
	return l
}

// String says how a batch is run, as every report prints it.
func (l Layout) String() string {
	on := fmt.Sprintf("on %d workers of %d threads", l.Workers, l.Intra)
	switch {
	case l.Workers == 1 && l.Intra == 1:
		on = "one run at a time on one thread"
	case l.Workers == 1:
		on = fmt.Sprintf("one run at a time on %d threads", l.Intra)
	case l.Intra == 1:
		on = fmt.Sprintf("on %d one-thread workers", l.Workers)
	}
	batch := fmt.Sprintf("batch %d", l.Batch)
	if l.Tokens > 0 {
		batch = fmt.Sprintf("batches of up to %d tokens", l.Tokens)
	}
	switch {
	case l.UBatch == 0:
		return fmt.Sprintf("%s, run as equal-length groups of up to %d tokens, %s", batch, GroupTokens, on)
	case l.Tokens > 0:
		return fmt.Sprintf("%s, run as groups of %d rows, %s", batch, l.UBatch, on)
	}
	return fmt.Sprintf("batch %d, run as %d × %d, %s", l.Batch, l.UBatch, (l.Batch+l.UBatch-1)/l.UBatch, on)
}

// group is a run of rows in a slot's order.
type group struct {
	from, n int // order[from:from+n]
	longest int
}

// sorter splits batches into groups without allocating once it is warm.
type sorter struct {
	count  []int32
	tokens int // of an automatic group; 0 = GroupTokens
	step   int // lengths of an automatic group are equal when rounded up to it; 0 = 1
	most   int // that they are rounded up to; 0 = no limit
}

// top is the length that a row's is rounded up to.
func (s *sorter) top(length int) int {
	if s.step <= 1 {
		return length
	}
	top := (length + s.step - 1) / s.step * s.step
	if s.most > 0 {
		top = max(length, min(top, s.most))
	}
	return top
}

// split sorts the rows of a batch by length, longest first and stable, and cuts
// them into groups: equal lengths, rounded up, to the sorter's tokens when ubatch is 0,
// else ubatch rows. Longest first, so that the last group to finish is a short one.
func (s *sorter) split(off []int32, ubatch int, order []int32, groups []group) ([]int32, []group) {
	rows := len(off) - 1
	longest := int32(0)
	for r := range rows {
		longest = max(longest, off[r+1]-off[r])
	}
	if need := int(longest) + 2; cap(s.count) < need {
		s.count = make([]int32, need)
	}
	s.count = s.count[:longest+2]
	clear(s.count)
	for r := range rows {
		s.count[longest-(off[r+1]-off[r])+1]++
	}
	for i := 1; i < len(s.count); i++ {
		s.count[i] += s.count[i-1]
	}
	if cap(order) < rows {
		order = make([]int32, rows)
	}
	order, groups = order[:rows], groups[:0]
	for r := range rows {
		k := longest - (off[r+1] - off[r])
		order[s.count[k]] = int32(r)
		s.count[k]++
	}
	for i := 0; i < rows; {
		first := int(off[order[i]+1] - off[order[i]])
		n := ubatch
		if ubatch == 0 {
			most := max(1, cmp.Or(s.tokens, GroupTokens)/max(s.top(first), 1))
			for n = 1; n < most && i+n < rows && s.top(int(off[order[i+n]+1]-off[order[i+n]])) == s.top(first); n++ {
			}
		}
		n = min(n, rows-i)
		groups = append(groups, group{from: i, n: n, longest: first})
		i += n
	}
	return order, groups
}
