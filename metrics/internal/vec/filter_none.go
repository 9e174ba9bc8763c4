//go:build !amd64 || noasm

package vec

func (s *Set) filter(dst, ids []int32) int { return filterGeneric(dst, 0, ids, 0, s.wide[:]) }
