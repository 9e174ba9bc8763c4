package run

import (
	"encoding/binary"
	"math/bits"
)

// blockLen is the number of integers that share a width.
const blockLen = 32

// A packed list of n integers is a byte for each block of blockLen, the width of
// its largest, followed by the blocks: integers of that many bits end to end, low
// bits first, each block filled up to a whole byte.
//
// Note: 32 is best for gaps between sorted values, whose largest of n lies
// log2(ln n + 0.58) bits above their mean; blocks of 128 took 0.2 bits a row more.

// packedSize gives the bytes of a packed list of values.
func packedSize(values []uint64) int {
	size := 0
	for len(values) > 0 {
		block := values[:min(blockLen, len(values))]
		size += 1 + (len(block)*width(block)+7)/8
		values = values[len(block):]
	}
	return size
}

// width gives the bits of the largest value.
func width(values []uint64) int {
	all := uint64(0)
	for _, v := range values {
		all |= v
	}
	return bits.Len64(all)
}

// appendPacked appends the packed list of values.
func appendPacked(dst []byte, values []uint64) []byte {
	for i := 0; i < len(values); i += blockLen {
		dst = append(dst, byte(width(values[i:min(i+blockLen, len(values))])))
	}
	for len(values) > 0 {
		block := values[:min(blockLen, len(values))]
		dst = appendBits(dst, block, width(block))
		values = values[len(block):]
	}
	return dst
}

// appendBits appends values of w bits each, filled up to a whole byte.
func appendBits[T uint64 | int32](dst []byte, values []T, w int) []byte {
	if w == 0 {
		return dst
	}
	acc, n := uint64(0), 0
	for _, v := range values {
		acc |= uint64(v) << n
		if n += w; n >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			n -= 64
			acc = uint64(v) >> (w - n)
		}
	}
	for ; n > 0; n -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// slack is what a reader of packed bits may touch behind them: they are loaded
// eight bytes at a time.
const slack = 8

// unpack fills dst from the packed list that b[at:end] begins with and gives the
// place behind it; false when b[at:end] is too short or a width is above 64. b has
// at least slack bytes behind end.
func unpack(dst []uint64, b []byte, at, end int) (int, bool) {
	blocks := (len(dst) + blockLen - 1) / blockLen
	if end-at < blocks {
		return 0, false
	}
	widths := b[at : at+blocks]
	at += blocks
	for _, w := range widths {
		block := dst[:min(blockLen, len(dst))]
		dst = dst[len(block):]
		size := (len(block)*int(w) + 7) / 8
		if w > 64 || end-at < size {
			return 0, false
		}
		unpackBlock(block, b[at:at+size+slack], uint(w))
		at += size
	}
	return at, true
}

// unpackBlock fills dst with values of w bits, up to 64; src has slack bytes more.
func unpackBlock(dst []uint64, src []byte, w uint) {
	pos := uint(0)
	switch mask := uint64(1)<<w - 1; {
	case w == 0:
		clear(dst)
	case w <= 57: // and up to 7 bits before it lie in one load
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7) & mask
			pos += w
		}
	default:
		for i := range dst {
			v := binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7)
			if over := pos&7 + w; over > 64 {
				v |= uint64(src[pos>>3+8]) << (64 - pos&7)
			}
			dst[i] = v & mask
			pos += w
		}
	}
}

// unpackCodes fills dst with values of w bits, up to 31, that lie end to end, and
// gives the largest; src has slack bytes more.
func unpackCodes(dst []int32, src []byte, w uint) int32 {
	pos, mask, top := uint(0), uint64(1)<<w-1, int32(0)
	for i := range dst {
		v := int32(binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7) & mask)
		dst[i] = v
		top = max(top, v)
		pos += w
	}
	return top
}

// zigzag maps signed numbers of small size to small unsigned ones.
func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
