package tokenize

import (
	"slices"
	"strings"
	"testing"
)

func TestJoinOverlaps(t *testing.T) {
	for _, c := range []struct{ spans, want []Span }{
		{nil, nil},
		{[]Span{{0, 2}, {0, 2}, {2, 3}, {5, 6}}, []Span{{0, 2}, {0, 2}, {2, 3}, {5, 6}}},
		{[]Span{{0, 2}, {1, 3}, {1, 3}, {3, 4}}, []Span{{0, 3}, {0, 3}, {0, 3}, {3, 4}}},
		{[]Span{{0, 9}, {2, 3}, {0, 9}, {9, 10}}, []Span{{0, 9}, {0, 9}, {0, 9}, {9, 10}}},
		{[]Span{{0, 1}, {1, 2}, {1, 2}, {2, 3}, {4, 5}, {1, 5}}, []Span{{0, 1}, {1, 5}, {1, 5}, {1, 5}, {1, 5}, {1, 5}}},
		{[]Span{{3, 4}, {1, 2}}, []Span{{1, 4}, {1, 4}}},
	} {
		got := slices.Clone(c.spans)
		if joinOverlaps(got); !slices.Equal(got, c.want) {
			t.Errorf("%v gives %v, want %v", c.spans, got, c.want)
		}
	}
}

// An added token that takes a space along which normalisation put beside a character
// shares the span of that character; so does one that reordering moved.
func TestSpansOfTokensThatOverlap(t *testing.T) {
	wordPiece := strings.NewReplacer(`"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false`,
		`"id": 5, "content": "<l>", "lstrip": true, "normalized": true`).Replace(small)
	bpe := strings.Replace(smallBPE, `"special": true}`, `"special": true}, {"id": 7, "content": "\u0301", "normalized": true}`, 1)
	for _, c := range []struct {
		file, text string
		ids        []int32
		spans      []Span
	}{
		{wordPiece, "a \u4e2d<l> a", []int32{3, 0, 5, 3}, []Span{{0, 1}, {2, 8}, {2, 8}, {9, 10}}},
		{bpe, "ab \u0301\u0323b", []int32{3, 4, 7, 2}, []Span{{0, 2}, {2, 7}, {2, 7}, {7, 8}}},
	} {
		tok, _, err := Load(strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		ids, spans := tok.AppendSpans(nil, nil, []byte(c.text))
		if !slices.Equal(ids, c.ids) || !slices.Equal(spans, c.spans) {
			t.Errorf("%q gives %v and %v, want %v and %v", c.text, ids, spans, c.ids, c.spans)
		}
	}
}
