package tokenize

// spanner finds the source ranges of pre-tokens.
//
// A text that is cut at the border of a span gives the same ids on both sides. Where
// a border between two pre-tokens would not, because what follows decides where the
// first ends or what precedes decides how the second begins, the two share a span,
// that of a group.
type spanner struct {
	keep       bool // append spans
	spans      []Span
	base       int         // where in the source the normalised text begins
	normalised *normalText // nil where the normalised text is the source itself
	search     int         // see normalText.extent

	open  bool // there is a group
	group Span
	first int // the first of spans that belongs to it
	white int // so many pre-tokens before are white space
}

// source gives the range of the source that the bytes at to end of the normalised text
// come from. at is -1 where a space was put in front.
func (p *spanner) source(at, end int) Span {
	at = max(at, 0)
	end = max(end, at+1)
	if p.normalised == nil {
		return Span{int32(p.base + at), int32(p.base + end)}
	}
	var s Span
	s, p.search = p.normalised.extent(at, end, p.search)
	return Span{s.Start + int32(p.base), s.End + int32(p.base)}
}

// close ends the group, whose extent is known by then.
func (p *spanner) close() {
	if p.open {
		for i := p.first; i < len(p.spans); i++ {
			p.spans[i] = p.group
		}
	}
	p.open, p.white = false, 0
}

// appendSpans appends n spans for the pre-token run, which begins at byte at of the
// normalised text.
func (t *bpe) appendSpans(n int, run []byte, at int) {
	behind := int32(0) // the first byte
	if t.prepends {
		behind = t.source(at, at+1).End
	}
	span := t.source(at, at+len(run))
	together := t.open && (t.contextual || span.Start < t.group.End || t.white > 1)
	switch {
	case t.prepends:
		// Whatever begins a text gets a space, so that a span begins behind one.
		if together = t.open && (together || run[0] != ' ' || len(run) == 1); t.open && !together {
			span.Start = behind
		}
	case t.split.prefix == prefixFirst && !t.open && run[0] != ' ' && t.base+at > 0:
		// Behind an added token, not at the beginning of the text.
		t.open, t.first = true, len(t.spans)-1
		t.group, together = t.spans[t.first], true
	case t.split.prefix != prefixNever:
		together = t.open && (together || run[0] != ' ')
	}
	if together {
		span.Start, span.End = min(span.Start, t.group.Start), max(span.End, t.group.End)
	} else {
		white := t.white
		t.close()
		t.open, t.first, t.white = true, len(t.spans), white
	}
	t.group = span
	t.spans = appendSpan(t.spans, n, 0, 0)
	if runOf(run, catSpace) == len(run) {
		t.white++ // two of them are one at the end of a text
	} else {
		t.white = 0
	}
}
