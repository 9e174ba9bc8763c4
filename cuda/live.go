//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// live counts what was allocated and not freed, with the place that did it.
var live struct {
	sync.Mutex
	objects map[object]allocation
}

type allocation struct {
	kind  string
	bytes int64
	at    string
}

// born enters an object. Its caller's caller is the place that a leak is blamed on.
func born(o object, kind string, bytes int64) {
	at := "?"
	if _, file, line, ok := runtime.Caller(2); ok {
		at = fmt.Sprintf("%s:%d", file, line)
	}
	live.Lock()
	defer live.Unlock()
	if live.objects == nil {
		live.objects = map[object]allocation{}
	}
	live.objects[o] = allocation{kind, bytes, at}
}

// died takes an object off; false when it was not there.
func died(o object) bool {
	live.Lock()
	defer live.Unlock()
	_, ok := live.objects[o]
	delete(live.objects, o)
	return ok
}

// Live gives the number of objects that are not freed and the bytes of those that are
// memory, of all devices.
func Live() (objects int, bytes int64) {
	live.Lock()
	defer live.Unlock()
	for _, a := range live.objects {
		bytes += a.bytes
	}
	return len(live.objects), bytes
}

// Leaks describes what is not freed, a line each with the place that allocated it.
func Leaks() []string {
	live.Lock()
	defer live.Unlock()
	var out []string
	for a := range maps.Values(live.objects) {
		out = append(out, fmt.Sprintf("%s: %s of %d bytes", a.at, a.kind, a.bytes))
	}
	slices.Sort(out)
	return out
}
