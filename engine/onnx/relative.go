package onnx

import "math"

// relativeBias is what every layer adds to its scores, [1, heads, len, len]: one row
// of the table for each distance, looked up for all pairs of tokens, once a run.
func (e *encoder) relativeBias() string {
	r := e.m.RelativeBias
	return e.once("relative", func(name string) string {
		at := e.positions()
		distance := e.op(name+".distance", "Sub", []string{
			e.op(name+".keys", "Unsqueeze", []string{at, e.list(0)}), e.op(name+".queries", "Unsqueeze", []string{at, e.list(1)}),
		})
		// Beyond MaxDistance all are one bucket, so the list of buckets is finite.
		far := int64(r.MaxDistance)
		near := e.op(name+".near", "Clip", []string{distance, e.number(-far), e.number(far)})
		place := e.op(name+".place", "Add", []string{near, e.number(far)})
		var buckets []int64
		for d := -r.MaxDistance; d <= r.MaxDistance; d++ {
			buckets = append(buckets, int64(bucket(d, r.Table.Rows, r.MaxDistance)))
		}
		bias := e.op(name+".table", "Gather", []string{e.rowsAs(r.Table.Weight, 0, 0, Float32), e.ints(name+".buckets", buckets...)}, attrInt("axis", 0))
		byHead := e.op(name+".heads", "Transpose", []string{bias}, attrInts("perm", 1, 0))
		pairs := e.op(name+".pairs", "Gather", []string{e.computed(byHead), place}, attrInt("axis", 1))
		return e.op(name, "Unsqueeze", []string{pairs, e.list(0)})
	})
}

// bucket gives the row of a table of so many buckets for the distance key − query.
func bucket(distance, buckets, maxDistance int) int {
	half := buckets / 2
	first := 0
	if distance > 0 {
		first = half
	} else {
		distance = -distance
	}
	exact := half / 2
	if distance < exact {
		return first + distance
	}
	// In float32, step by step, as the models were trained: a distance at the edge of
	// two buckets falls into the one that the rounding chooses.
	grown := float32(math.Log(float64(float32(distance) / float32(exact))))
	grown /= float32(math.Log(float64(maxDistance) / float64(exact)))
	return first + min(half-1, exact+int(grown*float32(half-exact)))
}
