package latency

import (
	"runtime"
	"runtime/debug"
)

// collector keeps Go's garbage collection between samples.
type collector struct {
	gc      *GC
	percent int
	heap    uint64 // after the last collection
	begun   uint32 // collections of the process at the start
}

func newCollector(gc *GC) *collector {
	c := &collector{gc: gc}
	runtime.GC()
	c.percent = debug.SetGCPercent(-1)
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	c.heap, c.begun = st.HeapAlloc, st.NumGC
	return c
}

// look collects the heap where it has grown, and says whether it did.
func (c *collector) look() bool {
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	if st.HeapAlloc < c.heap+heapGrowth {
		return false
	}
	runtime.GC()
	c.gc.Between++
	runtime.ReadMemStats(&st)
	c.heap = st.HeapAlloc
	return true
}

// end lets the collector run again.
func (c *collector) end() {
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	c.gc.During = int(st.NumGC-c.begun) - c.gc.Between
	debug.SetGCPercent(c.percent)
}
