package kernels

import "math"

// Lowest is the threshold that keeps every score: the key of −∞ at the last row.
const Lowest = uint64(0x007FFFFF) << 32

// Key makes one number of a score and a row, the larger the better: the score first, then
// the lower row. −0 counts as 0, and what is no number comes last.
func Key(score float32, row uint32) uint64 {
	return uint64(ordered(score))<<32 | uint64(^row)
}

// Unkey gives the score and the row of a key.
func Unkey(key uint64) (score float32, row uint32) {
	o := uint32(key >> 32)
	if o>>31 == 1 {
		return math.Float32frombits(o &^ (1 << 31)), ^uint32(key)
	}
	return math.Float32frombits(^o), ^uint32(key)
}

func ordered(v float32) uint32 {
	if v != v {
		return 0
	}
	b := math.Float32bits(v + 0)
	if v == 0 {
		b = 0
	}
	if b>>31 == 1 {
		return ^b
	}
	return b | 1<<31
}

// RowTile is the rows of a tile, DimStep the dimensions of a step.
const (
	RowTile = 128
	DimStep = 64
)

// Shape is a tile of the search: so many queries, and what a block of it needs.
type Shape struct {
	Queries, Stages int
	PerSM           int // blocks a multiprocessor is meant to run
}

// Shapes are those of the search, by queries.
var Shapes = [...]Shape{{16, 4, 2}, {64, 4, 1}, {128, 3, 1}}

// ShapeFor is the smallest shape that takes all queries, or the largest.
func ShapeFor(queries int) Shape {
	for _, s := range Shapes {
		if queries <= s.Queries {
			return s
		}
	}
	return Shapes[len(Shapes)-1]
}

// Shared is the shared memory of a block in bytes.
func (s Shape) Shared() int { return s.Stages * (s.Queries + RowTile) * DimStep * 2 }

// Grid is how many blocks search so many queries and rows on a device with sms
// multiprocessors.
func (s Shape) Grid(queries, rows, sms int) int {
	tiles := ((queries + s.Queries - 1) / s.Queries) * ((rows + RowTile - 1) / RowTile)
	return max(1, min(tiles, sms*s.PerSM))
}

// MostSorted is the most keys of a list that Sort takes: as many 64-bit numbers as fit
// into the 48 KiB of shared memory that any kernel may use, a power of two.
const MostSorted = 4096
