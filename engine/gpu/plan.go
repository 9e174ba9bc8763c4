package gpu

import (
	"cmp"
	"fmt"
	"strings"

	"encbench/engine"
)

// Need is what a search wants to keep on each of its devices.
type Need struct {
	Free    int64 // bytes that the device has
	Devices int
	Rows    int64 // of all devices; 0 is not known
	Dim     int
	Elem    engine.Elem // as rows are stored
	Metric  engine.Metric
	Queries int   // of a search
	Kept    int   // rows that a query keeps at most
	Room    int   // keys of a list
	Block   int64 // rows of a streamed block; 0 is a choice
	Slots   int   // of streamed blocks; 0 is 2
	Stay    int64 // rows that stay at most; 0 is no limit, −1 none
	Stage   int64 // bytes of the staging buffer on the device
}

// Way is where rows lie during a search.
type Way uint8

const (
	Resident Way = iota // all on the device
	Mixed               // some on the device, the others streamed
	Streamed            // all streamed
)

// String names the way as a report does.
func (w Way) String() string { return [...]string{"resident", "mixed", "streamed"}[w] }

// Use is memory of the device by its purpose.
type Use struct {
	Purpose string
	Bytes   int64
}

// Plan is how the memory of a device is laid out.
type Plan struct {
	Way       Way
	RowBytes  int64 // of a row with its copy, norm, scale or bias
	RowsEach  int64 // of a device, as expected; 0 is not known
	Stay      int64 // rows that stay on the device at most
	BlockRows int64 // of a streamed block
	Slots     int   // of streamed blocks; 0 where none is streamed
	Queries   int   // of a pass over the rows
	Uses      []Use
}

// String gives the way and the bytes by purpose.
func (p Plan) String() string {
	var parts []string
	for _, u := range p.Uses {
		parts = append(parts, fmt.Sprintf("%s %d", u.Purpose, u.Bytes))
	}
	return fmt.Sprintf("%s, in bytes: %s", p.Way, strings.Join(parts, ", "))
}

const (
	reserve      = 256 << 20 // bytes that are left alone: the driver's, other libraries'
	mostBlock    = 1 << 30   // bytes of a block
	leastBlock   = 1 << 12   // rows
	mostQueries  = 8192
	leastQueries = 16
	anyRows      = 1 << 32 // what a device can number
)

// stride is the values of a row on the device: a multiple of 8.
func stride(dim int) int { return (dim + 7) / 8 * 8 }

// rowBytes is a row with all that belongs to it.
func (n Need) rowBytes() int64 {
	b := int64(n.Elem.Size()*stride(n.Dim)) + 8
	if n.Elem == engine.F32 {
		b += int64(2 * stride(n.Dim))
	}
	if n.Metric != engine.InnerProduct {
		b += 4
	}
	return b
}

// queryBytes is a query with its list, best, threshold, ceiling and flags.
func (n Need) queryBytes() int64 {
	return int64(6*stride(n.Dim)) + 8*int64(n.Room) + 8*int64(n.Kept) + 32
}

// Pass is how many queries go over the rows at a time with so much memory free. The error
// says how much one takes.
func (n Need) Pass() (int, error) {
	each := n.queryBytes()
	fit := (n.Free - reserve - arenaSlack) / each
	if fit < leastQueries { // few at a time are slow: what is left to others is used up
		fit = min((n.Free-arenaSlack)/each, leastQueries)
	}
	if fit < 1 {
		return 0, fmt.Errorf("the device has %d bytes free, a query of %d values that keeps %d rows takes %d; free memory of the device, or set the expected k before rows are appended",
			n.Free, n.Dim, n.Kept, each+arenaSlack)
	}
	return int(min(fit, mostQueries, int64(max(n.Queries, 1)))), nil
}

// arenaSlack is what the parts of a pass's memory lose to alignment.
const arenaSlack = 16 << 8

// Layout plans the memory of a device. It prefers rows that stay over all queries in one
// pass, and streams the rows that do not fit. The error says how much the least would
// take.
func Layout(n Need) (Plan, error) {
	p := Plan{RowBytes: n.rowBytes(), RowsEach: n.Rows}
	if of := int64(n.Devices); of > 1 && n.Rows > 0 {
		p.RowsEach = (n.Rows+of-1)/of + leastBlock // shares differ a little
	}
	left := n.Free - reserve - n.Stage
	queries := func(q int) int64 { return n.queryBytes()*int64(q) + arenaSlack }
	uses := func(stay, block int64, slots int) {
		p.Uses = []Use{{"rows that stay", stay * p.RowBytes}, {"streamed blocks", int64(slots) * block * p.RowBytes},
			{"queries and lists", queries(p.Queries)}, {"staging", n.Stage}, {"left to others", reserve}}
	}
	if p.RowsEach > 0 && (n.Stay == 0 || n.Stay >= p.RowsEach) {
		for p.Queries = min(max(n.Queries, 1), mostQueries); ; p.Queries /= 2 {
			if queries(p.Queries)+p.RowsEach*p.RowBytes <= left {
				p.Stay = p.RowsEach
				p.BlockRows = cmp.Or(n.Block, p.RowsEach)
				uses(p.Stay, 0, 0)
				return p, nil
			}
			if p.Queries <= leastQueries {
				break
			}
		}
	}
	p.Slots = cmp.Or(n.Slots, 2)
	least := int64(leastBlock)
	if p.RowsEach > 0 {
		least = min(least, p.RowsEach)
	}
	if n.Block > 0 {
		least = n.Block
	}
	p.BlockRows = cmp.Or(n.Block, max(mostBlock/p.RowBytes, least))
	if p.RowsEach > 0 && n.Block == 0 {
		p.BlockRows = min(p.BlockRows, max(least, (p.RowsEach+3)/4)) // fewer blocks than slots overlap nothing
	}
	fits := func(q int, block int64) bool { return queries(q)+int64(p.Slots)*block*p.RowBytes <= left }
	// Blocks as large as can be with all queries in one pass: every row crosses the bus
	// once. Then fewer queries.
	for p.Queries = min(max(n.Queries, 1), mostQueries); !fits(p.Queries, p.BlockRows); {
		switch {
		case p.BlockRows/2 >= least:
			p.BlockRows /= 2
		case p.BlockRows > least:
			p.BlockRows = least
		case p.Queries/2 >= leastQueries:
			p.Queries /= 2
		default:
			return Plan{}, fmt.Errorf("the device has %d bytes free, a search of rows of %d bytes takes %d at least (%d of them are left to others); choose smaller vectors, or another device",
				n.Free, p.RowBytes, queries(p.Queries)+int64(p.Slots)*p.BlockRows*p.RowBytes+reserve+n.Stage, reserve)
		}
	}
	p.Stay = min((left-queries(p.Queries))/p.RowBytes-int64(p.Slots)*p.BlockRows, anyRows)
	if p.RowsEach > 0 {
		p.Stay = min(p.Stay, p.RowsEach)
	}
	if n.Stay != 0 {
		p.Stay = max(min(p.Stay, n.Stay), 0)
	}
	switch {
	case p.RowsEach == 0:
		// It is not known; what is more than stays is streamed when it comes.
		if p.Way = Resident; p.Stay == 0 {
			p.Way = Streamed
		}
	case p.Stay > 0:
		p.Way = Mixed
	default:
		p.Way = Streamed
	}
	uses(p.Stay, p.BlockRows, p.Slots)
	return p, nil
}
