package tokenize

// Piece is one element of a template: a special token, or a text (A or B).
type Piece struct {
	ID   int32 // special token id when Text is 0
	Text byte  // 0, 'A' or 'B'
	Type uint8 // token type id
}

// Template lists the pieces around one text and around a pair. Single holds A
// once, Pair holds A and B once each.
type Template struct{ Single, Pair []Piece }

// Overhead is the number of special tokens around a single text.
func (t Template) Overhead() int { return special(t.Single) }

// PairOverhead is the number of special tokens around a pair.
func (t Template) PairOverhead() int { return special(t.Pair) }

func special(pieces []Piece) int {
	n := 0
	for _, p := range pieces {
		if p.Text == 0 {
			n++
		}
	}
	return n
}

// AppendSingle appends the sequence a model expects for one text: content, the
// ids of AppendIDs or a window of them, with the special tokens around it.
func (t Template) AppendSingle(dst, content []int32) []int32 {
	for _, p := range t.Single {
		if p.Text == 0 {
			dst = append(dst, p.ID)
		} else {
			dst = append(dst, content...)
		}
	}
	return dst
}

// Around gives the special tokens before and after a single text.
func (t Template) Around() (prefix, suffix []int32) {
	side := &prefix
	for _, p := range t.Single {
		if p.Text != 0 {
			side = &suffix
			continue
		}
		*side = append(*side, p.ID)
	}
	return prefix, suffix
}

// AppendPair appends the sequence a model expects for the pair a, b to dst and
// the token type of every appended id to types.
func (t Template) AppendPair(dst []int32, types []uint8, a, b []int32) ([]int32, []uint8) {
	for _, p := range t.Pair {
		from := len(dst)
		switch p.Text {
		case 'A':
			dst = append(dst, a...)
		case 'B':
			dst = append(dst, b...)
		default:
			dst = append(dst, p.ID)
		}
		for range len(dst) - from {
			types = append(types, p.Type)
		}
	}
	return dst, types
}
