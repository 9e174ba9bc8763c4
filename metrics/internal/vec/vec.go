// Package vec holds the vector code of package metrics: a filter that finds, among
// many ranked documents, the few that may be judged.
//
// The plain Go code defines the answer. On amd64, unless built with the tag noasm,
// assembly for AVX-512 or AVX2 takes its place where the CPU has it; the tests hold
// the two together. The package knows nothing of measures, and its answer is an
// upper bound: a caller looks at each document that passed.
package vec

// A document's hash is its number times Multiplier; the highest bits choose a
// word of a filter, those below two bits of the word.
const Multiplier = 0x9E3779B1 // 2^32 over the golden ratio, odd

const (
	wordShift = 32 - 6
	bitShift  = wordShift - 5
	bit2Shift = bitShift - 5

	// Slack is the number of places beyond the answer that Filter may write to.
	Slack = 16
)

// Set is a set of numbers as a Bloom filter whose two bits for a number lie in one
// word. The zero value is empty. It lies in vector registers while ids pass by, so
// its size is fixed: 2,048 bits, 1,024 with AVX2. Of the numbers that are not
// members 0.2 % pass with 25 members, 4 % with 200.
//
// Note: with one bit a number 1.2 % and 9 % passed, and the branch on what they
// turned out to be took longer than the second bit does.
type Set struct {
	wide   [64]uint32
	narrow [32]uint32 // each word the union of two wide ones
}

// Reset empties the set.
func (s *Set) Reset() { *s = Set{} }

// Add puts a number in.
func (s *Set) Add(id int32) {
	h := uint32(id) * Multiplier
	// The bits that come to stand highest when the word is turned left.
	bits := uint32(1)<<(31-h>>bitShift&31) | 1<<(31-h>>bit2Shift&31)
	s.wide[h>>wordShift] |= bits
	s.narrow[h>>wordShift&31] |= bits
}

// Filter writes the places in ids, ascending, of all numbers that are in the set
// and of few others, and gives how many these are. dst must have Slack places
// more than ids.
func (s *Set) Filter(dst, ids []int32) int {
	if len(dst) < len(ids)+Slack {
		panic("vec: no room for the places of all ids")
	}
	return s.filter(dst, ids)
}

// filterGeneric is Filter from ids[from] on, after n places were written. The
// number of words is a power of two.
func filterGeneric(dst []int32, n int, ids []int32, from int, words []uint32) int {
	mask := uint32(len(words) - 1)
	for i := from; i < len(ids); i++ {
		h := uint32(ids[i]) * Multiplier
		w := words[h>>wordShift&mask]
		if int32(w<<(h>>bitShift&31)&(w<<(h>>bit2Shift&31))) < 0 {
			dst[n] = int32(i)
			n++
		}
	}
	return n
}
