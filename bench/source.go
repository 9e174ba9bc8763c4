package bench

import (
	"context"
	"io"

	"encbench/corpus"
	"encbench/engine/feed"
)

// Source gives passes over the same input.
type Source interface {
	Open(ctx context.Context) (Pass, error)
}

// Pass is one stream of batches. A batch is the caller's until Recycle.
type Pass interface {
	Next(ctx context.Context) (*feed.Batch, error)
	Recycle(b *feed.Batch)
	Stats() feed.Stats
	Close() error
}

// Documents is the source of the regions that tokenize: a pass opens the corpus
// and feeds it.
type Documents struct {
	Scan    func() (corpus.Scanner, error)
	Options feed.Options
}

type documentPass struct {
	*feed.Feeder
	src corpus.Scanner
}

// Open starts a pass.
func (d Documents) Open(ctx context.Context) (Pass, error) {
	src, err := d.Scan()
	if err != nil {
		return nil, err
	}
	f, err := feed.New(ctx, src, d.Options)
	if err != nil {
		src.Close()
		return nil, err
	}
	return &documentPass{f, src}, nil
}

func (p *documentPass) Close() error {
	p.Feeder.Close()
	return p.src.Close()
}

// Packed is the source of the encode region: batches made beforehand.
type Packed struct{ Batches []*feed.Batch }

type packedPass struct {
	batches []*feed.Batch
	next    int
}

// Open starts a pass.
func (p Packed) Open(context.Context) (Pass, error) { return &packedPass{batches: p.Batches}, nil }

func (p *packedPass) Next(ctx context.Context) (*feed.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.next == len(p.batches) {
		return nil, io.EOF
	}
	p.next++
	return p.batches[p.next-1], nil
}

func (p *packedPass) Recycle(*feed.Batch) {}
func (p *packedPass) Stats() feed.Stats   { return feed.Stats{} }
func (p *packedPass) Close() error        { return nil }

// Pack lays rows into batches of batch rows, in order.
func Pack(rows []Row, batch int) []*feed.Batch {
	return PackLimit(rows, feed.Limit{Rows: batch})
}

// PackLimit lays rows into batches, in order, each as full as the limit allows: those
// that a feeder makes of the same rows.
func PackLimit(rows []Row, limit feed.Limit) []*feed.Batch {
	var out []*feed.Batch
	var b *feed.Batch
	longest := 0
	for i, r := range rows {
		if b == nil || !limit.Takes(b.Rows(), longest, len(r.IDs)) {
			b, longest = &feed.Batch{}, 0
			b.Reset()
			b.Base = int64(i)
			out = append(out, b)
		}
		b.IDs = append(b.IDs, r.IDs...)
		b.Off = append(b.Off, int32(len(b.IDs)))
		b.Doc = append(b.Doc, r.Doc)
		longest = max(longest, len(r.IDs))
	}
	return out
}

// Texts is a scanner over the texts of selected rows, in memory: the source of
// the tokenize+encode region.
type Texts struct {
	Rows []Row
	next int
}

// Scan moves to the next row.
func (t *Texts) Scan() bool { t.next++; return t.next <= len(t.Rows) }

// Doc gives the row's text as a document.
func (t *Texts) Doc() corpus.Doc { return corpus.Doc{Text: t.Rows[t.next-1].Text} }

// Err gives nil.
func (t *Texts) Err() error { return nil }

// Close does nothing.
func (t *Texts) Close() error { return nil }
