package tokenize

import (
	"slices"
	"testing"
)

// Around splits what AppendSingle writes.
func TestAround(t *testing.T) {
	for _, tmpl := range []Template{
		{Single: []Piece{{Text: 'A'}}},
		{Single: []Piece{{ID: 101}, {Text: 'A'}, {ID: 102}}},
		{Single: []Piece{{ID: 1}, {ID: 2}, {Text: 'A'}}},
	} {
		prefix, suffix := tmpl.Around()
		content := []int32{7, 8}
		if got, want := slices.Concat(prefix, content, suffix), tmpl.AppendSingle(nil, content); !slices.Equal(got, want) {
			t.Errorf("%v around %v and %v, want %v", prefix, content, suffix, want)
		}
	}
}
