package gpu

import "fmt"

// Need is what a search wants to keep on a device.
type Need struct {
	Free    int64 // bytes that the device has
	Rows    int64
	RowSize int64 // bytes of a row with its copy, norm, scale and bias
	Queries int
	Dim     int
	Kept    int // keys of a list after each panel
}

// Plan is how it is laid out.
type Plan struct {
	Resident  bool  // all rows at a time; else they come block by block, in two slots
	BlockRows int64 // of a block
	Queries   int   // of a pass over the rows
	Room      int   // keys of a list
}

const (
	reserve      = 256 << 20 // bytes that are left alone: the driver's, other libraries'
	mostBlock    = 1 << 30   // bytes of a block
	leastBlock   = 1 << 12   // rows
	mostQueries  = 8192
	leastQueries = 16
	listRoom     = 8192 // keys: twice the most that is kept
)

// Layout plans the memory of a search. It prefers all queries in one pass over fewer
// bytes of rows, and rows that stay over rows that are streamed. The error says how much
// the least would take.
func Layout(n Need) (Plan, error) {
	free := n.Free - reserve
	p := Plan{Room: listRoom}
	for p.Room < 2*n.Kept {
		p.Room *= 2
	}
	// A query: itself in float32 and 16 bits, its list, results, threshold and flags.
	query := int64(6*n.Dim) + 8*int64(p.Room) + 8*int64(n.Kept) + 64
	block := min(max(mostBlock/n.RowSize, leastBlock), max(n.Rows, 1))
	for p.Queries = min(max(n.Queries, 1), mostQueries); ; p.Queries /= 2 {
		lists := query * int64(p.Queries)
		switch {
		case lists+n.Rows*n.RowSize <= free:
			p.Resident, p.BlockRows = true, block
			return p, nil
		case lists+2*block*n.RowSize <= free:
			p.BlockRows = block
			return p, nil
		}
		if p.Queries <= leastQueries {
			break
		}
	}
	// Blocks as small as need be.
	lists := query * int64(p.Queries)
	if block = (free - lists) / (2 * n.RowSize); block >= min(leastBlock, n.Rows) {
		p.BlockRows = block
		return p, nil
	}
	least := lists + 2*min(leastBlock, n.Rows)*n.RowSize + reserve
	return Plan{}, fmt.Errorf("the device has %d bytes free, a search of %d-byte rows takes %d at least; choose smaller vectors or another device", n.Free, n.RowSize, least)
}
