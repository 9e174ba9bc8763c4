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

// DimStep is the dimensions of a step of any tile.
const DimStep = 64

// Shape is a tile of the search, and what a block of it needs.
type Shape struct {
	Kernel        string
	Queries, Rows int
	Stages        int
	Threads       int
	PerSM         int  // blocks a multiprocessor is meant to run
	Maps          bool // queries and rows are read through tensor maps
}

// Shapes are those of a variant, by queries.
func (v Variant) Shapes() []Shape {
	most := Shape{"search_128", 128, 128, 3, 256, 1, false}
	if v == SM90A {
		most = Shape{"search_wide", 128, 256, 4, 384, 1, true}
	}
	return []Shape{{"search_16", 16, 128, 4, 256, 2, false}, {"search_64", 64, 128, 4, 256, 1, false}, most}
}

// ShapeFor is the smallest shape that takes all queries, or the largest.
func (v Variant) ShapeFor(queries int) Shape {
	shapes := v.Shapes()
	for _, s := range shapes {
		if queries <= s.Queries {
			return s
		}
	}
	return shapes[len(shapes)-1]
}

// Shared is the shared memory of a block in bytes: the stages, and behind them two
// barriers each where maps are.
func (s Shape) Shared() int {
	bytes := s.Stages * (s.Queries + s.Rows) * DimStep * 2
	if s.Maps {
		bytes += s.Stages * 2 * 8
	}
	return bytes
}

// Grid is how many blocks search so many queries and rows on a device with sms
// multiprocessors.
func (s Shape) Grid(queries, rows, sms int) int {
	tiles := ((queries + s.Queries - 1) / s.Queries) * ((rows + s.Rows - 1) / s.Rows)
	return max(1, min(tiles, sms*s.PerSM))
}

// MostSorted is the most keys of a list that Sort takes: as many 64-bit numbers as fit
// into the 48 KiB of shared memory that any kernel may use, a power of two.
const MostSorted = 4096

// MostPooled is the most values of a state that Pool takes: as many float32 as fit into
// 48 KiB of shared memory, rounded down to a power of two.
const MostPooled = 8192

// compactShared is the shared memory of compact in bytes.
const compactShared = 2 << 10
