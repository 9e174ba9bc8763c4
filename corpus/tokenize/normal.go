package tokenize

import "unicode/utf8"

// normalizer is the normalizer section of a file: steps that a text passes one after
// the other. It is read-only after Load and shared by clones. The zero value leaves
// every text as it is, but for the repair of invalid UTF-8.
type normalizer struct {
	steps   []step
	lower   bool // one of them is in lower case
	accents bool // one of them strips accents
}

// step is one normaliser.
type step interface {
	// apply appends to out what the step makes of in, which is valid UTF-8. It says
	// false and appends nothing where in stays as it is.
	apply(s *normalScratch, out, in *normalText) bool
}

// normalText is a text on its way through the steps.
type normalText struct {
	text  []byte
	edits []edit // in order of at; empty where the text is the source itself
	keep  bool   // edits are wanted
}

// edit says where bytes of a normalised text come from. Bytes between two edits
// come one by one from the source, from where the former edit ends there.
type edit struct {
	at, end  int32 // of the normalised text; at == end where something is left out
	from, to int32 // of the source
}

// normalScratch is memory for one goroutine to normalise in.
type normalScratch struct {
	source   normalText
	a, b     normalText
	runes    []rune
	marks    []mapped
	sorted   []mapped
	repaired int64
}

// mapped is a code point on its way through a normalisation form.
type mapped struct {
	r        rune
	rank     uint8
	from, to int32 // of the source
}

// maxScratch bounds, roughly, the bytes of scratch memory that outlive a text.
const maxScratch = 1 << 20

// release gives up what only a very long text needed.
func (s *normalScratch) release() {
	if cap(s.a.text)+cap(s.b.text)+16*(cap(s.a.edits)+cap(s.b.edits)+cap(s.marks)+cap(s.sorted)) > maxScratch {
		*s = normalScratch{repaired: s.repaired}
	}
}

// run gives what n makes of text, of at most 2 GiB where keep is set, which says
// that edits are wanted. The result is text itself, not a copy, when nothing
// changes; it lasts until the next call with s. Invalid UTF-8 is repaired first and
// counted in s.
func (n *normalizer) run(s *normalScratch, text []byte, keep bool) *normalText {
	s.source = normalText{text: text, keep: keep}
	now, next, spare := &s.source, &s.a, &s.b
	pass := func(p step) {
		next.text, next.edits, next.keep = next.text[:0], next.edits[:0], keep
		if !p.apply(s, next, now) {
			return
		}
		if now == &s.source {
			now, next, spare = next, spare, nil
		} else {
			now, next = next, now
		}
	}
	if !utf8.Valid(text) {
		pass(repairStep{})
	}
	for _, p := range n.steps {
		pass(p)
	}
	return now
}

// apply gives what p alone makes of text, which is valid: text itself, or memory of s.
func (s *normalScratch) apply(p step, text []byte) []byte {
	s.source, s.a = normalText{text: text}, normalText{text: s.a.text[:0]}
	if p.apply(s, &s.a, &s.source) {
		return s.a.text
	}
	return text
}

// string gives what n makes of text.
func (n *normalizer) string(text string) string {
	return string(n.run(new(normalScratch), []byte(text), false).text)
}

// extent gives the range of the source that the bytes from at to end of the text
// come from; at < end. k is where a former call, for bytes further in front, left
// the search, 0 at first.
func (t *normalText) extent(at, end, k int) (span Span, next int) {
	if len(t.edits) == 0 {
		return Span{int32(at), int32(end)}, 0
	}
	span = Span{Start: -1}
	for i := at; i < end; {
		for k < len(t.edits) && int(t.edits[k].end) <= i {
			k++
		}
		from, to, stop := 0, 0, end
		if k < len(t.edits) && int(t.edits[k].at) <= i {
			from, to, stop = int(t.edits[k].from), int(t.edits[k].to), int(t.edits[k].end)
		} else {
			if k < len(t.edits) {
				stop = min(stop, int(t.edits[k].at))
			}
			from = i
			if k > 0 {
				from += int(t.edits[k-1].to) - int(t.edits[k-1].end)
			}
			to = from + stop - i
		}
		if span.Start < 0 {
			span = Span{int32(from), int32(to)}
		}
		span.Start, span.End = min(span.Start, int32(from)), max(span.End, int32(to))
		i = stop
	}
	return span, max(0, k-1)
}

// rewrite writes one normalised text from another, in order.
type rewrite struct {
	in, out *normalText
	done    int // bytes of in that are dealt with
	k       int // the edit of in to go on copying at
	look    int // the edit of in to go on searching at
	any     bool
}

// same copies in up to byte to as it is.
func (w *rewrite) same(to int) {
	if to <= w.done {
		return
	}
	in, out := w.in, w.out
	n := len(out.text)
	out.text = append(out.text, in.text[w.done:to]...)
	if out.keep {
		w.copyEdits(to, n)
	}
	w.done = to
}

// copyEdits gives the bytes of out from n on, which are those of in from done to to,
// the edits of the latter.
func (w *rewrite) copyEdits(to, n int) {
	edits, shift := w.in.edits, int32(n-w.done)
	for w.k < len(edits) && int(edits[w.k].end) <= w.done {
		w.k++
	}
	if w.k == len(edits) || int(edits[w.k].at) > w.done {
		from := int32(w.done)
		if w.k > 0 {
			from += edits[w.k-1].to - edits[w.k-1].end
		}
		w.out.sync(int32(n), from)
	}
	for ; w.k < len(edits) && int(edits[w.k].at) < to; w.k++ {
		e := edits[w.k]
		at, end := max(int(e.at), w.done), min(int(e.end), to)
		w.out.edits = append(w.out.edits, edit{int32(at) + shift, int32(end) + shift, e.from, e.to})
		if int(e.end) > to {
			return
		}
	}
}

// sync makes the byte at, not yet written, come from byte from of the source.
func (t *normalText) sync(at, from int32) {
	expected := at
	if k := len(t.edits); k > 0 {
		expected += t.edits[k-1].to - t.edits[k-1].end
	}
	if expected != from {
		t.edits = append(t.edits, edit{at, at, min(expected, from), from})
	}
}

// from gives the range of the source that the bytes of in from at to end come from,
// which lie behind those of the call before.
func (w *rewrite) from(at, end int) (from, to int32) {
	if !w.out.keep {
		return 0, 0
	}
	span, k := w.in.extent(at, end, w.look)
	w.look = k
	return span.Start, span.End
}

// put appends text, which comes from the range of the source.
func (w *rewrite) put(text []byte, from, to int32) {
	n := len(w.out.text)
	w.out.text = append(w.out.text, text...)
	w.mark(n, from, to)
}

// putRune is put of one character.
func (w *rewrite) putRune(r rune, from, to int32) {
	n := len(w.out.text)
	w.out.text = utf8.AppendRune(w.out.text, r)
	w.mark(n, from, to)
}

func (w *rewrite) mark(n int, from, to int32) {
	if w.out.keep && len(w.out.text) > n {
		w.out.edits = append(w.out.edits, edit{int32(n), int32(len(w.out.text)), from, to})
	}
}

// replace puts text in the place of the bytes of in from at to end.
func (w *rewrite) replace(at, end int, text []byte) {
	w.same(at)
	from, to := w.from(at, end)
	w.put(text, from, to)
	w.skip(end)
}

// skip leaves out what is left of in up to end: it was put, or is dropped.
func (w *rewrite) skip(end int) { w.done, w.any = end, true }

// finish copies the rest. It says false where nothing was put or skipped.
func (w *rewrite) finish() bool {
	if w.any {
		w.same(len(w.in.text))
	}
	return w.any
}
