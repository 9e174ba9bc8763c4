package kernels

import (
	"math"
	"testing"

	"encbench/engine"
)

// Keys have the order of engine.Before, and give back what they were made of.
func TestKey(t *testing.T) {
	inf := float32(math.Inf(1))
	scores := []float32{-inf, -math.MaxFloat32, -1, -math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1)), 0, math.SmallestNonzeroFloat32, 1, math.Nextafter32(1, 2), math.MaxFloat32, inf}
	rows := []uint32{0, 1, 7, math.MaxUint32 - 1, math.MaxUint32}
	for _, a := range scores {
		for _, ra := range rows {
			ka := Key(a, ra)
			if s, r := Unkey(ka); s != a || r != ra {
				t.Errorf("key of %g, %d gives %g, %d", a, ra, s, r)
			}
			if ka < Lowest {
				t.Errorf("key of %g, %d is below the lowest threshold", a, ra)
			}
			for _, b := range scores {
				for _, rb := range rows {
					if got, want := ka > Key(b, rb), engine.Before(a, int64(ra), b, int64(rb)); got != want {
						t.Errorf("%g, %d before %g, %d: %v, want %v", a, ra, b, rb, got, want)
					}
				}
			}
		}
	}
	if nan := Key(float32(math.NaN()), 0); nan >= Lowest {
		t.Error("what is no number passes the lowest threshold")
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct{ queries, tile int }{{1, 16}, {16, 16}, {17, 64}, {64, 64}, {65, 128}, {6980, 128}} {
		if s := ShapeFor(c.queries); s.Queries != c.tile {
			t.Errorf("%d queries go by tiles of %d", c.queries, s.Queries)
		}
	}
	for _, s := range Shapes {
		// A block of every shape must fit the 99 KiB that 8.6 and 8.9 give it, and as many as
		// are meant the 227 of 9.0; 1 KiB of each is the driver's.
		if s.Shared() > 99<<10 || s.PerSM*(s.Shared()+1<<10) > 228<<10 {
			t.Errorf("tiles of %d queries take %d bytes of shared memory", s.Queries, s.Shared())
		}
	}
	if g := Shapes[2].Grid(1000, 1<<20, 132); g != 132 {
		t.Errorf("grid %d", g)
	}
	if g := Shapes[0].Grid(3, 100, 132); g != 1 {
		t.Errorf("grid of one tile %d", g)
	}
}
