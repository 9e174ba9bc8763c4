package gpu

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"encbench/engine"
)

func TestRandomHalves(t *testing.T) {
	a, b, c := make([]byte, 80000), make([]byte, 80000), make([]byte, 80000)
	RandomHalves(a, 1)
	RandomHalves(b, 1)
	RandomHalves(c, 2)
	if !bytes.Equal(a, b) || bytes.Equal(a, c) {
		t.Error("a seed does not decide the numbers")
	}
	var sum, least, most float64 = 0, 1, 0
	for i := 0; i < len(a); i += 2 {
		v := float64(engine.F16ToF32(binary.LittleEndian.Uint16(a[i:])))
		sum, least, most = sum+v, min(least, math.Abs(v)), max(most, math.Abs(v))
	}
	if mean := sum / 40000; math.Abs(mean) > 1e-3 || least < 1./32 || most >= 1./16 {
		t.Errorf("mean %g, magnitudes %g to %g", mean, least, most)
	}
}
