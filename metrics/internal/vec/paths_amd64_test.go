//go:build !noasm

package vec

// paths lists the assembly that this CPU can run.
func paths(s *Set, ids []int32) map[string]path {
	list := map[string]path{"dispatched": {func(dst []int32) int { return s.Filter(dst, ids) }, s.wide[:]}}
	if hasAVX2 {
		list["AVX2"] = path{func(dst []int32) int {
			whole := len(ids) &^ 7
			return filterGeneric(dst, filterAVX2(dst, ids[:whole], &s.narrow), ids, whole, s.narrow[:])
		}, s.narrow[:]}
	}
	if hasAVX2 && !hasAVX512 {
		list["dispatched"] = path{list["dispatched"].filter, s.narrow[:]}
	}
	if hasAVX512 {
		list["AVX-512"] = path{func(dst []int32) int {
			whole := len(ids) &^ 15
			return filterGeneric(dst, filterAVX512(dst, ids[:whole], &s.wide), ids, whole, s.wide[:])
		}, s.wide[:]}
	}
	return list
}
