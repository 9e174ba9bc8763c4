package enginetest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"encbench/engine"
)

// Subject is an encoder under test.
type Subject struct {
	Open   func(tb testing.TB) engine.Encoder // a fresh encoder; the suite closes it
	Vocab  int                                // ids are below
	MaxLen int                                // longest row that the suite may use
	Batch  int                                // rows a batch at most
	// Tolerance is how far a value of a row's vector may move with its batch. 0
	// means bit for bit.
	Tolerance float64
}

// Run is the conformance suite: the contract of engine.Encoder, as tests.
func Run(t *testing.T, s Subject) {
	t.Run("BatchEqualsAlone", s.batchEqualsAlone)
	t.Run("Ledger", s.ledger)
	t.Run("Pipeline", s.pipeline)
	t.Run("Misuse", s.misuse)
	t.Run("Cancel", s.cancel)
}

func (s Subject) rows(seed uint64, n int) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([][]int32, n)
	for i := range out {
		row := make([]int32, 1+rng.IntN(s.MaxLen))
		for k := range row {
			row[k] = rng.Int32N(int32(s.Vocab))
		}
		out[i] = row
	}
	return out
}

// MakeBatch lays rows into a batch.
func MakeBatch(base int64, rows ...[]int32) *engine.Batch {
	b := &engine.Batch{}
	b.Reset()
	b.Base = base
	for _, r := range rows {
		b.IDs = append(b.IDs, r...)
		b.Off = append(b.Off, int32(len(b.IDs)))
	}
	return b
}

func (s Subject) open(t *testing.T) engine.Encoder {
	enc := s.Open(t)
	t.Cleanup(func() {
		if err := enc.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return enc
}

func encode(t *testing.T, enc engine.Encoder, slot int, b *engine.Batch) ([][]float32, engine.Work) {
	t.Helper()
	if err := enc.Submit(slot, b); err != nil {
		t.Fatalf("submit %d rows: %v", b.Rows(), err)
	}
	rows, w, err := enc.Collect(context.Background(), slot)
	if err != nil {
		t.Fatalf("collect %d rows: %v", b.Rows(), err)
	}
	if rows.N != b.Rows() || rows.Dim != enc.Dim() {
		t.Fatalf("got %d rows of %d values, want %d of %d", rows.N, rows.Dim, b.Rows(), enc.Dim())
	}
	var out [][]float32
	for r := range rows.N {
		out = append(out, append([]float32{}, rows.Float32(r)...))
	}
	return out, w
}

func (s Subject) equal(t *testing.T, what string, row int, want, got []float32) {
	t.Helper()
	for i := range want {
		if d := float64(want[i]) - float64(got[i]); !(d <= s.Tolerance && -d <= s.Tolerance) {
			t.Fatalf("%s: row %d value %d is %g, alone %g, tolerance %g", what, row, i, got[i], want[i], s.Tolerance)
		}
	}
}

func (s Subject) batchEqualsAlone(t *testing.T) {
	enc := s.open(t)
	rows := s.rows(1, s.Batch)
	together, _ := encode(t, enc, enc.Slots()-1, MakeBatch(0, rows...))
	for i, r := range rows {
		alone, _ := encode(t, enc, 0, MakeBatch(0, r))
		s.equal(t, "batch", i, alone[0], together[i])
	}
}

func (s Subject) ledger(t *testing.T) {
	enc := s.open(t)
	rows := s.rows(2, s.Batch)
	_, w := encode(t, enc, 0, MakeBatch(0, rows...))
	var real, sq int64
	for _, r := range rows {
		n := int64(len(r))
		real += n
		sq += n * n
	}
	if w.Real != real || w.RealSq != sq {
		t.Errorf("work counts %d tokens and %d squared, want %d and %d", w.Real, w.RealSq, real, sq)
	}
	if w.Padded < w.Real || w.PaddedSq < w.RealSq {
		t.Errorf("padded work %d, %d is less than the real %d, %d", w.Padded, w.PaddedSq, w.Real, w.RealSq)
	}
	var busy int64
	for _, ns := range w.BucketNS {
		busy += ns
	}
	if busy <= 0 || w.Groups < 1 {
		t.Errorf("work has %d ns busy in %d groups", busy, w.Groups)
	}
}

// pipeline streams many batches through all slots and checks order and values
// against each row alone.
func (s Subject) pipeline(t *testing.T) {
	enc := s.open(t)
	rows := s.rows(3, 3*s.Batch+1)
	next, seen := 0, 0
	got := make([][]float32, 0, len(rows))
	flow := engine.Flow{
		Next: func(context.Context) (*engine.Batch, error) {
			if next == len(rows) {
				return nil, io.EOF
			}
			end := min(next+s.Batch, len(rows))
			b := MakeBatch(int64(next), rows[next:end]...)
			next = end
			return b, nil
		},
		Done: func(b *engine.Batch, r engine.Rows, _ engine.Work) error {
			if int(b.Base) != seen {
				t.Fatalf("batch of row %d came when row %d was due", b.Base, seen)
			}
			for i := range r.N {
				got = append(got, append([]float32{}, r.Float32(i)...))
			}
			seen += r.N
			return nil
		},
	}
	if _, err := engine.Pipeline(context.Background(), enc, flow); err != nil {
		t.Fatal(err)
	}
	if seen != len(rows) {
		t.Fatalf("%d rows came back of %d", seen, len(rows))
	}
	for i, r := range rows {
		alone, _ := encode(t, enc, 0, MakeBatch(0, r))
		s.equal(t, "pipeline", i, alone[0], got[i])
	}
}

func (s Subject) misuse(t *testing.T) {
	enc := s.open(t)
	row := []int32{1}
	if _, _, err := enc.Collect(context.Background(), 0); err == nil {
		t.Error("collect of an idle slot gave no error")
	}
	for _, slot := range []int{-1, enc.Slots()} {
		if err := enc.Submit(slot, MakeBatch(0, row)); err == nil {
			t.Errorf("submit to slot %d of %d gave no error", slot, enc.Slots())
		}
		if _, _, err := enc.Collect(context.Background(), slot); err == nil {
			t.Errorf("collect of slot %d of %d gave no error", slot, enc.Slots())
		}
	}
	if err := enc.Submit(0, MakeBatch(0, row)); err != nil {
		t.Fatal(err)
	}
	if err := enc.Submit(0, MakeBatch(0, row)); err == nil {
		t.Error("second submit without a collect gave no error")
	}
	if err := enc.Close(); err == nil {
		t.Error("close with a batch in flight gave no error")
	}
	if _, _, err := enc.Collect(context.Background(), 0); err != nil {
		t.Errorf("collect after misuse: %v", err)
	}
}

func (s Subject) cancel(t *testing.T) {
	enc := s.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	rows := s.rows(4, s.Batch)
	flow := engine.Flow{
		Next: func(context.Context) (*engine.Batch, error) { return MakeBatch(0, rows...), nil },
		Done: func(*engine.Batch, engine.Rows, engine.Work) error { cancel(); return nil },
	}
	if _, err := engine.Pipeline(ctx, enc, flow); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled pipeline gave %v", err)
	}
	// The encoder must be idle and usable again.
	encode(t, enc, 0, MakeBatch(0, rows[0]))
}
