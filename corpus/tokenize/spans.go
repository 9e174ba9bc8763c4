package tokenize

// joinOverlaps gives words that share bytes of the source one span, the range of them
// all: normalisation can put marks into another order, or a space beside a character
// that an added token then takes along. spans are those of whole words, in the order
// of the ids.
func joinOverlaps(spans []Span) {
	if len(spans) == 0 {
		return
	}
	first, group := 0, spans[0]
	fill := func(to int) {
		for i := first; i < to; i++ {
			spans[i] = group
		}
	}
	for i, s := range spans {
		if s.Start >= group.End {
			fill(i)
			first, group = i, s
			continue
		}
		group = joined(s, group)
		for first > 0 && spans[first-1].End > group.Start {
			before := spans[first-1]
			group = joined(before, group)
			for first > 0 && spans[first-1] == before {
				first--
			}
		}
	}
	fill(len(spans))
}
