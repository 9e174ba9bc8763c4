package kernels

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
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
	for _, c := range []struct {
		variant       Variant
		queries, tile int
		maps          bool
	}{
		{SM80, 1, 16, false}, {SM80, 16, 16, false}, {SM80, 17, 64, false}, {SM80, 64, 64, false}, {SM80, 65, 128, false}, {SM80, 6980, 128, false},
		{SM90A, 16, 16, false}, {SM90A, 64, 64, false}, {SM90A, 65, 128, true},
	} {
		if s := c.variant.ShapeFor(c.queries); s.Queries != c.tile || s.Maps != c.maps {
			t.Errorf("%v: %d queries go by tiles of %+v", c.variant, c.queries, s)
		}
	}
	for _, s := range append(SM80.Shapes(), SM90A.Shapes()...) {
		// A block of every shape must fit the 99 KiB that 8.6 and 8.9 give it, or the 227 of
		// 9.0, and as many as are meant those 227; 1 KiB of each is the driver's.
		most := 99 << 10
		if s.Maps {
			most = 227 << 10
		}
		if s.Shared() > most || s.PerSM*(s.Shared()+1<<10) > 228<<10 {
			t.Errorf("tiles of %d queries take %d bytes of shared memory", s.Queries, s.Shared())
		}
	}
	shapes, wide := SM80.Shapes(), SM90A.Shapes()[2]
	for _, c := range []struct {
		shape                    Shape
		queries, rows, sms, want int
	}{{shapes[2], 1000, 1 << 20, 132, 132}, {shapes[0], 3, 100, 132, 1}, {shapes[0], 3, 1 << 20, 132, 264}, {wide, 129, 257, 132, 4}} {
		if g := c.shape.Grid(c.queries, c.rows, c.sms); g != c.want {
			t.Errorf("%s: %d queries and %d rows take %d blocks, want %d", c.shape.Kernel, c.queries, c.rows, g, c.want)
		}
	}
}

func TestVariants(t *testing.T) {
	for _, c := range []struct {
		v            Variant
		major, minor int
		want         string
	}{
		{SM80, 8, 0, ""}, {SM80, 8, 9, ""}, {SM80, 10, 0, ""}, {SM90A, 9, 0, ""},
		{SM80, 7, 5, "kernels: sm_80 is for devices of compute capability 8.0 and above, this one has 7.5"},
		{SM90A, 8, 9, "kernels: sm_90a is for devices of compute capability 9.0, this one has 8.9; use sm_80"},
		{SM90A, 10, 0, "kernels: sm_90a is for devices of compute capability 9.0, this one has 10.0; use sm_80"},
	} {
		got := ""
		if err := c.v.RunsOn(c.major, c.minor); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v on %d.%d: got %q, want %q", c.v, c.major, c.minor, got, c.want)
		}
		if !bytes.Contains(c.v.PTX(), []byte(".target "+c.v.String())) {
			t.Errorf("the text of %v is for another architecture", c.v)
		}
	}
}

// No kernel asks whether it is emulated: what the sources compile to is decided by the
// header alone.
func TestSourcesDoNotAsk(t *testing.T) {
	files, err := filepath.Glob("src/*.cu*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	ask := regexp.MustCompile(`(?m)^\s*#\s*(if|ifdef|ifndef|elif|else)\b|\bemu::|__CUDA|__NVPTX`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := ask.Find(text); m != nil {
			t.Errorf("%s: %q", f, m)
		}
	}
}
