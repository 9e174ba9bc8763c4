// Package chunk cuts a sequence of n tokens into overlapping windows. It is
// arithmetic only: token counts in, spans out, no I/O and no strings.
//
// The windows of a valid [Window] keep four laws, which the package's fuzz test
// holds it to: they cover every token, they leave no gap, neighbours share
// exactly Overlap tokens and nothing else repeats, and no window lies inside
// its predecessor. The last law is why a text of 920 tokens has two windows of
// 510 and not three: the second one already reaches the end.
package chunk

import "fmt"

// Window is the size and the overlap of the windows, both in content tokens
// (special tokens and prompts are the caller's to subtract from the model's
// length). Hugging Face calls the overlap `stride`.
type Window struct{ Size, Overlap int }

// Span is a half-open range of token positions.
type Span struct{ Start, End int32 }

// Len is the number of tokens in s.
func (s Span) Len() int { return int(s.End - s.Start) }

// Validate says what is wrong with w: 0 <= Overlap < Size must hold.
func (w Window) Validate() error {
	switch {
	case w.Size < 1:
		return fmt.Errorf("window of %d content tokens: must be at least 1", w.Size)
	case w.Overlap < 0:
		return fmt.Errorf("overlap of %d tokens: must not be negative", w.Overlap)
	case w.Overlap >= w.Size:
		return fmt.Errorf("overlap of %d tokens is not smaller than the window's %d content tokens", w.Overlap, w.Size)
	}
	return nil
}

// Count gives the number of windows over n tokens: 1 if n <= Size, else
// 1 + ⌈(n−Size)/(Size−Overlap)⌉. An empty text has one empty window. w must be
// valid and n in 0..MaxInt32.
func (w Window) Count(n int) int {
	if n <= w.Size {
		return 1
	}
	step := w.Size - w.Overlap
	return 1 + (n-w.Size+step-1)/step
}

// AppendSpans appends the windows over n tokens to dst, Count(n) of them in
// order, and allocates nothing beyond dst's growth. Every token is covered, each
// window but the first starts Overlap tokens before the end of its predecessor,
// none lies inside its predecessor, and an empty text gives one empty span. w
// must be valid and n in 0..MaxInt32.
func (w Window) AppendSpans(dst []Span, n int) []Span {
	start, step := 0, w.Size-w.Overlap
	// n-start cannot overflow where start+Size could, for a window set larger
	// than any text.
	for ; n-start > w.Size; start += step {
		dst = append(dst, Span{int32(start), int32(start + w.Size)})
	}
	return append(dst, Span{int32(start), int32(n)})
}
