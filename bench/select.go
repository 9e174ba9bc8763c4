package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/feed"
)

// Row is one selected chunk.
type Row struct {
	Number int64     // in the corpus
	Doc    int64     // document it was cut from
	IDs    []int32   // special tokens and prompt included
	Text   []byte    // tokenizing it alone gives the content …
	Trim   feed.Trim // … after this trimming
}

// Selected is what Select found.
type Selected struct {
	Rows   []Row      // in corpus order
	Stats  feed.Stats // of the whole corpus
	Docs   int64      // documents that Rows come from
	All    bool       // Rows is the whole corpus
	Other  int64      // rows passed over because their text alone tokenizes otherwise
	SHA256 string     // over the ids of the whole corpus
}

// Select streams a corpus and keeps n of its rows, stratified by length bucket:
// each bucket gives in proportion to its rows, at least one, chosen by reservoir
// sampling (Vitter's algorithm R) with a generator of its own, so that memory is
// bounded by n and the result depends on the corpus and the seed alone. A corpus
// of no more than n rows is kept whole. f must be a feeder with Options.Pieces;
// tok checks that the text of a row gives its ids, which have overhead special
// and prompt tokens around them.
func Select(ctx context.Context, f *feed.Feeder, tok tokenize.Tokenizer, overhead int, n int, seed uint64, progress func(feed.Stats)) (*Selected, error) {
	var buckets [engine.Buckets]reservoir
	for b := range buckets {
		buckets[b].rng = rand.New(rand.NewPCG(seed, uint64(b)))
		buckets[b].size = n + n/8 + 8 // a few more than can be wanted: take may pass over some
	}
	all := NewIDsHash()
	for {
		batch, err := f.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for r := range batch.Rows() {
			ids := batch.Row(r)
			all.Add(ids)
			buckets[engine.Bucket(len(ids))].offer(batch, r)
		}
		f.Recycle(batch)
		if progress != nil {
			progress(f.Stats())
		}
	}
	sel := &Selected{Stats: f.Stats(), SHA256: all.Hex()}
	sel.All = sel.Stats.Rows <= int64(n)
	want := Allocate(sel.Stats.RowsByBucket[:], n)
	for b := range buckets {
		if sel.All {
			want[b] = len(buckets[b].rows)
		}
		rows, passed := buckets[b].take(want[b], tok, overhead)
		if len(rows) < want[b] {
			return nil, fmt.Errorf("select: %d of %d sampled chunks of length bucket %d tokenize differently when taken alone; time whole documents with --sample all", passed, passed+len(rows), b)
		}
		sel.Rows = append(sel.Rows, rows...)
		sel.Other += int64(passed)
	}
	slices.SortFunc(sel.Rows, func(a, b Row) int { return int(a.Number - b.Number) })
	last := int64(-1)
	for _, r := range sel.Rows {
		if r.Doc != last {
			sel.Docs++
			last = r.Doc
		}
	}
	return sel, nil
}

// CountRows gives the rows of every length bucket, and the tokens of all.
func CountRows(rows []Row) (perBucket []int64, tokens int64) {
	perBucket = make([]int64, engine.Buckets)
	for _, r := range rows {
		perBucket[engine.Bucket(len(r.IDs))]++
		tokens += int64(len(r.IDs))
	}
	return perBucket, tokens
}

// WarmBatches gives one batch for every length bucket of the rows: copies of the
// bucket's longest row, up to most, with tokens for every worker, so that groups
// of that many tokens keep all workers busy.
func WarmBatches(rows []Row, workers, tokens, most int) []*engine.Batch {
	var longest [engine.Buckets][]int32
	for _, r := range rows {
		if b := engine.Bucket(len(r.IDs)); len(r.IDs) > len(longest[b]) {
			longest[b] = r.IDs
		}
	}
	var out []*engine.Batch
	for _, ids := range longest {
		if ids == nil {
			continue
		}
		b := &engine.Batch{}
		b.Reset()
		for range min(workers*max(1, tokens/len(ids)), most) {
			b.IDs = append(b.IDs, ids...)
			b.Off = append(b.Off, int32(len(b.IDs)))
		}
		out = append(out, b)
	}
	return out
}

// reservoir keeps a uniform sample of the rows offered to it.
type reservoir struct {
	rng  *rand.Rand
	size int
	seen int64
	rows []Row
}

func (v *reservoir) offer(b *feed.Batch, r int) {
	v.seen++
	at := len(v.rows)
	if at < v.size {
		v.rows = append(v.rows, Row{})
	} else if k := v.rng.Int64N(v.seen); k < int64(v.size) {
		at = int(k)
	} else {
		return
	}
	p := b.Pieces[r]
	v.rows[at] = Row{
		Number: b.Base + int64(r),
		Doc:    b.Doc[r],
		IDs:    slices.Clone(b.Row(r)),
		Text:   slices.Clone(p.Text),
		Trim:   feed.Trim{Skip: p.Skip, N: p.N},
	}
}

// take gives want rows whose text alone tokenizes to their ids, and how many it
// passed over. Shuffling first, since a reservoir's order is that of the corpus.
func (v *reservoir) take(want int, tok tokenize.Tokenizer, overhead int) (rows []Row, passed int) {
	v.rng.Shuffle(len(v.rows), func(i, j int) { v.rows[i], v.rows[j] = v.rows[j], v.rows[i] })
	var ids []int32
	for _, r := range v.rows {
		if len(rows) == want {
			break
		}
		ids = tok.AppendIDs(ids[:0], r.Text)
		end := r.Trim.Skip + r.Trim.N
		if int(end) > len(ids) || !containsAt(r.IDs, ids[r.Trim.Skip:end], overhead) {
			passed++
			continue
		}
		rows = append(rows, r)
	}
	return rows, passed
}

// containsAt says whether row is content with overhead tokens around it.
func containsAt(row, content []int32, overhead int) bool {
	if len(row) != len(content)+overhead {
		return false
	}
	for at := 0; at <= overhead; at++ {
		if slices.Equal(row[at:at+len(content)], content) {
			return true
		}
	}
	return false
}

// Allocate shares n among buckets in proportion to their rows, by largest
// remainder, each non-empty bucket getting at least one while n allows it.
func Allocate(rows []int64, n int) []int {
	var total int64
	filled := 0
	for _, r := range rows {
		total += r
		if r > 0 {
			filled++
		}
	}
	out := make([]int, len(rows))
	n = int(min(int64(n), total))
	if n == 0 {
		return out
	}
	left := n
	if n >= filled {
		for b, r := range rows {
			if r > 0 {
				out[b] = 1
				left--
			}
		}
	}
	type part struct {
		bucket int
		rest   float64
	}
	var parts []part
	for b, r := range rows {
		exact := float64(n) * float64(r) / float64(total)
		more := min(max(int(exact)-out[b], 0), left)
		out[b] += more
		left -= more
		parts = append(parts, part{b, exact - float64(out[b])})
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		switch {
		case a.rest > b.rest:
			return -1
		case a.rest < b.rest:
			return 1
		}
		return a.bucket - b.bucket
	})
	for i := 0; left > 0; i = (i + 1) % len(parts) {
		if b := parts[i].bucket; int64(out[b]) < rows[b] {
			out[b]++
			left--
		}
	}
	return out
}

// InputHash is the sha256 over the ids of the selected rows.
func InputHash(rows []Row) string {
	x := NewIDsHash()
	for _, r := range rows {
		x.Add(r.IDs)
	}
	return x.Hex()
}
