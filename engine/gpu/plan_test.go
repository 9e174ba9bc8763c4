package gpu

import (
	"strings"
	"testing"

	"encbench/engine"
)

const gib = 1 << 30

func TestLayout(t *testing.T) {
	// 768 values of float16 by inner product: 1,544 bytes a row; a query with 8,192 keys
	// of a list and 4,096 results 102,944.
	base := Need{Free: 80 * gib, Devices: 1, Dim: 768, Elem: engine.F16, Queries: 1024, Kept: 4096, Room: 8192, Stage: 16 << 20}
	for _, c := range []struct {
		name string
		set  func(*Need)
		want Plan
		text string
	}{
		{"MS MARCO on an H100", func(n *Need) { n.Rows = 8_841_823 },
			Plan{Way: Resident, RowBytes: 1544, RowsEach: 8_841_823, Stay: 8_841_823, BlockRows: 8_841_823, Queries: 1024},
			"resident, in bytes: rows that stay 13651774712, streamed blocks 0, queries and lists 105418752, staging 16777216, left to others 268435456"},
		{"as float32 with copies and norms of L2", func(n *Need) { n.Rows, n.Elem, n.Metric = 8_841_823, engine.F32, engine.L2 },
			Plan{Way: Resident, RowBytes: 4620, RowsEach: 8_841_823, Stay: 8_841_823, BlockRows: 8_841_823, Queries: 1024}, ""},
		{"more rows than fit", func(n *Need) { n.Rows = 100_000_000 },
			Plan{Way: Mixed, RowBytes: 1544, RowsEach: 100_000_000, Stay: 53_990_435, BlockRows: 695_428, Slots: 2, Queries: 1024},
			"mixed, in bytes: rows that stay 83361231640, streamed blocks 2147481664, queries and lists 105418752, staging 16777216, left to others 268435456"},
		{"over two devices they stay", func(n *Need) { n.Rows, n.Devices = 100_000_000, 2 },
			Plan{Way: Resident, RowBytes: 1544, RowsEach: 50_004_096, Stay: 50_004_096, BlockRows: 50_004_096, Queries: 1024}, ""},
		{"rows are not known: room is left for slots", func(n *Need) {},
			Plan{Way: Resident, RowBytes: 1544, Stay: 53_990_435, BlockRows: 695_428, Slots: 2, Queries: 1024}, ""},
		{"fewer queries a pass, so that all rows stay", func(n *Need) { n.Rows, n.Queries, n.Free = 600_000, 8192, gib+gib/2 },
			Plan{Way: Resident, RowBytes: 1544, RowsEach: 600_000, Stay: 600_000, BlockRows: 600_000, Queries: 2048}, ""},
		{"a small device: smaller blocks", func(n *Need) { n.Rows, n.Free = 2_000_000, gib/2 },
			Plan{Way: Mixed, RowBytes: 1544, RowsEach: 2_000_000, Stay: 32_214, BlockRows: 31_250, Slots: 2, Queries: 1024}, ""},
		{"nothing may stay, blocks as asked", func(n *Need) { n.Rows, n.Stay, n.Block = 1000, -1, 100 },
			Plan{Way: Streamed, RowBytes: 1544, RowsEach: 1000, BlockRows: 100, Slots: 2, Queries: 1024}, ""},
		{"one slot", func(n *Need) { n.Rows, n.Stay, n.Slots = 1000, 10, 1 },
			Plan{Way: Mixed, RowBytes: 1544, RowsEach: 1000, Stay: 10, BlockRows: 1000, Slots: 1, Queries: 1024}, ""},
	} {
		n := base
		c.set(&n)
		got, err := Layout(n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sum := int64(0)
		for _, u := range got.Uses {
			sum += u.Bytes
		}
		if sum > n.Free {
			t.Errorf("%s: %d bytes of %d: %v", c.name, sum, n.Free, got)
		}
		if text := got.String(); c.text != "" && text != c.text {
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.text)
		}
		if got.Uses = nil; got.Way != c.want.Way || got.RowBytes != c.want.RowBytes || got.RowsEach != c.want.RowsEach || got.Stay != c.want.Stay ||
			got.BlockRows != c.want.BlockRows || got.Slots != c.want.Slots || got.Queries != c.want.Queries {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	_, err := Layout(Need{Free: 256 << 20, Rows: 1 << 20, Dim: 1024, Elem: engine.F32, Queries: 100, Kept: 4096, Room: 8192})
	const want = "the device has 268435456 bytes free, a search of rows of 6152 bytes takes "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), " at least (268435456 of them are left to others); choose smaller vectors, or another device") {
		t.Errorf("%v", err)
	}
	_, err = Need{Free: 100_000, Dim: 768, Kept: 4096, Room: 8192, Queries: 3}.Pass()
	const pass = "the device has 100000 bytes free, a query of 768 values that keeps 4096 rows takes 107040; free memory of the device, or set the expected k before rows are appended"
	if err == nil || err.Error() != pass {
		t.Errorf("%v, want %s", err, pass)
	}
	if n, err := (Need{Free: 1 << 20, Dim: 768, Kept: 4096, Room: 8192, Queries: 300}).Pass(); n != 10 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestValidate(t *testing.T) {
	err := Options{Metric: 9, Store: engine.StoreInt8, Rows: -1, PrimeRows: -2}.Validate()
	const want = "dim: expected 1 or more, found 0\nmetric: expected ip, cosine or l2, found Metric(9)\n" +
		"store: int8 rows are searched by the processor only; expected given, float32, float16 or bfloat16\n" +
		"rows -1, queries 0, k 0, kept 0, panel rows 0, block rows 0, slots 0: none may be negative, and prime rows, -2, not below -1"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := (Options{Dim: 3, Store: 9}).Validate(); err == nil || err.Error() != "store: expected given, float32, float16 or bfloat16, found Store(9)" {
		t.Errorf("%v", err)
	}
}

// Ratios of a report, and that devices are averaged.
func TestStats(t *testing.T) {
	one := Stats{In: Transfer{Bytes: 100, Time: 10e9}, Search: 20e9, Wall: 25e9}
	var two Stats
	two.add(one)
	two.add(one)
	for _, s := range []Stats{one, two} {
		if s.Overlap() != 0.8 || s.Busy() != 1.2 || s.Idle() < 0.1999 || s.Idle() > 0.2001 || s.In.Rate() != 10 {
			t.Errorf("%+v: %v, %v, %v, %v", s, s.Overlap(), s.Busy(), s.Idle(), s.In.Rate())
		}
	}
	if s := (Stats{}); s.Overlap() != 0 || s.Busy() != 0 || s.Idle() != 0 || s.In.Rate() != 0 {
		t.Error("ratios of nothing")
	}
}
