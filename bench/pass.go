package bench

import (
	"context"
	"time"

	"encbench/engine"
	"encbench/engine/feed"
)

// TimePass runs one pass of a source through an encoder and gives its wall time,
// opening and closing included. Vectors are appended to *vectors, dim values a
// row, in order; with nil they are copied out and dropped, as a pass must not be
// cheaper for that.
func TimePass(ctx context.Context, src Source, enc engine.Encoder, vectors *[]float32) (wall time.Duration, chunks int64, err error) {
	var scratch []float32
	var flight []*feed.Batch
	start := time.Now()
	pass, err := src.Open(ctx)
	if err != nil {
		return 0, 0, err
	}
	_, err = engine.Pipeline(ctx, enc, engine.Flow{
		Next: func(ctx context.Context) (*engine.Batch, error) {
			b, err := pass.Next(ctx)
			if err != nil {
				return nil, err
			}
			flight = append(flight, b)
			return &b.Batch, nil
		},
		Done: func(_ *engine.Batch, r engine.Rows, _ engine.Work) error {
			out := &scratch
			if vectors != nil {
				out = vectors
			} else {
				scratch = scratch[:0]
			}
			for i := range r.N {
				*out = append(*out, r.Float32(i)...)
			}
			chunks += int64(r.N)
			pass.Recycle(flight[0])
			flight = flight[:copy(flight, flight[1:])]
			return nil
		},
	})
	if closing := pass.Close(); err == nil {
		err = closing
	}
	return time.Since(start), chunks, err
}
