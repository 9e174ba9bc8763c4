package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/corpus/tokenize/tokentest"
)

// special gives the added tokens of the variant.
func (v *bpeVariant) special() (list []string) {
	for _, m := range []*matcher{&v.plain.added, &v.plain.addedN} {
		for _, t := range m.tokens {
			list = append(list, t.content)
		}
	}
	return list
}

// check compares ids and repairs of text with those of the plain twin, and spans with
// the extents of the pre-tokens.
func (v *bpeVariant) check(t *testing.T, text []byte) {
	t.Helper()
	repaired := v.plain.repaired
	wantIDs, extents := v.plain.AppendSpans(nil, nil, text)
	repaired = v.plain.repaired - repaired
	before := v.fast.Repaired()
	for range 2 { // the second time from the caches
		if got := v.fast.AppendIDs(nil, text); !slices.Equal(got, wantIDs) {
			t.Fatalf("%s: %q\n got %v\nwant %v", v.name, text, got, wantIDs)
		}
	}
	if got := v.fast.Repaired() - before; got != 2*repaired {
		t.Fatalf("%s: %q: %d repaired in two rounds, want %d a round", v.name, text, got, repaired)
	}
	ids, spans := v.fast.AppendSpans(nil, nil, text)
	if !slices.Equal(ids, wantIDs) || len(spans) != len(ids) {
		t.Fatalf("%s: %q\n got %v, %d spans\nwant %v", v.name, text, ids, len(spans), wantIDs)
	}
	for from := 0; from < len(ids); {
		to := from
		union := extents[from]
		for ; to < len(ids) && spans[to] == spans[from]; to++ {
			union.Start, union.End = min(union.Start, extents[to].Start), max(union.End, extents[to].End)
		}
		got, inside := spans[from], Span{max(spans[from].Start, union.Start), min(spans[from].End, union.End)}
		switch {
		case v.fast.units: // a part of the pre-token
			if got != inside {
				t.Fatalf("%s: %q: ids %d to %d span %v, outside %v", v.name, text, from, to, got, union)
			}
		case v.fast.unk < 0 && !v.fast.byteFallback: // pre-tokens without ids belong to a group too
			if union != inside {
				t.Fatalf("%s: %q: ids %d to %d span %v, less than %v", v.name, text, from, to, got, union)
			}
		case got != union:
			t.Fatalf("%s: %q: ids %d to %d span %v, want %v", v.name, text, from, to, got, union)
		}
		from = to
	}
}

// checkCuts cuts text at the borders of spans: the ids of a part are those that it has
// in the whole.
func (v *bpeVariant) checkCuts(t *testing.T, text []byte, r *rand.Rand) {
	t.Helper()
	for _, token := range slices.Concat(v.plain.added.tokens, v.plain.addedN.tokens) {
		if token.single && bytes.Contains(bytes.ToLower(text), []byte(token.content)) {
			return // what keeps it from being a token may be cut off
		}
	}
	ids, spans := v.fast.AppendSpans(nil, nil, text)
	var borders []int
	for i := range ids {
		if i == 0 || spans[i] != spans[i-1] {
			borders = append(borders, i)
		}
	}
	borders = append(borders, len(ids))
	for range min(10, len(borders)) {
		a, b := r.IntN(len(borders)), r.IntN(len(borders))
		if a == b {
			continue
		}
		from, to := borders[min(a, b)], borders[max(a, b)]
		part := text[spans[from].Start:spans[to-1].End]
		if got := v.fast.AppendIDs(nil, part); !slices.Equal(got, ids[from:to]) {
			t.Fatalf("%s: %q of %q\n got %v\nwant %v", v.name, part, text, got, ids[from:to])
		}
	}
}

func TestBPEAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 37))
	for _, v := range bpeVariants(t) {
		t.Run(v.name, func(t *testing.T) {
			g := tokentest.New(r.Uint64(), v.special())
			for range 120 {
				text := g.Text()
				v.check(t, text)
				v.checkCuts(t, text, r)
			}
		})
	}
}
