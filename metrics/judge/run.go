package judge

import (
	"context"
	"errors"
	"io"
	"sync"

	"encbench/metrics/ranking"
)

// Run adds everything that src gives, with the given number of goroutines, at
// least one; more than one only where src allows it. The error is that of the
// earliest block, whatever the number.
func (j *Judge) Run(ctx context.Context, src ranking.Source, workers int) error {
	var (
		mu    sync.Mutex
		first error
		seq   int
		wg    sync.WaitGroup
	)
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return first != nil
	}
	fail := func(at int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil || at < seq {
			first, seq = err, at
		}
	}
	for range max(workers, 1) {
		wg.Go(func() {
			var b ranking.Block
			for !failed() {
				if err := ctx.Err(); err != nil {
					fail(-1, err)
					return
				}
				err := src.Next(&b)
				if errors.Is(err, io.EOF) {
					return
				}
				if err == nil {
					err = j.Add(&b)
				}
				if err != nil {
					fail(b.Seq, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
