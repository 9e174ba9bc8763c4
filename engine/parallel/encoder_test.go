package parallel

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"encbench/engine"
	"encbench/engine/enginetest"
)

// slow is an encoder that takes a time for each batch, or fails.
type slow struct {
	engine.Encoder
	each  time.Duration
	fails error
	gone  bool
	taken atomic.Int64 // batches
}

func (s *slow) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	select {
	case <-time.After(s.each):
	case <-ctx.Done():
	}
	s.taken.Add(1)
	rows, work, err := s.Encoder.Collect(ctx, slot)
	return rows, work, errors.Join(err, s.fails)
}

func (s *slow) Close() error {
	s.gone = true
	return s.Encoder.Close()
}

func open(t testing.TB, each ...*slow) *Encoder {
	t.Helper()
	var replicas []Replica
	for i, s := range each {
		if s.Encoder == nil {
			s.Encoder = enginetest.NewFake(16, 2)
		}
		replicas = append(replicas, Replica{[]string{"cuda:0", "cuda:1", "cuda:2"}[i], s})
	}
	e, err := Open(replicas)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Subject{
		Open: func(tb testing.TB) engine.Encoder { return open(tb, &slow{}, &slow{each: time.Millisecond}, &slow{}) }, Vocab: 1000, MaxLen: 64, Batch: 8,
	})
}

// Rows come back in order and equal those of one encoder, whichever replica made them;
// the fast replica takes more batches.
func TestOrder(t *testing.T) {
	a, b := &slow{each: time.Millisecond}, &slow{each: 8 * time.Millisecond}
	e := open(t, a, b)
	var want []*engine.Batch
	for i := range 64 {
		want = append(want, enginetest.MakeBatch(int64(2*i), []int32{int32(i), 7}, []int32{int32(i), 8, 9}))
	}
	one := enginetest.NewFake(16, 1)
	for round := range 2 {
		in, out := 0, 0
		_, err := engine.Pipeline(t.Context(), e, engine.Flow{
			Next: func(context.Context) (*engine.Batch, error) {
				if in == len(want) {
					return nil, io.EOF
				}
				in++
				return want[in-1], nil
			},
			Done: func(b *engine.Batch, r engine.Rows, w engine.Work) error {
				if b != want[out] || r.N != 2 || w.Real != 5 {
					t.Errorf("batch %d: base %d, %d rows, %d tokens", out, b.Base, r.N, w.Real)
				}
				if err := one.Submit(0, b); err != nil {
					return err
				}
				plain, _, err := one.Collect(t.Context(), 0)
				for i := range r.N {
					if !slices.Equal(r.Float32(i), plain.Float32(i)) {
						t.Errorf("batch %d, row %d differs", out, i)
					}
				}
				out++
				return err
			},
		})
		if err != nil || out != len(want) {
			t.Fatalf("%d batches, %v", out, err)
		}
		if fast, few := a.taken.Load(), b.taken.Load(); fast <= few || few == 0 || fast+few != int64(64*(round+1)) {
			t.Errorf("round %d: the fast replica took %d batches, the slow one %d", round, fast, few)
		}
	}
	if err := e.Close(); err != nil || !a.gone || !b.gone {
		t.Errorf("close: %v, closed %v %v", err, a.gone, b.gone)
	}
}

// A replica's error names it, and the others still answer.
func TestFault(t *testing.T) {
	lost := errors.New("device lost")
	e := open(t, &slow{each: 20 * time.Millisecond}, &slow{fails: lost})
	failed := 0
	for i := range e.Slots() {
		if err := e.Submit(i, enginetest.MakeBatch(int64(i), []int32{1, 2})); err != nil {
			t.Fatal(err)
		}
	}
	for i := range e.Slots() {
		rows, _, err := e.Collect(t.Context(), i)
		switch {
		case err == nil && rows.N == 1:
		case errors.Is(err, lost) && strings.HasPrefix(err.Error(), "cuda:1: "):
			failed++
		default:
			t.Errorf("slot %d: %d rows, %v", i, rows.N, err)
		}
	}
	if failed == 0 || failed == e.Slots() {
		t.Errorf("%d of %d batches failed", failed, e.Slots())
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(nil); err == nil || err.Error() != "encode in parallel: no replica" {
		t.Errorf("none: %v", err)
	}
	a, b := &slow{Encoder: enginetest.NewFake(16, 2)}, &slow{Encoder: enginetest.NewFake(8, 2)}
	_, err := Open([]Replica{{"cuda:0", a}, {"cuda:1", b}})
	if err == nil || err.Error() != "encode in parallel: cuda:0 gives 16 values a row, cuda:1 gives 8" || !a.gone || !b.gone {
		t.Errorf("of two sizes: %v, closed %v %v", err, a.gone, b.gone)
	}
}
