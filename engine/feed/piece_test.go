package feed

import (
	"slices"
	"testing"
	"unicode/utf8"

	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
)

// spaced is a tokenizer whose pre-tokens are words with the spaces before them, as
// those of byte-level BPE; spaces at the end are one of their own. Each gives an id for
// every two bytes and one for a rest.
type spaced struct{ words }

func (spaced) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && text[end] == ' ' {
			end++
		}
		for end < len(text) && text[end] != ' ' {
			end++
		}
		for i := at; i < end; i += 2 {
			id := int32(text[i])
			if i+1 < end {
				id = id<<8 | int32(text[i+1])
			}
			dst = append(dst, id)
			spans = append(spans, tokenize.Span{Start: int32(at), End: int32(end)})
		}
		at = end
	}
	return dst, spans
}

func (s spaced) AppendIDs(dst []int32, text []byte) []int32 {
	dst, _ = s.AppendSpans(dst, nil, text)
	return dst
}

func (s spaced) Clone() tokenize.Tokenizer { return s }

// A row's text read as a document gives the row's ids, although a document's text is
// trimmed.
func TestPiecesSurviveTrimming(t *testing.T) {
	texts := []string{"a bc  def ghij", "one   two    three four five    six seven", "word", "x                         y", "", text(300, 3)}
	for size := 1; size < 12; size++ {
		opt := Options{Tokenizer: spaced{}, Window: chunk.Window{Size: size, Overlap: size / 3}, Batch: 7, Workers: 2, Pieces: true}
		rows, _, pieces, _, _ := collect(t, &docs{texts: texts}, opt)
		for i, p := range pieces {
			if doc := (corpus.Doc{Text: p.Text}).AppendText(nil); len(doc) != len(p.Text) {
				t.Fatalf("window of %d, row %d: text %q has space at its ends", size, i, p.Text)
			}
			ids := spaced{}.AppendIDs(nil, p.Text)
			if int(p.Skip+p.N) > len(ids) || !slices.Equal(ids[p.Skip:p.Skip+p.N], rows[i][1:len(rows[i])-1]) {
				t.Fatalf("window of %d, row %d: text %q gives %v, skip %d; the row is %v", size, i, p.Text, ids, p.Skip, rows[i])
			}
		}
	}
}

// What counts as space here is what a document is trimmed of.
func TestSpaceIsThatOfDocuments(t *testing.T) {
	for r := rune(0); r <= 0x3100; r++ {
		text := utf8.AppendRune(nil, r)
		if got := (corpus.Doc{Text: text}).AppendText(nil); (len(got) == 0) != isSpace(r) {
			t.Errorf("%U: a document keeps %q, isSpace is %t", r, got, isSpace(r))
		}
	}
}
