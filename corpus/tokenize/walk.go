package tokenize

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// walk appends the ids of the items that start in the first blocks blocks of the
// chunk, whose text is s, which begins at base in the source.
//
// A NUL that clean_text leaves in the text must not be part of a key (see cache.go),
// which only walkSpans makes sure of.
func (t *wordPiece) walk(dst []int32, s []byte, blocks, base int) []int32 {
	if t.keep || !t.clean && bytes.IndexByte(s[:min(len(s), blocks*blockSize)], 0) >= 0 {
		return t.walkSpans(dst, s, blocks, base)
	}
	return t.walkIDs(dst, s, blocks, t)
}

// walker finds the ids of the items of a chunk in the caches.
type walker struct {
	cache *cache
	chunk chunk
}

// misses gives the ids of items that walkIDs does not find in the front slots of the
// cache.
type misses interface {
	// shortItem appends the ids of an item of up to 16 bytes, whose key is k0, k1.
	// low is run as it stands in the chunk.
	shortItem(dst []int32, run, low []byte, k0, k1 uint64) []int32
	// longItem appends the ids of the item of more than 16 bytes that s begins with,
	// at byte at of the chunk. A length beyond 64 says that it ends beyond the chunk,
	// or further away.
	longItem(dst []int32, s []byte, at, length int) []int32
}

// stored is the number of ids that a hit stores, whatever their number.
const stored = 4

// walkGeneric appends the ids of the items that start in the first blocks blocks
// of the chunk, whose text is s.
//
// Note: a hit stores four ids and then counts the ones that were real, so that
// neither their number nor the kind of item nor the length up to 16 bytes is a
// branch; white space is no item at all.
func (t *walker) walkGeneric(dst []int32, s []byte, blocks int, other misses) []int32 {
	cache, low := t.cache, &t.chunk.low
	for b := range blocks {
		starts, stops, beyond := t.chunk.starts[b], t.chunk.stops[b], t.chunk.stops[b+1]
		dst = slices.Grow(dst, stored*bits.OnesCount64(starts))
		out, n := dst[:cap(dst)], len(dst)
		for ; starts != 0; starts &= starts - 1 {
			i := bits.TrailingZeros64(starts)
			at, length := b*blockSize+i, itemLength(stops, beyond, i)
			if length <= shortKey {
				k0, k1 := shortKeyOf(low, at, length)
				slot := &cache.short[shortHash(k0, k1)][0]
				if slot.k0 == k0 && slot.k1 == k1 && slot.count <= stored {
					*(*[stored]int32)(out[n:]) = [stored]int32(slot.ids[:stored])
					n += int(slot.count)
					continue
				}
				dst = other.shortItem(out[:n], s[at:at+length], low[at:at+length], k0, k1)
			} else {
				dst = other.longItem(out[:n], s[at:], at, length)
			}
			dst = slices.Grow(dst, stored*bits.OnesCount64(starts))
			out, n = dst[:cap(dst)], len(dst)
		}
		dst = out[:n]
	}
	return dst
}

// itemLength gives the length of the item that starts at byte i of the block with
// these stops, where beyond are those of the next block, or 65 when it ends in
// neither.
func itemLength(stops, beyond uint64, i int) int {
	return 1 + bits.TrailingZeros64(stops>>(i&63)>>1|beyond<<(^i&63))
}

// shortKeyOf gives the cache key of the item of up to 16 bytes at byte at of the
// chunk.
func shortKeyOf(low *chunkText, at, length int) (k0, k1 uint64) {
	text, mask := low[at:at+shortKey], &keyMasks[length]
	return binary.LittleEndian.Uint64(text[:8]) & mask[0], binary.LittleEndian.Uint64(text[8:]) & mask[1]
}

// longKeyOf gives the cache key of the item of 17 to 32 bytes at byte at of the chunk.
func longKeyOf(low *chunkText, at, length int) [4]uint64 {
	text, mask := low[at:at+longKey], &keyMasks[length-shortKey]
	return [4]uint64{
		binary.LittleEndian.Uint64(text[:8]),
		binary.LittleEndian.Uint64(text[8:16]),
		binary.LittleEndian.Uint64(text[16:24]) & mask[0],
		binary.LittleEndian.Uint64(text[24:]) & mask[1],
	}
}

// keyMasks[n] keeps the first n bytes of 16.
var keyMasks = func() (m [shortKey + 1][2]uint64) {
	for n := range m {
		for i := range n {
			m[n][i/8] |= 0xFF << (i % 8 * 8)
		}
	}
	return m
}()

// walkSpans is walkGeneric that looks at every run before it asks the caches, so
// that controls are in no key, and where t.keep is set also appends the source range
// of every id to t.spans. s begins at base in the source.
func (t *wordPiece) walkSpans(dst []int32, s []byte, blocks, base int) []int32 {
	low := &t.chunk.low
	for b := range blocks {
		starts, stops, beyond := t.chunk.starts[b], t.chunk.stops[b], t.chunk.stops[b+1]
		for ; starts != 0; starts &= starts - 1 {
			i := bits.TrailingZeros64(starts)
			at, length := b*blockSize+i, itemLength(stops, beyond, i)
			if length > blockSize {
				length = max(1, runLength(s[at:]))
			}
			run := s[at : at+length]
			if !plainASCII(run) {
				// What is dropped at its ends belongs to no word.
				t.base = base + at
				dst = t.spell(dst, run)
				continue
			}
			from := len(dst)
			switch {
			case at+length > blocks*blockSize:
				dst = t.crossing(dst, run)
			case length > shortKey:
				dst = t.longItem(dst, run, at, length)
			default:
				k0, k1 := shortKeyOf(low, at, length)
				dst = t.shortItem(dst, run, low[at:at+length], k0, k1)
			}
			if t.keep {
				t.spans = appendSpan(t.spans, len(dst)-from, base+at, base+at+length)
			}
		}
	}
	return dst
}
