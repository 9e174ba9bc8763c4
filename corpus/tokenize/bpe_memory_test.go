package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"encbench/corpus/tokenize/tokentest"
)

// bpeTexts exercises every path: hits, both caches, long pre-tokens, chunk edges,
// normalisation, repair, NUL.
func bpeTexts() [][]byte {
	return append(texts(),
		[]byte(strings.Repeat("x := map[string][]byte{\"a\": nil}\n\t// it's  15:04:05\r\n", 100)),
		[]byte(strings.Repeat("e\u0301 \u1112\u1161\u11ab q\u0323\u0301 ", 300)), []byte(strings.Repeat("ab\xffcd \xe2\x82", 500)),
		[]byte(strings.Repeat("\u4e2d\u6587\uff0c\U0001F680 ", 500)), []byte(strings.Repeat("a\x00 \x00\x00! b\x00c", 400)), bytes.Repeat([]byte(" "), 5000),
		[]byte(strings.Repeat("pneumonoultramicroscopicsilicovolcanoconiosis", 100)), []byte("<s><mask> </s> a <unk>"))
}

func TestBPENoAllocations(t *testing.T) {
	dst, spans := make([]int32, 0, 1<<17), make([]Span, 0, 1<<17)
	for _, v := range bpeVariants(t) {
		tok := v.fast
		for _, text := range bpeTexts() {
			if n := testing.AllocsPerRun(2, func() { // and once before
				tok.Reset()
				tok.AppendIDs(dst, text)
				tok.AppendSpans(dst, spans, text)
			}); n != 0 {
				t.Errorf("%s: %.40q: %v allocations", v.name, text, n)
			}
		}
	}
}

func TestBPECachesChangeNothing(t *testing.T) {
	for _, v := range bpeVariants(t) {
		warm, cold := v.fast, v.fast.Clone()
		for range 2 {
			for _, text := range bpeTexts() {
				cold.Reset()
				if !slices.Equal(warm.AppendIDs(nil, text), cold.AppendIDs(nil, text)) {
					t.Fatalf("%s: %.40q: warm and cold caches give different ids", v.name, text)
				}
			}
		}
	}
}

// Hostile texts take linear time: a quadratic step would not end within the test's
// time.
func TestBPEHostileTexts(t *testing.T) {
	var dst []int32
	var spans []Span
	for _, path := range []string{roberta, llama3, gemma} {
		tok, _ := load(t, path+".tokenizer.json")
		for i, unit := range []string{"a", " ", "!", "\U0001F680", "ab", "\n", " \n", "0", "'s", "aA", "\x00", "\xff", "\u00e9", "\u0301", "\u4e2d", "\u200d\U0001F468", "\u1100", " a"} {
			size := 1 << 18
			if i == 0 {
				size = 10 << 20
			}
			text := bytes.Repeat([]byte(unit), size/len(unit))
			dst, spans = tok.AppendSpans(dst[:0], spans[:0], text)
			n := len(dst)
			if dst = tok.AppendIDs(dst[:0], text); len(dst) != n || len(spans) != n || n == 0 || n > 3*size {
				t.Errorf("%s: %q repeated: %d and %d ids, %d spans", path, unit, n, len(dst), len(spans))
			}
			b := tok.(*bpe)
			if n := cap(b.prefix) + 8*cap(b.dead) + cap(b.known) + cap(b.scratch.a.text) + cap(b.scratch.b.text); n > 2*maxScratch {
				t.Errorf("%s: %q repeated leaves %d bytes of scratch memory", path, unit, n)
			}
		}
	}
}

func TestBPEClone(t *testing.T) {
	tok, _ := load(t, llama3+".tokenizer.json")
	text := []byte("The reader of a pipe: unaffordable caf\u00e9 e\u0301 <|endoftext|>\n\n x\xff")
	want := tok.AppendIDs(nil, text)
	done := make(chan []int32)
	for range 4 {
		c := tok.Clone()
		if c.Repaired() != 0 {
			t.Errorf("a clone starts with %d repaired", c.Repaired())
		}
		go func() {
			var ids []int32
			for range 200 {
				ids = c.AppendIDs(ids[:0], text)
			}
			done <- ids
		}()
	}
	for range 4 {
		if got := <-done; !slices.Equal(got, want) {
			t.Errorf("a clone gives %v, want %v", got, want)
		}
	}
	if tok.Repaired() != 1 {
		t.Errorf("%d repaired, want 1", tok.Repaired())
	}
	if tok.Reset(); tok.Repaired() != 0 {
		t.Errorf("%d repaired after Reset", tok.Repaired())
	}
}

// TestBPEWritesNothingBeyondTheCapacity guards the memory around what AppendIDs and
// AppendSpans may write to, at every capacity.
func TestBPEWritesNothingBeyondTheCapacity(t *testing.T) {
	const guard, before = -77, 5
	r := rand.New(rand.NewPCG(47, 53))
	for _, v := range bpeVariants(t) {
		g := tokentest.New(r.Uint64(), v.special())
		for range 4 {
			text := g.Text()
			text = text[:min(len(text), 60)]
			want := v.fast.AppendIDs(nil, text) // the second time from the caches
			for spare := range len(want) + 9 {
				memory, spanMemory := make([]int32, before+spare+16), make([]Span, before+spare+16)
				for i := range memory {
					memory[i], spanMemory[i] = guard, Span{guard, guard}
				}
				end := before + spare
				got := v.fast.AppendIDs(memory[:before:end], text)
				ids, spans := v.fast.AppendSpans(memory[:before:end], spanMemory[:before:end], text)
				if !slices.Equal(got[before:], want) || !slices.Equal(ids[before:], want) || len(spans) != len(ids) {
					t.Fatalf("%s: %q with room for %d: %v and %v, want %v", v.name, text, spare, got[before:], ids[before:], want)
				}
				for at := range memory {
					if (at < before || at >= end) && (memory[at] != guard || spanMemory[at] != (Span{guard, guard})) {
						t.Fatalf("%s: %q with room for %d: element %d was written: %d, %v", v.name, text, spare, at, memory[at], spanMemory[at])
					}
				}
			}
		}
	}
}
