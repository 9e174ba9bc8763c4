//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"errors"

	"encbench/cuda"
)

// slot is where a streamed block lies while it is searched.
type slot struct {
	at             *place
	began, filled  *cuda.Event // of the copy
	emptied        *cuda.Event // the search is done with it
	used, pageable bool
	block          *block
	copied         int64
}

// openSlots allocates the slots, once.
func (s *shard) openSlots(c *cuda.Context) error {
	for len(s.slots) < s.plan.Slots {
		sl, err := s.newSlot(c)
		if err != nil {
			return err
		}
		s.slots = append(s.slots, sl)
	}
	return nil
}

func (s *shard) newSlot(c *cuda.Context) (sl *slot, err error) {
	sl = &slot{}
	if sl.at, err = s.newPlace(c, s.plan.BlockRows); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		to    **cuda.Event
		timed bool
	}{{&sl.began, true}, {&sl.filled, true}, {&sl.emptied, false}} {
		if *e.to, err = c.NewEvent(e.timed); err != nil {
			return nil, errors.Join(err, sl.free(c))
		}
	}
	return sl, nil
}

func (sl *slot) free(c *cuda.Context) error {
	err := sl.at.free(c)
	for _, e := range []*cuda.Event{sl.began, sl.filled, sl.emptied} {
		if e != nil {
			err = errors.Join(err, c.Free(e))
		}
	}
	return err
}

// fetch begins the copy of a block on the host into a slot, behind the search of what
// lies in there.
func (s *shard) fetch(c *cuda.Context, sl *slot, b *block) error {
	n := s.appended(b)
	if sl.used {
		if err := c.Wait(s.feed, sl.emptied); err != nil {
			return err
		}
	}
	if err := c.Record(sl.began, s.feed); err != nil {
		return err
	}
	sl.block, sl.copied, sl.pageable = b, 0, b.host.memory.pinned == nil
	for _, part := range []struct {
		to   *cuda.Buffer
		from []byte
	}{{sl.at.rows, b.host.rows}, {sl.at.norms, b.host.norms}, {sl.at.extra, b.host.extra}} {
		bytes := n * int64(len(part.from)) / b.room
		if bytes == 0 {
			continue
		}
		if err := c.ToDevice(part.to, part.from[:bytes], s.feed); err != nil {
			return err
		}
		sl.copied += bytes
	}
	return c.Record(sl.filled, s.feed)
}

// stream searches the blocks on the host one after another. With two slots the copy of the next one
// runs under the search of this one.
func (s *shard) stream(c *cuda.Context, p *passing, blocks []*block, begun int) error {
	for i, b := range blocks {
		for ; begun < len(blocks) && begun < i+max(1, len(s.slots)); begun++ {
			if err := s.fetch(c, s.slots[begun%len(s.slots)], blocks[begun]); err != nil {
				return err
			}
		}
		sl := s.slots[i%len(s.slots)]
		if err := c.Wait(s.work, sl.filled); err != nil {
			return err
		}
		n := s.appended(b)
		at := sl.at.slice(0, n)
		if err := s.over(c, p, at, b.first, n, true); err != nil {
			return err
		}
		sl.used = true
		if err := c.Record(sl.emptied, s.work); err != nil {
			return err
		}
		// The search was waited for, and it waited for the copy.
		took, err := c.Elapsed(sl.began, sl.filled)
		if err != nil {
			return err
		}
		s.stats.Blocks++
		s.stats.In.Bytes += sl.copied
		s.stats.In.Time += took
		if sl.pageable {
			s.stats.Pageable += sl.copied
		}
	}
	return nil
}
