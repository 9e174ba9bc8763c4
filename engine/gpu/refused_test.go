//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"math"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
)

// What cannot be appended or searched is refused by name, and nothing of it stays.
func TestRefused(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	ctx, w := context.Background(), openAt(t, 0)
	s, err := New(Options{Dim: 3, Store: engine.StoreF16}, w)
	if err != nil {
		t.Fatal(err)
	}
	values := func(v ...float32) engine.Rows { return engine.HostRows(v, 3) }
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	if err := s.Append(ctx, 10, nil, values(1, 2, 3, 4, 5, 6)); err != nil {
		t.Fatal(err)
	}
	device := values(1, 2, 3)
	device.Host, device.Device, device.Dev = nil, 4, 256
	var h engine.Hits
	for _, c := range []struct {
		name, want string
		do         func() error
	}{
		{"base", "append rows to a search: expected a first row of 0 or more, found -1", func() error { return s.Append(ctx, -1, nil, values(1, 2, 3)) }},
		{"order", "append rows to a search: blocks must ascend: expected a first row of 12 or more, found 11", func() error { return s.Append(ctx, 11, nil, values(1, 2, 3)) }},
		{"documents", "append rows to a search: expected one document for each of 1 rows, found 2", func() error { return s.Append(ctx, 12, []int32{1, 2}, values(1, 2, 3)) }},
		{"dim", "append rows to a search: expected 3 values a row, found 2", func() error { return s.Append(ctx, 12, nil, engine.HostRows([]float32{1, 2}, 2)) }},
		{"NaN", "append rows to a search: row 13: value 1 is NaN; rows must be finite: leave this one out, or correct its encoder", func() error { return s.Append(ctx, 12, nil, values(1, 2, 3, 4, nan, 6, inf, 8, 9)) }},
		{"infinity", "append rows to a search: row 12: value 2 is -Inf; rows must be finite: leave this one out, or correct its encoder", func() error { return s.Append(ctx, 12, nil, values(1, 2, inf)) }},
		{"too large", "append rows to a search: row 13: value 0 is 70000, too large for float16; store float32", func() error { return s.Append(ctx, 12, nil, values(1, 2, 3, 7e4, 5, 6)) }},
		{"other device", "append rows to a search: the rows are on device 4, the search on device 0; copy them to the host first", func() error { return s.Append(ctx, 12, nil, device) }},
		{"NaN on a device", "append rows to a search: row 13: a value is no number, infinite, or too large for float16; rows must be finite: leave this one out, or correct its encoder",
			func() (err error) {
				r := values(1, 2, 3, nan, 5, 6)
				var b *cuda.Buffer
				if err := w.Do(func(c *cuda.Context) (err error) {
					if b, err = c.Alloc(24); err != nil {
						return err
					}
					st, err := c.NewStream()
					if err != nil {
						return err
					}
					if err := c.ToDevice(b, r.Host, st); err != nil {
						return err
					}
					return c.Free(st)
				}); err != nil {
					t.Fatal(err)
				}
				r.Host, r.Dev, r.Device = nil, b.Ptr, 0
				err = s.Append(ctx, 12, nil, r)
				if err := w.Do(func(c *cuda.Context) error { return c.Free(b) }); err != nil {
					t.Fatal(err)
				}
				return err
			}},
		{"k", "search: expected k of 1 or more, found 0", func() error { return s.Search(ctx, values(1, 2, 3), 0, &h) }},
		{"query dim", "search: expected 3 values a row, found 2", func() error { return s.Search(ctx, engine.HostRows([]float32{1, 2}, 2), 1, &h) }},
		{"query NaN", "search: query 1: value 0 is NaN; queries must be finite", func() error { return s.Search(ctx, values(1, 2, 3, nan, 2, 3), 1, &h) }},
		{"query on a device", "search: expected rows in host memory, found rows on device 4; copy them first", func() error { return s.Search(ctx, device, 1, &h) }},
		{"no device", "open a search: expected one device or more, found none", func() error { _, err := New(Options{Dim: 1}); return err }},
		{"options", "open a search: dim: expected 1 or more, found 0", func() error { _, err := New(Options{}, w); return err }},
	} {
		if err := c.do(); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
	if err := s.Search(ctx, values(1, 1, 1), 5, &h); err != nil {
		t.Fatal(err)
	}
	rows, scores := h.Query(0)
	if s.Rows() != 2 || len(rows) != 2 || rows[0] != 11 || scores[0] != 15 || rows[1] != 10 || scores[1] != 6 {
		t.Errorf("%d rows; found %v, %v", s.Rows(), rows, scores)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, err := range map[string]error{"append rows to a search: it is closed": s.Append(ctx, 20, nil, values(1, 2, 3)), "search: it is closed": s.Search(ctx, values(1, 2, 3), 1, &h)} {
		if err == nil || err.Error() != name {
			t.Errorf("%v, want %s", err, name)
		}
	}

	given, err := New(Options{Dim: 3}, w)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	if err := given.Append(ctx, 0, nil, values(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	half := rowsOf([][]float32{{1, 2, 3}}, engine.F16)
	const want = "append rows to a search: expected rows of float32 like those before, found float16; set the type to store"
	if err := given.Append(ctx, 1, nil, half); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Scores of zero have the sign that the rule gives them.
func TestSignOfZero(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	for _, stay := range []int64{0, -1} {
		s, err := New(Options{Dim: 2, stay: stay, BlockRows: 4}, openAt(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rows := []float32{0x1p-100, 0, -0x1p-100, 0, 0, 0}
		if err := s.Append(context.Background(), 0, nil, engine.HostRows(rows, 2)); err != nil {
			t.Fatal(err)
		}
		var h engine.Hits
		q := []float32{0x1p-100, 0}
		if err := s.Search(context.Background(), engine.HostRows(q, 2), 3, &h); err != nil {
			t.Fatal(err)
		}
		for i, row := range h.Row {
			if want := engine.Dot(q, rows[2*i:2*i+2]); row != int64(i) || math.Float32bits(h.Score[i]) != math.Float32bits(want) {
				t.Errorf("place %d: row %d, %x; want %x", i, row, math.Float32bits(h.Score[i]), math.Float32bits(want))
			}
		}
		if !math.Signbit(float64(h.Score[1])) {
			t.Error("no −0")
		}
	}
}
