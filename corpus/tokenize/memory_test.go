package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNULKeptInTheText mixes runs with NUL, which no cache may hold, with runs
// that differ from them only by it, over several chunks.
func TestNULKeptInTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	parts := []string{"abc", "abc\x00", "\x00abc", "ab\x00c", "\x00", "\x00\x00", "the", "the\x00", "a", "a\x00", "\x00a", ".", "\x00.", " ", " ", "\n",
		strings.Repeat("x", 17), strings.Repeat("x", 17) + "\x00", strings.Repeat("\x00", 20), strings.Repeat("\x00", 70), strings.Repeat("y", 70), "[CLS]", "caf\u00e9", "caf\u00e9\x00"}
	for _, w := range variants(t) {
		if w.clean {
			continue
		}
		for range 10 {
			var text []byte
			for range 1 + r.IntN(600) {
				text = append(append(text, parts[r.IntN(len(parts))]...), ' ')
			}
			if r.IntN(2) == 0 { // chunks without NUL beside chunks with it
				text = append(text, strings.Repeat("abc the a xxxxxxxxxxxxxxxxx ", 400)...)
				text = append(text, "abc\x00 the\x00 abc a"...)
			}
			checkAgainstPlain(t, w, text)
		}
		const size = 1 << 18
		// Eight runs: a mean of them is not moved by what the runtime itself allocates.
		text := bytes.Repeat([]byte("abc the x1 "), size/11)
		text[size/2] = 0
		dst := make([]int32, 0, size)
		if n := testing.AllocsPerRun(8, func() { w.AppendIDs(dst, text) }); n != 0 {
			t.Errorf("one NUL in %d bytes: %v allocations", len(text), n)
		}
		text = bytes.Repeat([]byte{0}, size)
		if n := testing.AllocsPerRun(8, func() { dst = w.AppendIDs(dst[:0], text) }); n != 0 || !slices.Equal(dst, []int32{w.unk}) {
			t.Errorf("%d NULs: %d ids, %v allocations", size, len(dst), n)
		}
	}
}

// TestNothingIsWrittenBeyondTheCapacity guards the memory around what AppendIDs
// and AppendSpans may write to, at every capacity.
func TestNothingIsWrittenBeyondTheCapacity(t *testing.T) {
	const guard, before = -77, 5
	r := rand.New(rand.NewPCG(17, 19))
	for i, w := range variants(t) {
		texts := [][]byte{[]byte("the\x01 \x01 abc \x01\x02 the"), []byte("\u0301 \u0301 \u0301"), bytes.Repeat([]byte("a . "), 100)}
		for range 20 {
			texts = append(texts, randomText(r))
		}
		for _, text := range texts {
			want := w.AppendIDs(nil, text) // the second time from the caches
			for spare := range len(want) + 9 {
				memory, spanMemory := make([]int32, before+spare+16), make([]Span, before+spare+16)
				for i := range memory {
					memory[i], spanMemory[i] = guard, Span{guard, guard}
				}
				end := before + spare
				got := w.AppendIDs(memory[:before:end], text)
				if !slices.Equal(got[before:], want) {
					t.Fatalf("variant %d, %q with room for %d: %v, want %v", i, text, spare, got[before:], want)
				}
				ids, spans := w.AppendSpans(memory[:before:end], spanMemory[:before:end], text)
				if !slices.Equal(ids[before:], want) || len(spans) != len(ids) {
					t.Fatalf("variant %d, %q with room for %d: %v, want %v", i, text, spare, ids[before:], want)
				}
				for at := range memory {
					if at < before || at >= end {
						if memory[at] != guard || spanMemory[at] != (Span{guard, guard}) {
							t.Fatalf("variant %d, %q with room for %d: element %d was written: %d, %v", i, text, spare, at, memory[at], spanMemory[at])
						}
					}
				}
			}
		}
	}
}
