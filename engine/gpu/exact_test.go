//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
)

// Products below the range of float32 are lost on the device, each by itself; rows that
// only their sum would have brought among the best must not be missed.
func TestSearchUnderflow(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	workers := []*cuda.Worker{openAt(t, 0)}
	for _, metric := range []engine.Metric{engine.InnerProduct, engine.Cosine, engine.L2} {
		for _, exp := range [][2]float64{{-80, -71}, {-80, -73}, {-60, -93}, {-20, -125}, {-10, -138}, {-75, -75}} {
			c := &trial{name: fmt.Sprint("underflow ", metric, exp), elem: engine.BF16, asked: new(engine.Elem), k: 4, rng: rand.New(rand.NewPCG(7, 8))}
			c.opt = Options{Dim: 256, Metric: metric, Kept: 8, BlockRows: 50, most: 16, room: 64, PanelRows: 32, PrimeRows: -1}
			for i := range 121 {
				row := make([]float32, c.opt.Dim)
				by := math.Exp2(exp[0]) * (1 + c.rng.Float64())
				if i == 0 {
					by = math.Exp2(exp[1])
				}
				for d := range row {
					row[d] = float32(by * (1 + c.rng.Float64()/8))
					if metric == engine.Cosine && i > 0 && d > 120-i {
						row[d] = 0
					}
				}
				c.rows = append(c.rows, row)
			}
			c.queries, c.rows = c.rows[:1], c.rows[1:]
			c.compare(t, workers)
		}
	}
}

// A cosine can be below the range of float32 though no product is: its sign is that of the
// rule also then.
func TestSearchSigns(t *testing.T) {
	cudatest.Set(t, "FAIL", "")
	c := &trial{name: "signs", elem: engine.F16, asked: new(engine.Elem), k: 2, rng: rand.New(rand.NewPCG(7, 8)), opt: Options{Dim: 3, Metric: engine.Cosine}}
	c.queries = [][]float32{{0x1p127, -1, 0}}
	c.rows = [][]float32{{0, 0x1p-24, 65504}, {0, -0x1p-24, 65504}}
	c.compare(t, []*cuda.Worker{openAt(t, 0)})
}
