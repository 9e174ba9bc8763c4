//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"encbench/cuda"
	"encbench/engine"
)

// Searcher finds the exact best rows on one or more devices. It is safe to call from
// several goroutines; calls wait for each other.
type Searcher struct {
	opt       Options
	shards    []*shard
	documents bool // some rows are of named documents

	mu     sync.Mutex
	closed bool
	rows   int64
	next   int64 // the least number of the next rows
	stats  Stats
}

var _ engine.Searcher = (*Searcher)(nil)

// New opens a search over devices, which the Searcher does not close. Every device holds a
// share of the rows.
func New(opt Options, devices ...*cuda.Worker) (*Searcher, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("open a search: %w", err)
	}
	if len(devices) == 0 {
		return nil, errors.New("open a search: expected one device or more, found none")
	}
	s := &Searcher{opt: opt}
	for _, w := range devices {
		sh, err := openShard(w, opt, len(devices))
		if err != nil {
			return nil, fmt.Errorf("open a search: %w", errors.Join(err, s.Close()))
		}
		s.shards = append(s.shards, sh)
	}
	return s, nil
}

// Close frees everything on the devices.
func (s *Searcher) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.each(func(sh *shard) error { return sh.close() })
	s.rows, s.closed = 0, true
	return err
}

// each runs f for all shards at a time and waits for all, whichever fails.
func (s *Searcher) each(f func(*shard) error) error {
	errs := make([]error, len(s.shards))
	var group sync.WaitGroup
	for i, sh := range s.shards {
		group.Go(func() { errs[i] = f(sh) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// errClosed is the error of a Searcher that is closed.
var errClosed = errors.New("it is closed")

// leastDeal is the fewest rows that are worth a device of their own.
const leastDeal = 256

// Append adds rows; see engine.Searcher. They are copied. Rows on a device go to that
// device, which must be one of the search; they must be complete, as no stream is waited
// for, and stay until Append returns.
func (s *Searcher) Append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.append(ctx, base, owner, r); err != nil {
		return fmt.Errorf("append rows to a search: %w", err)
	}
	return nil
}

func (s *Searcher) append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	if s.closed {
		return errClosed
	}
	if err := r.Check(s.opt.Dim); err != nil {
		return err
	}
	elem := s.stored(r.Type)
	switch {
	case base < 0:
		return fmt.Errorf("expected a first row of 0 or more, found %d", base)
	case owner != nil && len(owner) != r.N:
		return fmt.Errorf("expected one document for each of %d rows, found %d", r.N, len(owner))
	case base < s.next:
		return fmt.Errorf("blocks must ascend: expected a first row of %d or more, found %d", s.next, base)
	case s.rows > 0 && elem != s.shards[0].elem:
		return fmt.Errorf("expected rows of %s like those before, found %s; set the type to store", nameOf(s.shards[0].elem), nameOf(elem))
	case r.N > 0 && r.Host == nil && r.Type != engine.F32 && r.Type != elem:
		return fmt.Errorf("rows of %s on a device are not converted to %s there; copy them to the host first", nameOf(r.Type), nameOf(elem))
	}
	if err := ctx.Err(); err != nil || r.N == 0 {
		return err
	}
	if s.rows == 0 {
		for _, sh := range s.shards {
			if sh.elem != elem && (sh.blocks != nil || sh.slots != nil) {
				return fmt.Errorf("expected rows of %s, found %s: rows of that type were refused before; open another search", nameOf(sh.elem), nameOf(elem))
			}
			sh.planned = sh.planned && sh.elem == elem // a plan is of rows of one type
			sh.elem = elem
			if sh.measure.copies = (rounding{}); elem == engine.F32 {
				sh.measure.copies = toFloat16
			}
		}
	}
	parts, err := s.deal(r)
	if err != nil {
		return err
	}
	made := make([]pending, len(s.shards))
	err = s.each(func(sh *shard) (err error) {
		i := slices.Index(s.shards, sh)
		if parts[i].n > 0 {
			made[i], err = sh.load(ctx, r, parts[i].from, parts[i].n)
		}
		if err != nil && !errors.Is(err, errRefused) {
			err = fmt.Errorf("device %d: %w", sh.w.Info().Ordinal, err)
		}
		return err
	})
	if errors.Is(err, errRefused) {
		return s.refused(base, r, made)
	}
	if err != nil {
		return err
	}
	for i, sh := range s.shards {
		if p := parts[i]; p.n > 0 {
			var of []int32
			if owner != nil {
				of = owner[p.from : p.from+p.n]
			}
			sh.commit(made[i], base+int64(p.from), s.rows+int64(p.from), of)
		}
	}
	s.documents = s.documents || owner != nil
	s.rows += int64(r.N)
	s.next = base + int64(r.N)
	return nil
}

// stored is the type that rows of a type are kept in.
func (s *Searcher) stored(given engine.Elem) engine.Elem {
	switch s.opt.Store {
	case engine.StoreF32:
		return engine.F32
	case engine.StoreF16:
		return engine.F16
	case engine.StoreBF16:
		return engine.BF16
	}
	return given
}

func nameOf(e engine.Elem) engine.Store {
	return map[engine.Elem]engine.Store{engine.F32: engine.StoreF32, engine.F16: engine.StoreF16, engine.BF16: engine.StoreBF16}[e]
}

// share is the part of a block that a shard gets.
type share struct{ from, n int }

// deal gives each shard its part of a block: the one with the fewest rows is the first.
func (s *Searcher) deal(r engine.Rows) ([]share, error) {
	parts := make([]share, len(s.shards))
	order := make([]int, len(s.shards))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.shards[a].rows, s.shards[b].rows) })
	if r.Host == nil {
		i := slices.IndexFunc(s.shards, func(sh *shard) bool { return sh.w.Info().Ordinal == r.Device })
		if i < 0 {
			return nil, fmt.Errorf("the rows are on device %d, the search on %s; copy them to the host first", r.Device, s.names())
		}
		order = []int{i}
	}
	each := max((r.N+len(order)-1)/len(order), leastDeal)
	for from := 0; from < r.N; from += each {
		i := order[from/each]
		if parts[i] = (share{from, min(each, r.N-from)}); s.shards[i].rows+int64(parts[i].n) >= anyRows {
			return nil, fmt.Errorf("expected %d rows at most on a device, found %d", int64(anyRows)-1, s.shards[i].rows+int64(parts[i].n))
		}
	}
	return parts, nil
}

func (s *Searcher) names() string {
	var names []string
	for _, sh := range s.shards {
		names = append(names, fmt.Sprintf("device %d", sh.w.Info().Ordinal))
	}
	return strings.Join(names, ", ")
}

// refused says which row cannot be stored.
func (s *Searcher) refused(base int64, r engine.Rows, made []pending) error {
	if r.Host == nil {
		for _, p := range made {
			if p.bad >= 0 {
				return fmt.Errorf("row %d: a value is no number, infinite, or too large for %s; rows must be finite: leave this one out, or correct its encoder", base+p.bad, nameOf(s.shards[0].elem))
			}
		}
	}
	if i, j, v := notFinite(r); i >= 0 {
		return fmt.Errorf("row %d: value %d is %v; rows must be finite: leave this one out, or correct its encoder", base+int64(i), j, v)
	}
	elem := s.shards[0].elem
	buf := make([]float32, r.Dim)
	for i := range r.N {
		for j, v := range r.Widen(buf, i) {
			y := engine.BF16ToF32(engine.F32ToBF16(v))
			if elem == engine.F16 {
				y = engine.F16ToF32(engine.F32ToF16(v))
			}
			if y-y != 0 {
				return fmt.Errorf("row %d: value %d is %v, too large for %s; store float32", base+int64(i), j, v, nameOf(elem))
			}
		}
	}
	return fmt.Errorf("rows from %d on: the device found a value that is not finite, the host none; is the device's memory in order?", base)
}

// notFinite gives the place and value of the first NaN or infinity, row −1 where there is
// none.
func notFinite(r engine.Rows) (row, at int, v float32) {
	buf := make([]float32, r.Dim)
	for i := range r.N {
		for j, v := range r.Widen(buf, i) {
			if v-v != 0 {
				return i, j, v
			}
		}
	}
	return -1, 0, 0
}

// Search fills dst; see engine.Searcher. Where a device fails the others finish, and the
// error names the device.
func (s *Searcher) Search(ctx context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := q.Check(s.opt.Dim)
	switch {
	case s.closed:
		err = errClosed
	case err != nil:
	case q.N > 0 && q.Host == nil:
		err = fmt.Errorf("expected rows in host memory, found rows on device %d; copy them first", q.Device)
	case k < 1:
		err = fmt.Errorf("expected k of 1 or more, found %d", k)
	default:
		if i, j, v := notFinite(q); i >= 0 {
			err = fmt.Errorf("query %d: value %d is %v; queries must be finite", i, j, v)
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	got := make([][][]placed, len(s.shards))
	err = s.each(func(sh *shard) (err error) {
		if got[slices.Index(s.shards, sh)], err = sh.search(ctx, q, k, s.documents); err != nil {
			err = fmt.Errorf("device %d: %w", sh.w.Info().Ordinal, err)
		}
		return err
	})
	s.stats = Stats{Device: -1}
	for _, sh := range s.shards {
		s.stats.add(sh.stats)
	}
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	dst.Reset(q.N, k)
	for n := range q.N {
		s.merge(got, n, dst)
	}
	return nil
}

// merge fills the places of a query with the best of all shards.
func (s *Searcher) merge(got [][][]placed, query int, dst *engine.Hits) {
	var all []placed
	for _, g := range got {
		all = append(all, g[query]...)
	}
	if len(got) > 1 {
		slices.SortFunc(all, func(a, b placed) int {
			if engine.Before(a.score, a.row, b.score, b.row) {
				return -1
			}
			return 1
		})
	}
	var seen map[int64]bool
	if s.documents {
		seen = make(map[int64]bool, len(all))
	}
	at := query * dst.K
	for _, h := range all {
		if at == (query+1)*dst.K {
			return
		}
		if s.documents {
			if seen[h.document] {
				continue
			}
			seen[h.document] = true
		}
		dst.Row[at], dst.Score[at] = h.row, h.score
		at++
	}
}

// Rows gives the number of rows.
func (s *Searcher) Rows() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// Stats tells how the latest Search went about it, on all devices together.
func (s *Searcher) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Device is what a report tells of one device of a search.
type Device struct {
	Ordinal  int
	Rows     int64
	Plan     Plan     // of its memory; zero before the first row
	Appended Transfer // rows that came from the host, all together
	Last     Stats    // of the latest Search
	Warnings []string // since the search was opened
}

// Devices describes the devices.
func (s *Searcher) Devices() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Device
	for _, sh := range s.shards {
		out = append(out, Device{sh.w.Info().Ordinal, sh.rows, sh.plan, sh.loaded, sh.stats, slices.Clone(sh.warnings)})
	}
	return out
}
