package stat

// The generator is SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom
// Number Generators, 2014) read as a counter: word j of a stream is a function of
// the stream's key and j. It needs no state, so a kernel may take the words in the
// order that suits its cache, and it inlines. Note: math/rand/v2's PCG and ChaCha8
// were set aside: neither gives word j alone, and a call for each word took longer
// than the sums.

const golden = 0x9e3779b97f4a7c15

// Purposes keep the streams of one seed apart.
const (
	purposeBootstrap = 0x626f6f74
	purposeFlip      = 0x666c6970
)

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// streamKey is the key of replicate r.
func streamKey(seed, purpose uint64, r int) uint64 {
	return mix(mix(mix(seed+golden)^purpose) + uint64(r)*golden)
}

// word is word j of the stream of a key.
func word(key uint64, j int) uint64 { return mix(key + uint64(j+1)*golden) }
