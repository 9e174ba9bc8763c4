//go:build !noasm

package vec

// hasAVX512 and hasAVX2 say that the CPU has the instructions used here and that
// the system saves their registers.
var hasAVX512, hasAVX2 = cpuHas()

// cpuHas asks for AVX512F and DQ, and for AVX2 and BMI1; both with POPCNT.
func cpuHas() (avx512, avx2 bool)

func (s *Set) filter(dst, ids []int32) int {
	switch {
	case hasAVX512:
		whole := len(ids) &^ 15
		return filterGeneric(dst, filterAVX512(dst, ids[:whole], &s.wide), ids, whole, s.wide[:])
	case hasAVX2:
		whole := len(ids) &^ 7
		return filterGeneric(dst, filterAVX2(dst, ids[:whole], &s.narrow), ids, whole, s.narrow[:])
	}
	return filterGeneric(dst, 0, ids, 0, s.wide[:])
}

// filterAVX512 is filterGeneric for a multiple of 16 ids.
//
//go:noescape
func filterAVX512(dst, ids []int32, words *[64]uint32) int

// filterAVX2 is filterGeneric for a multiple of 8 ids.
//
//go:noescape
func filterAVX2(dst, ids []int32, words *[32]uint32) int
