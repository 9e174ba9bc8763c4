package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"encbench/metrics/ranking"
)

// Input is a run to be merged. It is opened twice: for the queries that it has,
// and for its rows.
type Input struct {
	Name string
	// K is the depth that its lists were cut at, 0 when that is not known.
	K int
	// Open gives the run; with queriesOnly its blocks need hold queries alone.
	Open func(queriesOnly bool) (ranking.Source, io.Closer, error)
}

// Merged counts what a merge met.
type Merged struct {
	Queries  int64
	Rows     int64 // written
	Shared   int64 // queries that more than one input has
	Repeated int64 // rows that several inputs have with the same score
	Dropped  int64 // rows below the cut
	Ties     int64 // queries with a dropped score equal to the lowest kept one
	Held     int   // most queries that waited in memory for other inputs
}

// ErrDepth: a merge to a depth that the inputs cannot give.
var ErrDepth = errors.New("merge depth")

// Merge is the merge of several runs into one. A query that one input has is
// copied. The lists of a query that several have, which search parts of one corpus,
// become the best K of all by score descending and document identifier descending,
// which is what a search of the whole would have found: every input's K must be
// known and at least that of the merge. Where the merge has a K, no list of it is
// longer. A document to which two inputs give
// different scores for the same query is an error that names it.
//
// A query is written when every input that has it has given it, and waits in
// memory until then, so inputs in the same order cost little. The queries of the
// first input keep its order.
type Merge struct {
	ctx    context.Context
	to     Target
	k      int // that every list is cut at, 0 for none
	known  int // K of the result, 0 when it is not known
	inputs []Input
	parts  map[string]*parts // of each query that is still to be written
	held   int
	open   []*opened
	sum    Merged
}

// Target takes what is merged: a Writer, or one of text.
type Target interface {
	Write(*ranking.Block) error
}

// PlanMerge reads which queries every input has, and whether their lists can be
// merged to depth k; 0 means the smallest K of inputs that share a query, and no
// cut where none do.
func PlanMerge(ctx context.Context, k int, inputs []Input) (*Merge, error) {
	m := &Merge{ctx: ctx, k: k, inputs: inputs, parts: map[string]*parts{}}
	if err := m.plan(); err != nil {
		return nil, err
	}
	return m, nil
}

// K gives the depth that the merged lists were cut at, here or before, 0 when that
// is not known.
func (m *Merge) K() int { return m.known }

// Write reads the inputs again and writes the merged run, which the caller closes.
// It is called once.
func (m *Merge) Write(to Target) (Merged, error) {
	m.to = to
	err := m.read()
	for _, s := range m.open {
		if s.close != nil {
			err = errors.Join(err, s.close.Close())
		}
	}
	return m.sum, err
}

// parts is what the inputs have given of a query.
type parts struct {
	inputs []int32 // that have it and have not given it yet
	shared bool    // several inputs have it
	given  bool    // an input has given it
	rows   []mergeRow
}

type mergeRow struct {
	doc   string
	score float64
	input int32
}

// opened is an input in its second reading.
type opened struct {
	source ranking.Source
	close  io.Closer
	block  ranking.Block
	at     int // next query of block
}

// plan reads which queries every input has and settles k.
func (m *Merge) plan() error {
	for i, in := range m.inputs {
		source, closer, err := in.Open(true)
		if err != nil {
			return err
		}
		var b ranking.Block
		for err == nil {
			if err = m.ctx.Err(); err != nil {
				break
			}
			if err = source.Next(&b); err != nil {
				break
			}
			for q := range b.Queries.Len() {
				id := string(b.Queries.At(q))
				p := m.parts[id]
				if p == nil {
					p = &parts{}
					m.parts[id] = p
				}
				if n := len(p.inputs); n > 0 && p.inputs[n-1] == int32(i) {
					err = fmt.Errorf("merge %s: query %.200q comes twice; all rows of a query must come together, so sort the run by query", in.Name, id)
					break
				}
				p.inputs = append(p.inputs, int32(i))
			}
		}
		if closer != nil {
			err = errors.Join(err, closer.Close())
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return m.depth()
}

// depth settles k where a query lies in several inputs.
func (m *Merge) depth() error {
	shares := make([]string, len(m.inputs)) // a query that the input has together with another
	for id, p := range m.parts {
		if len(p.inputs) < 2 {
			continue
		}
		p.shared = true
		m.sum.Shared++
		for _, i := range p.inputs {
			if shares[i] == "" || id < shares[i] {
				shares[i] = id
			}
		}
	}
	if m.sum.Shared == 0 {
		m.known = m.commonK()
		return nil
	}
	least := 0
	for i, in := range m.inputs {
		switch {
		case shares[i] == "":
		case in.K == 0:
			return fmt.Errorf("%w: %s does not say at which depth its lists were cut, and other inputs have its query %.200q too; state the depth", ErrDepth, in.Name, shares[i])
		case m.k > in.K:
			return fmt.Errorf("%w: the lists of %s were cut at %d, so a merge is exact only up to that, not to %d", ErrDepth, in.Name, in.K, m.k)
		case least == 0 || in.K < least:
			least = in.K
		}
	}
	if m.k == 0 {
		m.k = least
	}
	m.known = m.k
	return nil
}

// commonK gives the K of runs that are joined: the one that all inputs have, or
// that of the cut where it is below all of theirs.
func (m *Merge) commonK() int {
	if len(m.inputs) == 0 {
		return 0
	}
	least, most := m.inputs[0].K, 0
	for _, in := range m.inputs {
		least, most = min(least, in.K), max(most, in.K)
	}
	switch {
	case least > 0 && m.k > 0:
		return min(least, m.k)
	case least == most:
		return least
	}
	return 0
}

// read goes through the inputs and writes each query when it is complete.
func (m *Merge) read() error {
	for _, in := range m.inputs {
		source, closer, err := in.Open(false)
		if err != nil {
			return err
		}
		m.open = append(m.open, &opened{source: source, close: closer})
	}
	for i := range m.inputs {
		for {
			p, err := m.give(i)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			for len(p.inputs) > 0 {
				other := int(p.inputs[0])
				if _, err := m.give(other); errors.Is(err, io.EOF) {
					return m.changed(other)
				} else if err != nil {
					return err
				}
			}
		}
	}
	for _, p := range m.parts {
		return m.changed(int(p.inputs[0]))
	}
	return nil
}

// changed is the fault of an input whose second reading differs from its first.
func (m *Merge) changed(i int) error {
	return fmt.Errorf("merge %s: the file changed while it was read", m.inputs[i].Name)
}

// give takes the next query of input i, and writes it when no other input is
// still to give it.
func (m *Merge) give(i int) (*parts, error) {
	o := m.open[i]
	for o.at == o.block.Queries.Len() {
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		o.at = 0
		if err := o.source.Next(&o.block); err != nil {
			o.block = ranking.Block{}
			return nil, err
		}
	}
	q := o.at
	o.at++
	id := string(o.block.Queries.At(q))
	p := m.parts[id]
	if p == nil {
		return nil, m.changed(i)
	}
	at := slices.Index(p.inputs, int32(i))
	if at < 0 {
		return nil, m.changed(i)
	}
	p.inputs = slices.Delete(p.inputs, at, at+1)
	if !p.given {
		p.given = true
		m.held++
		m.sum.Held = max(m.sum.Held, m.held)
	}
	for r := o.block.Off[q]; r < o.block.Off[q+1]; r++ {
		p.rows = append(p.rows, mergeRow{string(o.block.DocAt(int(r))), o.block.Score[r], int32(i)})
	}
	if len(p.inputs) > 0 {
		return p, nil
	}
	delete(m.parts, id)
	m.held--
	return p, m.write(id, p)
}

// write writes a query that is complete.
func (m *Merge) write(id string, p *parts) error {
	rows := p.rows
	if p.shared || m.k > 0 && len(rows) > m.k {
		var err error
		if rows, err = m.best(id, rows); err != nil {
			return err
		}
	}
	b := ranking.Block{Off: []int32{0, int32(len(rows))}}
	b.Queries.Append([]byte(id))
	for _, r := range rows {
		b.Docs.Append([]byte(r.doc))
		b.Score = append(b.Score, r.score)
	}
	m.sum.Queries++
	m.sum.Rows += int64(len(rows))
	return m.to.Write(&b)
}

// best gives the k best rows, each document once.
func (m *Merge) best(query string, rows []mergeRow) ([]mergeRow, error) {
	slices.SortFunc(rows, func(a, b mergeRow) int {
		return cmp.Or(cmp.Compare(a.doc, b.doc), cmp.Compare(a.input, b.input))
	})
	kept := rows[:0]
	for _, r := range rows {
		if n := len(kept); n > 0 && kept[n-1].doc == r.doc {
			if first := kept[n-1]; first.score != r.score {
				return nil, fmt.Errorf("merge: query %.200q: document %.200q has score %v in %s and %v in %s", query, r.doc,
					first.score, m.inputs[first.input].Name, r.score, m.inputs[r.input].Name)
			}
			m.sum.Repeated++
			continue
		}
		kept = append(kept, r)
	}
	slices.SortFunc(kept, func(a, b mergeRow) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.doc, a.doc))
	})
	if len(kept) > m.k {
		m.sum.Dropped += int64(len(kept) - m.k)
		if kept[m.k].score == kept[m.k-1].score {
			m.sum.Ties++
		}
		kept = kept[:m.k]
	}
	return kept, nil
}
