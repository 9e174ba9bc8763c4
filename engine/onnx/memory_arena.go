package onnx

import "slices"

// arena is ONNX Runtime's allocator of a run's values (core/framework/bfc_arena.cc),
// as far as it decides what becomes resident: memory comes in regions of growing
// powers of two, a value takes the smallest free place that it fits in, what it leaves
// of a place is free only if the place is at least twice as large, and free places are
// merged only side by side. So a run touches up to twice what is alive at once.
type arena struct {
	places   []place // by address
	next     int64   // address of the next region
	region   int64   // size of the next region
	resident int64   // bytes that were ever used
}

// place is a part of a region.
type place struct {
	at, size int64
	used     int64 // bytes from its start that were ever used
	free     bool
	first    bool // of its region
}

const (
	arenaAlign    = 256
	arenaRegion   = 1 << 20   // of the first region
	arenaLargest  = 1 << 30   // that regions grow to
	arenaMaxWaste = 128 << 20 // that a value may leave unused of its place
)

func newArena() *arena { return &arena{region: arenaRegion} }

// take gives the address of size bytes.
func (a *arena) take(size int64) int64 {
	size = up(max(size, 1), arenaAlign)
	best := -1
	for i, p := range a.places {
		if p.free && p.size >= size && (best < 0 || p.size < a.places[best].size) {
			best = i
		}
	}
	if best < 0 {
		best = a.grow(size)
	}
	p := &a.places[best]
	p.free = false
	if p.size >= 2*size || p.size-size >= arenaMaxWaste {
		rest := place{at: p.at + size, size: p.size - size, used: max(0, p.used-size), free: true}
		p.size, p.used = size, min(p.used, size)
		a.places = slices.Insert(a.places, best+1, rest)
		p = &a.places[best]
	}
	a.resident += max(0, size-p.used)
	p.used = max(p.used, size)
	return p.at
}

// grow adds a region that holds size bytes, and gives its place.
func (a *arena) grow(size int64) int {
	doubled := false
	for a.region < size {
		a.region, doubled = 2*a.region, true
	}
	a.places = append(a.places, place{at: a.next, size: a.region, free: true, first: true})
	a.next += a.region
	if !doubled {
		a.region = min(2*a.region, arenaLargest)
	}
	return len(a.places) - 1
}

// drop gives back what take gave.
func (a *arena) drop(at int64) {
	i, ok := slices.BinarySearchFunc(a.places, at, func(p place, at int64) int { return int(p.at - at) })
	if !ok || a.places[i].free {
		panic("onnx: arena gets back what it did not give")
	}
	a.places[i].free = true
	if i+1 < len(a.places) && a.places[i+1].free && !a.places[i+1].first {
		a.merge(i)
	}
	if i > 0 && a.places[i-1].free && !a.places[i].first {
		a.merge(i - 1)
	}
}

// merge makes one place of i and the one after it. What was used of the two need not
// lie together: it is counted as if it did, at the start.
func (a *arena) merge(i int) {
	p, q := &a.places[i], a.places[i+1]
	p.size, p.used = p.size+q.size, p.used+q.used
	a.places = slices.Delete(a.places, i+1, i+2)
}
