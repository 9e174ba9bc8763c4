//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/cpu"
)

// streamed runs a search over blocks on the host whose copies and kernels take a set
// time, most of it asleep.
func streamed(t *testing.T, slots int) Stats {
	t.Helper()
	c := &trial{name: fmt.Sprint(slots, " slots"), elem: engine.F16, k: 2, devices: 1, rng: rand.New(rand.NewPCG(1, 2))}
	c.opt = Options{Dim: 64, BlockRows: 40, stay: -1, Slots: slots, most: 4, room: 64, PrimeRows: -1}
	for range 321 {
		row := make([]float32, c.opt.Dim)
		normal(c.rng, row, 1)
		c.rows = append(c.rows, row)
	}
	c.queries, c.rows = c.rows[:1], c.rows[1:]
	s, err := New(c.opt, openAt(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(context.Background(), 0, nil, rowsOf(c.rows, c.elem)); err != nil {
		t.Fatal(err)
	}
	// A block is 5,440 bytes and four kernels: 64 ms each way.
	cudatest.Set(t, "COPY", "85000")
	cudatest.Set(t, "KERNEL", "16000000")
	plain, err := cpu.NewPlain(cpu.Options{Dim: c.opt.Dim})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Append(context.Background(), 0, nil, rowsOf(c.rows, c.elem)); err != nil {
		t.Fatal(err)
	}
	c.same(t, s, plain, rowsOf(c.queries, engine.F32))
	cudatest.Set(t, "COPY", "")
	cudatest.Set(t, "KERNEL", "")
	return s.Stats()
}

// With two slots the wall time is near the longer of copies and search, with one near
// their sum. The figures are of events, and copies and kernels sleep, so that the
// processor's load matters little; ratios are compared, not times.
func TestOverlap(t *testing.T) {
	two, one := streamed(t, 2), streamed(t, 1)
	t.Logf("two slots: overlap %.2f, busy %.2f, idle %.2f, %v; one: overlap %.2f, busy %.2f, idle %.2f, %v",
		two.Overlap(), two.Busy(), two.Idle(), two.Wall, one.Overlap(), one.Busy(), one.Idle(), one.Wall)
	for _, s := range []Stats{two, one} {
		if s.Blocks != 8 || s.In.Bytes != 8*40*(128+8) || s.In.Time < 8*60*time.Millisecond || s.Search < 8*60*time.Millisecond || s.Pageable != 0 {
			t.Errorf("%+v", s)
		}
		if rate := s.In.Rate(); rate < 20e3 || rate > 90e3 {
			t.Errorf("copies at %.0f bytes a second, the driver's are at 85,000", rate)
		}
	}
	if one.Busy() > 1.02 || one.Busy() < 0.8 || two.Overlap() < 0.7 {
		t.Errorf("one slot %+v, two slots %+v", one, two)
	}
}

// What the device's memory holds stays, and the rest is streamed: the plan is in use, and
// a search says what it takes.
func TestPlanInUse(t *testing.T) {
	c := small(1)
	c.opt = Options{Dim: 8, Rows: 16 << 10, Queries: 2, most: 12, room: 24}
	for len(c.rows) < 6000 {
		row := make([]float32, 8)
		normal(c.rng, row, 1)
		c.rows = append(c.rows, row)
	}
	// A row is 32 + 16 + 8 bytes; 4,096 rows a block, two slots, and some that stay.
	cudatest.Set(t, "FAIL", "")
	free := int64(reserve + stageBytes + 3*4096*56 + 1000*56)
	cudatest.Set(t, "MEMORY", fmt.Sprint(free))
	o := c.safe(t, context.Background(), "mixed")
	if o.err != nil || !c.right(t, &o.hits) {
		t.Fatalf("%v, %+v", o.err, o.hits)
	}
	d := o.devices[0]
	if d.Plan.Way != Mixed || d.Plan.Stay < 4096 || d.Plan.Stay >= 6000 || d.Last.Blocks == 0 || len(d.Warnings) > 0 || d.Rows != 6000 {
		t.Errorf("%+v", d)
	}
	if d.Appended.Bytes != 6000*32 || d.Appended.Rate() == 0 {
		t.Errorf("appended %+v", d.Appended)
	}
	cudatest.Set(t, "MEMORY", "300000000")
	if o := c.safe(t, context.Background(), "resident"); o.err != nil || o.devices[0].Plan.Way != Resident || o.devices[0].Last.Blocks != 0 {
		t.Errorf("%v, %+v", o.err, o.devices)
	}
	cudatest.Set(t, "MEMORY", "280000000")
	o = c.safe(t, context.Background(), "too small")
	if o.err == nil || !strings.HasPrefix(o.err.Error(), "append rows to a search: device 0: plan the memory: the device has 280000000 bytes free, a search of rows of 56 bytes takes ") {
		t.Errorf("%v", o.err)
	}
}

// More rows than were expected go where there is room.
func TestMoreThanExpected(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := small(1)
	c.opt = Options{Dim: 8, Metric: engine.Cosine, Rows: 10, PrimeRows: -1, most: 12, room: 24}
	o := c.safe(t, context.Background(), "60 rows of 10")
	if o.err != nil || !c.right(t, &o.hits) || o.devices[0].Last.Blocks != 0 || o.devices[0].Plan.RowsEach != 0 {
		t.Errorf("%v, %+v", o.err, o.devices)
	}
}

// Rows that an encoder left on a device are appended there, whatever their stride, and
// give what rows of the host give.
func TestDeviceRows(t *testing.T) {
	cudatest.Set(t, "DEVICES", "2")
	cudatest.Set(t, "FAIL", "")
	workers := []*cuda.Worker{openAt(t, 0), openAt(t, 1)}
	for n, opt := range []Options{{}, {stay: -1, BlockRows: 9}, {Metric: engine.Cosine, stay: 7, BlockRows: 7}, {Store: engine.StoreF16}, {Store: engine.StoreBF16, Metric: engine.L2}} {
		for elem := engine.F32; elem <= engine.BF16; elem++ {
			c := small(1)
			c.name, c.elem = fmt.Sprint(n, elem), elem
			metric, store, stay, block := opt.Metric, opt.Store, opt.stay, opt.BlockRows
			c.opt = Options{Dim: 8, Metric: metric, Store: store, stay: stay, BlockRows: block, most: 12, room: 24}
			s, err := New(c.opt, workers...)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := cpu.NewPlain(cpu.Options{Dim: 8, Metric: metric, Store: store})
			if err != nil {
				t.Fatal(err)
			}
			refused := false
			for i := range 4 {
				part := rowsOf(c.rows[10*i:10*i+10], elem)
				if err := plain.Append(context.Background(), int64(10*i), nil, part); err != nil {
					t.Fatal(err)
				}
				w := workers[i%2]
				var there *cuda.Buffer
				if err := w.Do(func(ctx *cuda.Context) (err error) {
					st, err := ctx.NewStream()
					if err != nil {
						return err
					}
					defer func() { err = ctx.Free(st) }()
					if there, err = ctx.Alloc(int64(len(part.Host))); err != nil {
						return err
					}
					return ctx.ToDevice(there, part.Host, st)
				}); err != nil {
					t.Fatal(err)
				}
				dev := part
				dev.Host, dev.Dev, dev.Device = nil, there.Ptr, w.Info().Ordinal
				err := s.Append(context.Background(), int64(10*i), nil, dev)
				if err != nil {
					refused = true
					want := fmt.Sprintf("append rows to a search: rows of %s on a device are not converted to %s there; copy them to the host first", nameOf(elem), store)
					if elem == engine.F32 || err.Error() != want {
						t.Errorf("%s: %v", c.name, err)
					}
				}
				if err := w.Do(func(ctx *cuda.Context) error { return ctx.Free(there) }); err != nil {
					t.Fatal(err)
				}
			}
			if !refused {
				c.same(t, s, plain, rowsOf(c.queries, engine.F32))
				if d := s.Devices(); d[0].Rows != 20 || d[1].Rows != 20 || d[0].Appended.Bytes != 0 {
					t.Errorf("%s: %+v", c.name, d)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// More than MostPass rows of a query come in rounds, up to all rows there are.
func TestManyRows(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := &trial{name: "many", elem: engine.F16, k: 5000, rng: rand.New(rand.NewPCG(3, 4)), opt: Options{Dim: 8}}
	for range 4702 {
		row := make([]float32, 8)
		normal(c.rng, row, 1)
		c.rows = append(c.rows, row)
	}
	c.queries, c.rows = c.rows[:2], c.rows[2:]
	stats := c.compare(t, []*cuda.Worker{openAt(t, 0)})
	if stats.Rounds != 3 || stats.Certified != 6 {
		t.Errorf("%+v", stats)
	}
}

// A sample gives the first thresholds: data in ascending order overflows no list.
func TestPrimed(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	redone := map[int]int{}
	for _, prime := range []int{-1, 200} {
		c := &trial{name: fmt.Sprint("prime ", prime), elem: engine.F16, k: 3, rng: rand.New(rand.NewPCG(3, 4))}
		c.opt = Options{Dim: 8, PrimeRows: prime, PanelRows: 100, most: 8, room: 80, BlockRows: 2000}
		for i := range 2000 {
			c.rows = append(c.rows, []float32{float32(i), 0, 0, 0, 0, 0, 0, 0})
		}
		c.queries = [][]float32{{1, 0, 0, 0, 0, 0, 0, 0}}
		redone[prime] = c.compare(t, []*cuda.Worker{openAt(t, 0)}).Redone
	}
	if redone[-1] < 15 || redone[200] != 0 {
		t.Errorf("panels redone: %v", redone)
	}
}

// Panels grow with the rows that thresholds are from, and start over where lists overflow.
func TestPanels(t *testing.T) {
	for _, c := range []struct{ least, seen, most, room, want int64 }{
		{0, 0, 132, 8192, panelRows}, {0, 65536, 132, 8192, 1_015_808}, {0, 65536, 1125, 8192, 118_784}, {0, 1 << 32, 132, 8192, mostPanel}, {10, 40, 8, 16, 20}, {10, 0, 8, 16, 10},
	} {
		if got := nextPanel(c.least, c.seen, c.most, c.room); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	cudatest.Set(t, "FAIL", "")
	c := &trial{name: "panels", elem: engine.F16, k: 3, rng: rand.New(rand.NewPCG(3, 4))}
	c.opt = Options{Dim: 8, PrimeRows: -1, PanelRows: 50, most: 8, room: 160, BlockRows: 2000}
	for range 2001 {
		row := make([]float32, 8)
		normal(c.rng, row, 1)
		c.rows = append(c.rows, row)
	}
	c.queries, c.rows = c.rows[:1], c.rows[1:]
	if stats := c.compare(t, []*cuda.Worker{openAt(t, 0)}); stats.Panels > 6 || stats.Redone > 0 { // 50, 240, 1,440, 270
		t.Errorf("%+v", stats)
	}
}
