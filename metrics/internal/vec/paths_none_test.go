//go:build !amd64 || noasm

package vec

func paths(s *Set, ids []int32) map[string]path {
	return map[string]path{"dispatched": {func(dst []int32) int { return s.Filter(dst, ids) }, s.wide[:]}}
}
