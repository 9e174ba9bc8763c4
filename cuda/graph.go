//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

/*
#include "shim.h"
*/
import "C"

import "errors"

// Graph is recorded work that is launched as one.
type Graph struct{ exec C.uintptr_t }

// Capture records what record gives the stream, which does not run, and makes a graph of
// it. Addresses and sizes stay as they were. Allocating, waiting and Load are errors in
// there.
func (c *Context) Capture(s *Stream, record func() error) (*Graph, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if err := c.keep(fail(C.encbench_capture_begin(C.uintptr_t(s.Handle())), c.w.info.Ordinal, "begin a capture")); err != nil {
		return nil, err
	}
	err := record()
	g := &Graph{}
	// The stream records until this call, so it is made after a fault too.
	err = errors.Join(err, c.keep(fail(C.encbench_capture_end(C.uintptr_t(s.Handle()), &g.exec), c.w.info.Ordinal, "end a capture")))
	if err != nil {
		if g.exec != 0 {
			C.encbench_graph_destroy(g.exec)
		}
		return nil, err
	}
	born(g, "graph", 0)
	return g, nil
}

// Replay launches a graph in a stream.
func (c *Context) Replay(g *Graph, s *Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.keep(fail(C.encbench_graph_launch(g.exec, C.uintptr_t(s.Handle())), c.w.info.Ordinal, "launch a graph"))
}

func (g *Graph) free(c *Context) error {
	return fail(C.encbench_graph_destroy(g.exec), c.w.info.Ordinal, "destroy a graph")
}
