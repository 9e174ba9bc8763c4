package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// maxDigits is the longest run of digits that a key holds beside its length.
const maxDigits = 17

var pow10 = func() (p [maxDigits + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// A digit dictionary holds identifiers that are a common prefix and up to width
// digits, leading zeros or none. The digits, filled up with zeros on the right to
// width, make a number, and numbers and lengths are ordered as the identifiers
// are by bytes. The gaps between numbers are packed; the length follows from the
// number unless that ends in 0, and then the count of zeros that were filled in is
// a byte of another column.

// digitKey gives number<<5 | length for an identifier without its prefix; false
// when it holds something else than up to width digits.
func digitKey(rest []byte, width int) (uint64, bool) {
	if len(rest) > width {
		return 0, false
	}
	n := uint64(0)
	for _, c := range rest {
		if c-'0' > 9 {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n*pow10[width-len(rest)]<<5 | uint64(len(rest)), true
}

// appendDigitColumns appends to gaps and strips what the ascending keys come to.
func appendDigitColumns(gaps []uint64, strips []byte, keys []uint64, width int) ([]uint64, []byte) {
	last := uint64(0)
	for _, key := range keys {
		n := key >> 5
		gaps = append(gaps, n-last)
		last = n
		if n%10 == 0 {
			strips = append(strips, byte(width-int(key&31)))
		}
	}
	return gaps, strips
}

// digitWriter spells the identifiers of a digit dictionary.
type digitWriter struct {
	prefix []byte
	width  int
}

// keys turns the gaps, in place, into the keys that digitKey gives, and gives the
// bytes that all identifiers take. Anything that no writer makes is an error.
func (d digitWriter) keys(gaps []uint64, strips []byte) (int, error) {
	var (
		size  = 0
		n     = uint64(0)
		last  = -1 // digits of the identifier before
		limit = pow10[d.width]
	)
	for i, gap := range gaps {
		n += gap
		if n >= limit || gap >= limit {
			return 0, fmt.Errorf("document %d has more than %d digits", i, d.width)
		}
		digits := d.width
		if n%10 == 0 {
			if len(strips) == 0 {
				return 0, fmt.Errorf("document %d lacks its length", i)
			}
			strip := int(strips[0])
			strips = strips[1:]
			if strip > d.width || n%pow10[strip] != 0 {
				return 0, fmt.Errorf("document %d of %d digits cannot have lost %d", i, d.width, strip)
			}
			digits -= strip
		}
		if gap == 0 && digits <= last {
			return 0, fmt.Errorf("document %d is out of order", i)
		}
		last = digits
		gaps[i] = n<<5 | uint64(digits)
		size += digits
	}
	if len(strips) > 0 {
		return 0, fmt.Errorf("%d lengths of documents are left over", len(strips))
	}
	if len(d.prefix) == 0 && len(gaps) > 0 && gaps[0]&31 == 0 {
		return 0, fmt.Errorf("document 0 is empty")
	}
	return size + len(gaps)*len(d.prefix), nil
}

// write fills start and end, and buf, with the identifiers of keys. buf has room for
// the identifiers and, behind them, for the prefix and maxDigits more.
func (d digitWriter) write(buf []byte, start, end []uint32, keys []uint64) {
	// Up to eight digits, and up to eight bytes of prefix, are one store each.
	short := uint(8 * (8 - min(d.width, 8)))
	var prefix [8]byte
	copy(prefix[:], d.prefix)
	prefix8 := binary.LittleEndian.Uint64(prefix[:])
	start, end = start[:len(keys)], end[:len(keys)]
	at := 0
	for i, key := range keys {
		start[i] = uint32(at)
		if len(d.prefix) <= 8 {
			binary.LittleEndian.PutUint64(buf[at:], prefix8)
		} else {
			copy(buf[at:], d.prefix)
		}
		at += len(d.prefix)
		if d.width <= 8 {
			binary.LittleEndian.PutUint64(buf[at:], eightDigits(key>>5)>>short)
		} else {
			spell(buf[at:at+d.width], key>>5)
		}
		at += int(key & 31)
		end[i] = uint32(at)
	}
}

// digitDictionary is a ranking.Dictionary of ascending keys: whoever looks a few
// identifiers up need not spell them all, which was a third of reading a run.
type digitDictionary struct {
	digitWriter
	list []uint64
}

func (d *digitDictionary) Len() int { return len(d.list) }

func (d *digitDictionary) Find(id []byte) (code int, ok bool) {
	rest, ok := bytes.CutPrefix(id, d.prefix)
	if !ok {
		return 0, false
	}
	key, ok := digitKey(rest, d.width)
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(d.list, key)
}

func (d *digitDictionary) At(code int) []byte {
	key := d.list[code]
	id := append([]byte(nil), d.prefix...)
	id = append(id, make([]byte, d.width)...)
	spell(id[len(d.prefix):], key>>5)
	return id[:len(d.prefix)+int(key&31)]
}

// spell fills b with the digits of n.
func spell(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// eightDigits gives the eight digits of n < 10^8 as the bytes of a little-endian
// word: four, two and then one digit a lane are split off by multiplications with
// a rounded reciprocal, all lanes at once.
func eightDigits(n uint64) uint64 {
	n32 := uint32(n)
	hi := n32 / 10000
	v := uint64(hi) | uint64(n32-10000*hi)<<32
	t := v * 10486 >> 20 & 0x7f0000007f // lanes of up to 9999, divided by 100
	v = t | (v-100*t)<<16
	t = v * 103 >> 10 & 0x000f000f000f000f // lanes of up to 99, divided by 10
	v = t | (v-10*t)<<8
	return v + 0x3030303030303030
}

// keyed is a row and the key of its document.
type keyed struct {
	key uint64
	row int32
}

// sortKeyed sorts by key with passes of 11 bits; spare has the length of rows. It
// gives the sorted rows, which lie in one of the two, and the other.
func sortKeyed(rows, spare []keyed) (sorted, rest []keyed) {
	all := uint64(0)
	for _, r := range rows {
		all |= r.key
	}
	const digit = 11
	var count [1 << digit]uint32
	for shift := 0; shift < bits.Len64(all); shift += digit {
		clear(count[:])
		for _, r := range rows {
			count[r.key>>shift%(1<<digit)]++
		}
		sum := uint32(0)
		for i, c := range count {
			count[i] = sum
			sum += c
		}
		for _, r := range rows {
			at := &count[r.key>>shift%(1<<digit)]
			spare[*at] = r
			*at++
		}
		rows, spare = spare, rows
	}
	return rows, spare
}
