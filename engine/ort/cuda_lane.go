//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"encbench/cuda"
	"encbench/engine"
)

// stations are the groups that a lane has on the device: one runs while the next one's
// ids come.
const stations = 2

// lane is one session with its thread and stream.
type lane struct {
	e         *CUDAEncoder
	w         *cuda.Worker
	stream    *cuda.Stream
	session   deviceSession
	placement Placement
	stations  [stations]*station
	runs      map[stationShape]*deviceRun
	next      int           // the station of the next group
	flying    []*flight     // on the device, oldest first
	last      time.Duration // when the last one was done, by the encoder's clock
}

// station is memory for one group on its way.
type station struct {
	ids    *hostBlock   // all inputs, one behind the other
	inputs *cuda.Buffer // the same on the device
	at     []int64      // where each input begins
	out    *cuda.Buffer
	marks  marks
}

type stationShape struct {
	station int
	shape   shape
}

// flight is a group on the device.
type flight struct {
	job     job
	station *station
	work    engine.Work
	in, out int64 // bytes to and from the device
}

// room is the most tokens and rows of a group.
func (e *CUDAEncoder) room() (tokens, rows int) {
	if u := e.opt.UBatch; u > 0 {
		return u * e.graph.MaxLen, u
	}
	tokens = max(e.opt.GroupTokens, e.graph.MaxLen)
	return tokens, min(e.opt.Batch, e.opt.GroupTokens)
}

// size is the bytes of an element of an input.
func (in Input) size() int64 {
	if in.Int64 {
		return 8
	}
	return 4
}

// open makes the stream, the session and the stations.
func (l *lane) open(c *cuda.Context) (err error) {
	if l.stream, err = c.NewStream(); err != nil {
		return err
	}
	if l.session, err = l.e.lib.session(&l.e.graph, l.e.opt, l.stream.Handle()); err != nil {
		return err
	}
	if l.placement, err = l.session.placement(l.e.graph.Shapes); err != nil {
		return err
	}
	tokens, rows := l.e.room()
	var at []int64
	total := int64(0)
	for _, in := range l.e.graph.Inputs {
		n := int64(tokens)
		if in.Role == Lengths {
			n = int64(rows)
		}
		at = append(at, total)
		total += (n*in.size() + 255) / 256 * 256
	}
	for i := range l.stations {
		s := &station{at: at}
		l.stations[i] = s
		var warning string
		if s.ids, warning, err = hostMemory(c, int(total), l.e.opt.Pageable); err != nil {
			return err
		}
		l.e.warn(warning)
		if s.inputs, err = c.Alloc(total); err != nil {
			return err
		}
		if s.out, err = c.Alloc(int64(rows * l.e.graph.Dim * l.e.graph.Elem.Size())); err != nil {
			return err
		}
		if err = s.marks.open(c); err != nil {
			return err
		}
	}
	return nil
}

// free gives everything back. The session goes first: it ends what it has on the stream.
func (l *lane) free(c *cuda.Context) error {
	var errs []error
	for _, r := range l.runs {
		l.session.unbind(r)
	}
	l.session.close()
	if l.stream != nil { // before the events that it may wait for
		errs = append(errs, c.Free(l.stream))
	}
	for _, s := range l.stations {
		if s == nil {
			continue
		}
		errs = append(errs, freeBuffers(c, s.inputs, s.out), s.ids.free(c), s.marks.free(c))
	}
	return errors.Join(errs...)
}

// serve takes groups until there are no more, and keeps as many on the device as there
// are stations.
func (l *lane) serve() {
	for {
		if len(l.flying) == stations {
			l.land()
			continue
		}
		if len(l.flying) == 0 {
			j, ok := <-l.e.slots.jobs
			if !ok {
				return
			}
			l.launch(j)
			continue
		}
		select {
		case j, ok := <-l.e.slots.jobs:
			if ok {
				l.launch(j)
				continue
			}
		default:
		}
		l.land()
	}
}

// launch puts a group on the device, unless its batch is given up.
func (l *lane) launch(j job) {
	if j.slot.cancel.Load() {
		l.finish(j.slot, engine.Work{}, nil)
		return
	}
	f := &flight{job: j, station: l.stations[l.next]}
	err := l.w.Do(func(c *cuda.Context) error { return l.give(c, f) })
	if err != nil {
		// What was given before the fault may read the station still.
		err = errors.Join(err, l.wait(func(c *cuda.Context) error { return errors.Join(c.Sync(l.e.copies), c.Sync(l.stream)) }))
		l.finish(j.slot, f.work, fmt.Errorf("encode %d rows of %d tokens on device %d: %w", j.g.n, j.g.longest, l.e.opt.Device, err))
		return
	}
	l.next = (l.next + 1) % stations
	l.flying = append(l.flying, f)
}

// wait has the lane's thread wait for the device. While a graph is captured nothing may.
func (l *lane) wait(do func(*cuda.Context) error) error {
	return l.w.Do(func(c *cuda.Context) error {
		if l.e.opt.Graphs {
			l.e.capture.RLock()
			defer l.e.capture.RUnlock()
		}
		return do(c)
	})
}

// land waits for the oldest group on the device.
func (l *lane) land() {
	f := l.flying[0]
	l.flying = append(l.flying[:0], l.flying[1:]...)
	g, s := f.job.g, f.job.slot
	var asked, done time.Duration
	err := l.wait(func(c *cuda.Context) (err error) {
		if err = c.SyncEvent(f.station.marks.done); err != nil {
			// The group may be on the device still, and its memory is used again.
			return errors.Join(err, c.Sync(l.stream))
		}
		asked, done, err = l.e.clock.count(c, &f.station.marks, g.n, f.work.Real, f.in, f.out)
		return err
	})
	if err != nil {
		l.finish(s, f.work, fmt.Errorf("encode %d rows of %d tokens on device %d: %w", g.n, g.longest, l.e.opt.Device, err))
		return
	}
	// Groups of a lane run one after another: this one's time began when the one before
	// it was done, or when its ids were asked for.
	each := int64(done-max(asked, l.last)) / int64(g.n)
	l.last = done
	s.charge(&f.work, g, each)
	l.finish(s, f.work, nil)
}

// finish counts a group off.
func (l *lane) finish(s *slot, w engine.Work, err error) {
	if !s.count(w, err) {
		return
	}
	if !s.cancel.Load() {
		l.e.clock.batch()
	}
	s.done <- struct{}{}
}

// shapeOf is the shape that a group runs in.
func (e *CUDAEncoder) shapeOf(g group) shape {
	if !e.opt.Graphs {
		return shape{g.n, e.sorter.top(g.longest)}
	}
	top := cmp.Or(engine.BucketTop(engine.Bucket(g.longest)), e.graph.MaxLen)
	return shape{e.opt.UBatch, min(top, e.graph.MaxLen)}
}

// give puts a group's ids, its run and the way of its rows into the streams.
func (l *lane) give(c *cuda.Context, f *flight) error {
	e, s, st, g := l.e, f.job.slot, f.station, f.job.g
	sh := e.shapeOf(g)
	order := s.of(g)
	f.work = e.graph.work(s.batch, order, sh)
	parts := make([][]byte, len(e.graph.Inputs))
	for i, in := range e.graph.Inputs {
		n := int64(sh.rows*sh.len) * in.size()
		if in.Role == Lengths {
			n = int64(sh.rows) * in.size()
		}
		parts[i] = st.ids.data[st.at[i] : st.at[i]+n]
		e.graph.fillInput(parts[i], in, s.batch, order, sh)
		f.in += n
	}
	r, err := l.run(l.next, sh)
	if err != nil {
		return err
	}
	m := &st.marks
	if err := c.Record(m.asked, e.copies); err != nil {
		return err
	}
	for i, part := range parts {
		if err := c.ToDevice(st.inputs.Slice(st.at[i], int64(len(part))), part, e.copies); err != nil {
			return err
		}
	}
	if err := errors.Join(c.Record(m.arrived, e.copies), c.Wait(l.stream, m.arrived), c.Record(m.begun, l.stream)); err != nil {
		return err
	}
	if err := l.start(r); err != nil {
		return err
	}
	if err := c.Record(m.ran, l.stream); err != nil {
		return err
	}
	if s.out.Host != nil {
		f.out = int64(len(order) * s.out.Dim * s.out.Type.Size())
	}
	if err := l.scatter(c, st, s, order); err != nil {
		return err
	}
	return c.Record(m.done, l.stream)
}

// start runs a shape; the first run of a captured one is alone on the device.
func (l *lane) start(r *deviceRun) error {
	lock, unlock := l.e.capture.RLock, l.e.capture.RUnlock
	if l.e.opt.Graphs && !r.captured {
		lock, unlock = l.e.capture.Lock, l.e.capture.Unlock
	}
	lock()
	defer unlock()
	err := l.session.run(r)
	r.captured = r.captured || err == nil
	return err
}

// run gives the bound run of a shape, making it the first time.
func (l *lane) run(i int, sh shape) (*deviceRun, error) {
	key := stationShape{i, sh}
	if r := l.runs[key]; r != nil {
		return r, nil
	}
	if len(l.runs) >= maxRuns && !l.e.opt.Graphs {
		for _, r := range l.runs {
			l.session.unbind(r)
		}
		clear(l.runs)
	}
	st, g := l.stations[i], &l.e.graph
	var tensors []tensor
	for k, in := range g.Inputs {
		t := tensor{name: in.Name, shape: []int64{int64(sh.rows), int64(sh.len)}, elem: typeInt32}
		n := int64(sh.rows*sh.len) * in.size()
		if in.Role == Lengths {
			t.shape, n = t.shape[:1], int64(sh.rows)*in.size()
		}
		if in.Int64 {
			t.elem = typeInt64
		}
		t.at = st.inputs.Slice(st.at[k], n)
		tensors = append(tensors, t)
	}
	tensors = append(tensors, tensor{name: g.Output, at: st.out.Slice(0, int64(sh.rows*g.Dim*g.Elem.Size())), shape: []int64{int64(sh.rows), int64(g.Dim)}, elem: elemType(g.Elem), output: true})
	graph := ""
	if l.e.opt.Graphs {
		graph = strconv.Itoa(len(l.runs) + 1)
	}
	r, err := l.session.bind(l.e.opt.Device, tensors, graph)
	if err != nil {
		return nil, err
	}
	l.runs[key] = r
	return r, nil
}

// scatter moves the group's rows to their places in the batch, neighbours at once.
func (l *lane) scatter(c *cuda.Context, st *station, s *slot, order []int32) error {
	size := int64(s.out.Dim * s.out.Type.Size())
	for i := 0; i < len(order); {
		n := 1
		for i+n < len(order) && order[i+n] == order[i]+int32(n) {
			n++
		}
		from, to, bytes := st.out.Slice(int64(i)*size, int64(n)*size), int64(order[i])*size, int64(n)*size
		var err error
		if s.out.Host != nil {
			err = c.ToHost(s.out.Host[to:to+bytes], from, l.stream)
		} else {
			err = c.Move(cuda.View(s.out.Dev+uintptr(to), bytes), from, l.stream)
		}
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

// fillInput writes one input of a group: its rows padded to the shape's length, and rows
// of one padding token up to the shape's.
func (g *Graph) fillInput(dst []byte, in Input, b *engine.Batch, order []int32, sh shape) {
	put := func(i int, v int32) {
		if in.Int64 {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(int64(v)))
		} else {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		}
	}
	for r := range sh.rows {
		ids, types := []int32{g.Pad}, []uint8(nil)
		if r < len(order) {
			row := order[r]
			ids = b.Row(int(row))
			if b.Types != nil {
				types = b.Types[b.Off[row]:b.Off[row+1]]
			}
		}
		if in.Role == Lengths {
			put(r, int32(len(ids)))
			continue
		}
		for i := range sh.len {
			v := int32(0)
			switch {
			case in.Role == IDs && i < len(ids):
				v = ids[i]
			case in.Role == IDs:
				v = g.Pad
			case in.Role == Mask && i < len(ids):
				v = 1
			case in.Role == Types && i < len(types):
				v = int32(types[i])
			}
			put(r*sh.len+i, v)
		}
	}
}
