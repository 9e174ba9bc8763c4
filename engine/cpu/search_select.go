package cpu

import (
	"math"
	"slices"

	"encbench/engine"
)

// keyOf packs a score and a local row so that keys ascend where engine.Before
// descends. −0 and 0 are equal to Before, so they share a key, and who unpacks a 0
// has to ask the rule for its sign.
func keyOf(score float32, row uint32) uint64 {
	bits := math.Float32bits(score)
	switch {
	case score == 0:
		bits = 1 << 31
	case bits>>31 == 1:
		bits = ^bits
	default:
		bits |= 1 << 31
	}
	return uint64(^bits)<<32 | uint64(row)
}

// scoreOf is the score of a key.
func scoreOf(key uint64) float32 {
	bits := ^uint32(key >> 32)
	if bits>>31 == 1 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

// marks tells which documents were met; forgetting them all takes no time.
type marks struct {
	round uint32
	met   []uint32
}

// reset forgets, and makes room for n documents.
func (m *marks) reset(n uint32) {
	if m.round++; uint32(len(m.met)) < n || m.round == 0 {
		m.round, m.met = 1, make([]uint32, n)
	}
}

// first says whether document d is met for the first time since reset.
func (m *marks) first(d uint32) bool {
	if m.met[d] == m.round {
		return false
	}
	m.met[d] = m.round
	return true
}

// best gives the k least of the keys in order, and of a document's keys only the
// least; it works in place. s names the documents, w is scratch.
func best(keys []uint64, k int, s *store, w *worker) []uint64 {
	if s.owner == nil {
		if len(keys) > k {
			keys = leastKeys(keys, k)
		}
		w.sortKeys(keys)
		return keys
	}
	w.sortKeys(keys)
	w.marks.reset(s.documents)
	out := keys[:0]
	for _, key := range keys {
		if len(out) < k && w.marks.first(s.owner[uint32(key)]) {
			out = append(out, key)
		}
	}
	return out
}

// leastKeys moves the k least keys to the front and gives them, in no order: Hoare's
// selection, the pivot being the median of three.
func leastKeys(keys []uint64, k int) []uint64 {
	for lo, hi := 0, len(keys)-1; lo < hi; {
		pivot := max(min(keys[lo], keys[hi]), min(max(keys[lo], keys[hi]), keys[(lo+hi)/2]))
		i, j := lo, hi
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			lo = hi
		}
	}
	return keys[:k]
}

// radixKeys is the number of keys from which a radix sort is faster.
const radixKeys = 192

// sortKeys sorts: many keys by the bytes of their scores, last byte first (an LSD
// radix sort), keys of one score by comparison.
func (w *worker) sortKeys(keys []uint64) {
	if len(keys) < radixKeys {
		slices.Sort(keys)
		return
	}
	var count [4][256]uint32
	for _, key := range keys {
		count[0][key>>32&255]++
		count[1][key>>40&255]++
		count[2][key>>48&255]++
		count[3][key>>56]++
	}
	w.spare = resize(w.spare, len(keys))
	from, to := keys, w.spare
	for b := range count {
		shift, c := 32+8*b, &count[b]
		if int(c[from[0]>>shift&255]) == len(keys) {
			continue // all alike in this byte
		}
		sum := uint32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, key := range from {
			place := &c[key>>shift&255]
			to[*place] = key
			*place++
		}
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
	for i := 0; i < len(keys); {
		run := i + 1
		for run < len(keys) && keys[run]>>32 == keys[i]>>32 {
			run++
		}
		if run > i+1 {
			slices.Sort(keys[i:run])
		}
		i = run
	}
}

// collector keeps the best rows of one query out of all that are offered, rows
// ascending.
type collector struct {
	k     int
	limit int // of keys, before they are reduced
	bound float32
	full  bool // bound is the score of the last place: only a greater one gets in
	keys  []uint64
}

func newCollector(k, rows int) *collector {
	return &collector{k: k, limit: 2*min(k, rows) + 1024}
}

// offer takes the scores of the rows from row on.
func (c *collector) offer(scores []float32, row int, s *store, w *worker) {
	for i, v := range scores {
		if c.full && !(v > c.bound) {
			continue
		}
		if c.keys = append(c.keys, keyOf(v, uint32(row+i))); len(c.keys) >= c.limit {
			c.reduce(s, w)
		}
	}
}

// reduce drops what cannot be among the k best.
func (c *collector) reduce(s *store, w *worker) {
	if s.owner == nil {
		if len(c.keys) > c.k {
			c.keys = leastKeys(c.keys, c.k)
		}
	} else {
		c.keys = best(c.keys, c.k, s, w)
	}
	if len(c.keys) == c.k {
		c.full, c.bound = true, scoreOf(slices.Max(c.keys))
	}
	c.limit = max(c.limit, 2*len(c.keys))
}

// fill writes sorted keys as the hits of query n.
func (s *Searcher) fill(dst *engine.Hits, n int, keys []uint64, q *queries) {
	at := n * dst.K
	for i, key := range keys {
		row, score := uint32(key), scoreOf(key)
		if score == 0 {
			score = s.scoreOne(q, n, int(row))
		}
		dst.Row[at+i], dst.Score[at+i] = s.rows.number(row), score
	}
}
