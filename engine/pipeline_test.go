package engine_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"encbench/engine"
	"encbench/engine/enginetest"
)

// recorder notes the order of calls around a fake encoder.
type recorder struct {
	engine.Encoder
	calls []string
}

func (r *recorder) Submit(slot int, b *engine.Batch) error {
	r.calls = append(r.calls, "s"+string(rune('0'+slot)))
	return r.Encoder.Submit(slot, b)
}

func (r *recorder) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	r.calls = append(r.calls, "c"+string(rune('0'+slot)))
	return r.Encoder.Collect(ctx, slot)
}

func stream(n int) func(context.Context) (*engine.Batch, error) {
	next := 0
	return func(context.Context) (*engine.Batch, error) {
		if next == n {
			return nil, io.EOF
		}
		next++
		return enginetest.MakeBatch(int64(next-1), []int32{int32(next)}), nil
	}
}

func TestPipelineKeepsSlotsBusy(t *testing.T) {
	for _, test := range []struct {
		batches int
		want    string
	}{
		{0, ""},
		{1, "s0 c0"},
		{2, "s0 s1 c0 c1"},
		{5, "s0 s1 c0 s0 c1 s1 c0 s0 c1 c0"},
	} {
		r := &recorder{Encoder: enginetest.NewFake(4, 2)}
		var bases []int64
		_, err := engine.Pipeline(context.Background(), r, engine.Flow{
			Next: stream(test.batches),
			Done: func(b *engine.Batch, _ engine.Rows, _ engine.Work) error {
				bases = append(bases, b.Base)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.calls, " "); got != test.want {
			t.Errorf("%d batches: calls %q, want %q", test.batches, got, test.want)
		}
		if !slices.IsSorted(bases) || len(bases) != test.batches {
			t.Errorf("%d batches: came back as %v", test.batches, bases)
		}
	}
}

func TestPipelineStopsIdle(t *testing.T) {
	broken := errors.New("broken")
	for name, flow := range map[string]engine.Flow{
		"next": {
			Next: func() func(context.Context) (*engine.Batch, error) {
				s := stream(9)
				n := 0
				return func(ctx context.Context) (*engine.Batch, error) {
					if n++; n > 3 {
						return nil, broken
					}
					return s(ctx)
				}
			}(),
			Done: func(*engine.Batch, engine.Rows, engine.Work) error { return nil },
		},
		"done": {Next: stream(9), Done: func(*engine.Batch, engine.Rows, engine.Work) error { return broken }},
	} {
		enc := enginetest.NewFake(4, 2)
		if _, err := engine.Pipeline(context.Background(), enc, flow); !errors.Is(err, broken) {
			t.Errorf("%s: pipeline gave %v", name, err)
		}
		if err := enc.Close(); err != nil {
			t.Errorf("%s: encoder is not idle: %v", name, err)
		}
	}
	enc := enginetest.NewFake(4, 2)
	enc.FailAt = 5
	_, err := engine.Pipeline(context.Background(), enc, engine.Flow{
		Next: stream(9), Done: func(*engine.Batch, engine.Rows, engine.Work) error { return nil },
	})
	if err == nil || enc.Close() != nil {
		t.Errorf("submit: pipeline gave %v", err)
	}
}

func TestPipelineAllocatesNothing(t *testing.T) {
	enc := enginetest.NewFake(4, 2)
	b := enginetest.MakeBatch(0, []int32{1, 2, 3})
	perRun := func(batches int) float64 {
		return testing.AllocsPerRun(20, func() {
			n := 0
			engine.Pipeline(context.Background(), enc, engine.Flow{
				Next: func(context.Context) (*engine.Batch, error) {
					if n++; n > batches {
						return nil, io.EOF
					}
					return b, nil
				},
				Done: func(*engine.Batch, engine.Rows, engine.Work) error { return nil },
			})
		})
	}
	if few, many := perRun(2), perRun(200); many > few {
		t.Errorf("200 batches allocate %.0f times, 2 batches %.0f", many, few)
	}
}

func TestBucket(t *testing.T) {
	for _, test := range []struct{ n, bucket int }{
		{0, 0}, {1, 0}, {32, 0}, {33, 1}, {480, 14}, {481, 15}, {512, 15}, {513, 16}, {1024, 16}, {1025, 17}, {8192, 19}, {8193, 20}, {1 << 20, 20},
	} {
		if got := engine.Bucket(test.n); got != test.bucket {
			t.Errorf("row of %d tokens: bucket %d, want %d", test.n, got, test.bucket)
		}
	}
	for b := range engine.Buckets - 1 {
		if top := engine.BucketTop(b); engine.Bucket(top) != b || engine.Bucket(top+1) != b+1 {
			t.Errorf("top of bucket %d is %d, which is in %d, the next in %d", b, top, engine.Bucket(top), engine.Bucket(top+1))
		}
	}
}
