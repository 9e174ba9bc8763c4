//go:build cuda && linux && cgo && (amd64 || arm64)

package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/gpu"
	"encbench/kernels"
)

// halves are n random float16 rows of dim values on the host.
func halves(n, dim int, seed uint64) engine.Rows {
	r := engine.Rows{N: n, Dim: dim, Stride: dim, Type: engine.F16, Device: -1, Host: make([]byte, (2*n*dim+7)/8*8)}
	gpu.RandomHalves(r.Host, seed)
	return r
}

// blockRows are the rows that are made and appended at a time.
const blockRows = 1 << 16

// exact compares searches with the processor's, small ones of hard data and a large one.
func exact(ctx context.Context, c *check, r *Result) error {
	compared := 0
	for _, v := range c.variants() {
		for i, size := range []struct{ rows, dim, queries, k int }{
			{1000, 64, 1, 10}, {3000, 72, 20, 100}, {2000, 384, 70, 1000}, {1500, 128, 200, 1},
		} {
			for _, kind := range []string{"random", "equal", "ascending", "duplicates"} {
				rows := halves(min(size.rows, c.size(300, size.rows)), size.dim, uint64(i)+1)
				shape(rows, kind)
				n, err := c.compare(ctx, v, rows, halves(min(size.queries, c.size(70, size.queries)), size.dim, 99), size.k)
				if err != nil {
					return fmt.Errorf("%s, %s rows, %d × %d, k %d: %w", v, kind, rows.N, rows.Dim, size.k, err)
				}
				compared += n
			}
		}
		rows, queries := halves(c.size(700, 1<<20), c.size(64, 768), 7), halves(c.size(16, 1024), c.size(64, 768), 8)
		n, err := c.compare(ctx, v, rows, queries, 100)
		if err != nil {
			return fmt.Errorf("%s, %d × %d rows: %w", v, rows.N, rows.Dim, err)
		}
		compared += n
	}
	r.value("places compared", float64(compared), "")
	return nil
}

// shape makes data hard.
func shape(r engine.Rows, kind string) {
	size := 2 * r.Stride
	for i := 1; i < r.N; i++ {
		row := r.Host[i*size : (i+1)*size]
		switch kind {
		case "equal":
			copy(row, r.Host[:size])
		case "duplicates":
			copy(row, r.Host[(i%7)*size:(i%7+1)*size])
		case "ascending": // the same direction, ever longer: exponents rise
			copy(row, r.Host[:size])
			for d := 1; d < size; d += 2 {
				row[d] += byte(4 * (i * 8 / r.N))
			}
		}
	}
}

// sampled is how many queries of a large search are compared.
const sampled = 16

// compare fills a search on the device and holds some queries of it against the
// processor's. It gives how many places were the same; the error names the first that was
// not.
func (c *check) compare(ctx context.Context, v kernels.Variant, rows, queries engine.Rows, k int) (n int, err error) {
	s, err := gpu.New(gpu.Options{Dim: rows.Dim, Variant: v, Rows: int64(rows.N), Queries: queries.N, K: k}, c.w)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Append(ctx, 0, nil, rows); err != nil {
		return 0, err
	}
	return sameAs(ctx, s, rows, queries, k)
}

// sameAs holds a search that has the rows against the processor's.
func sameAs(ctx context.Context, s *gpu.Searcher, rows, queries engine.Rows, k int) (n int, err error) {
	plain, err := cpu.NewSearcher(cpu.Options{Dim: rows.Dim})
	if err != nil {
		return 0, err
	}
	defer plain.Close()
	if err := plain.Append(ctx, 0, nil, rows); err != nil {
		return 0, err
	}
	var got, want engine.Hits
	if err := s.Search(ctx, queries, k, &got); err != nil {
		return 0, err
	}
	few := queries
	few.N = min(queries.N, sampled)
	if err := plain.Search(ctx, few, k, &want); err != nil {
		return 0, err
	}
	for i := range want.Row {
		if got.Row[i] != want.Row[i] || math.Float32bits(got.Score[i]) != math.Float32bits(want.Score[i]) {
			return 0, fmt.Errorf("query %d, place %d: row %d with score %g on the device, row %d with %g on the processor", i/want.K, i%want.K, got.Row[i], got.Score[i], want.Row[i], want.Score[i])
		}
	}
	return len(want.Row), nil
}

// products measures the peak of the product kernel.
func products(ctx context.Context, c *check, r *Result) error {
	size := gpu.DefaultPeak
	if c.opt.Small {
		size = gpu.PeakSize{Queries: 130, Rows: 300, Dim: 64}
	}
	for _, v := range c.variants() {
		flops, how, err := gpu.Peak(ctx, c.w, v, size)
		if err != nil {
			return err
		}
		r.valueOf(how, flops, "FLOP/s", c.part.Float16, "the dense float16 peak")
	}
	return nil
}

// sizes of the searches that are timed, of gpu.md's list: few and many queries, two
// dimensions, two k.
var sizes = []struct{ rows, dim, queries, k int }{
	{2_000_000, 768, 1024, 100}, {2_000_000, 384, 1024, 100},
	{8_800_000, 768, 6980, 100}, {8_800_000, 768, 6980, 1000}, {8_800_000, 768, 1, 100},
}

// searches times searches of random rows that stay on the device. Rows that do not fit are
// left out, and said.
func searches(ctx context.Context, c *check, r *Result) error {
	for _, v := range c.variants() {
		var s *gpu.Searcher
		var open struct{ rows, dim int }
		closing := func() error {
			if s == nil {
				return nil
			}
			err := s.Close()
			s = nil
			return err
		}
		err := func() error {
			for _, size := range sizes {
				if c.opt.Small {
					size.rows, size.dim, size.queries, size.k = size.rows/10000, size.dim/12, min(size.queries, 70), min(size.k, 20)
				}
				name := fmt.Sprintf("%s, %d × %d, %s, k %d", v, size.rows, size.dim, plural(size.queries, "query", "queries"), size.k)
				if need := 2.2 * float64(size.rows) * float64(size.dim); need > 0.9*float64(c.info.Memory) {
					r.fact("left out, the rows do not fit: %s", name)
					continue
				}
				if open.rows != size.rows || open.dim != size.dim || s == nil {
					if err := closing(); err != nil {
						return err
					}
					var err error
					if s, err = c.filled(ctx, v, size.rows, size.dim, size.queries, size.k); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					open.rows, open.dim = size.rows, size.dim
				}
				if err := c.timed(ctx, r, s, v, name, size.rows, size.dim, size.queries, size.k); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		}()
		if err = errors.Join(err, closing()); err != nil {
			return err
		}
	}
	return nil
}

// filled is a search with so many random rows.
func (c *check) filled(ctx context.Context, v kernels.Variant, rows, dim, queries, k int) (*gpu.Searcher, error) {
	s, err := gpu.New(gpu.Options{Dim: dim, Variant: v, Rows: int64(rows), Queries: queries, K: k}, c.w)
	if err != nil {
		return nil, err
	}
	block := halves(blockRows, dim, 0)
	for at := 0; at < rows; at += blockRows {
		block.N = min(blockRows, rows-at)
		gpu.RandomHalves(block.Host, uint64(at)+1)
		if err := s.Append(ctx, int64(at), nil, block); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// timed searches a few times and notes the best by the device's events: clocks of a device
// rise, and nothing else runs on it.
func (c *check) timed(ctx context.Context, r *Result, s *gpu.Searcher, v kernels.Variant, name string, rows, dim, queries, k int) error {
	q := halves(queries, dim, 1<<40)
	var hits engine.Hits
	best := time.Duration(math.MaxInt64)
	var stats gpu.Stats
	for range c.size(1, 4) {
		if err := s.Search(ctx, q, k, &hits); err != nil {
			return err
		}
		if st := s.Stats(); st.Search < best {
			best, stats = st.Search, st
		}
	}
	flops := 2 * float64(rows) * float64(dim) * float64(queries) / best.Seconds()
	r.value(name, best.Seconds(), "s")
	if queries >= 64 {
		r.valueOf("  products", flops, "FLOP/s", c.part.Float16, "the dense float16 peak"+c.expected(v, rows, dim, queries, true))
	} else {
		r.valueOf("  rows read", 2*float64(rows)*float64(dim)/best.Seconds(), "B/s", c.part.Bandwidth, "memory's bandwidth"+c.expected(v, rows, dim, queries, false))
	}
	r.fact("%s: %d of %s certain at once, %s, %d redone, %.1f ms in all", name, stats.Certified, plural(stats.Queries, "query", "queries"), plural(stats.Panels, "panel", "panels"), stats.Redone, 1e3*stats.Wall.Seconds())
	return nil
}

// plural writes a count.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// expected is what the model on paper says of the share.
func (c *check) expected(v kernels.Variant, rows, dim, queries int, peak bool) string {
	for _, p := range kernels.Parts {
		if c.part.Name != "" && (p.Name == c.part.Name || p.Name+" SXM" == c.part.Name) {
			e := kernels.Expect(p, v, queries, rows, dim)
			if peak {
				return fmt.Sprintf(", %.0f %% expected, bound by %s", 100*e.Peak, e.Bound)
			}
			return fmt.Sprintf(", %.0f %% expected, bound by %s", 100*e.Bytes, e.Bound)
		}
	}
	return ""
}

// overlap searches the same rows as they stay and as they are streamed.
func overlap(ctx context.Context, c *check, r *Result) error {
	rows, dim, queries := c.size(400, 4_000_000), c.size(64, 768), c.size(20, 1024)
	for _, way := range []struct {
		name          string
		stream, slots int
	}{{"rows that stay", 0, 0}, {"streamed, two blocks in flight", 1, 2}, {"streamed, one block in flight", 1, 1}} {
		opt := gpu.Options{Dim: dim, Rows: int64(rows), Queries: queries, K: 100, BlockRows: c.size(100, 1<<18)}
		if way.stream > 0 {
			opt.Stream, opt.Slots = true, way.slots
		}
		if err := c.streams(ctx, r, opt, way.name, rows, queries); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

func (c *check) streams(ctx context.Context, r *Result, opt gpu.Options, name string, rows, queries int) (err error) {
	s, err := gpu.New(opt, c.w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	block := halves(blockRows, opt.Dim, 0)
	for at := 0; at < rows; at += blockRows {
		block.N = min(blockRows, rows-at)
		gpu.RandomHalves(block.Host, uint64(at)+1)
		if err := s.Append(ctx, int64(at), nil, block); err != nil {
			return err
		}
	}
	var hits engine.Hits
	for range c.size(1, 2) {
		if err := s.Search(ctx, halves(queries, opt.Dim, 1<<40), opt.K, &hits); err != nil {
			return err
		}
	}
	st := s.Stats()
	r.value(name, st.Wall.Seconds(), "s")
	r.value("  searching", st.Search.Seconds(), "s")
	if st.In.Bytes > 0 {
		r.value("  copying", st.In.Time.Seconds(), "s")
		r.value("  copies", st.In.Rate(), "B/s")
		r.valueOf("  the longer of both", st.Overlap()*st.Wall.Seconds(), "s", st.Wall.Seconds(), "the time")
		if st.Pageable > 0 {
			r.fact("%s: %d bytes could not be page-locked", name, st.Pageable)
		}
	}
	return nil
}
