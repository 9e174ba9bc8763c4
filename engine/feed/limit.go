package feed

// Limit says how much a batch holds.
type Limit struct {
	Rows int // at most
	// Tokens that the batch may have with every row padded to its longest; 0 = any
	// number. A single row is a batch even where it is longer.
	Tokens int
}

// Takes says whether a batch of rows rows, the longest of longest tokens, takes one
// more of n tokens: rows come as they are, so a batch ends with the first that does
// not fit.
func (l Limit) Takes(rows, longest, n int) bool {
	switch {
	case rows >= l.Rows:
		return false
	case l.Tokens == 0 || rows == 0:
		return true
	}
	return int64(rows+1)*int64(max(longest, n)) <= int64(l.Tokens)
}

// more gives how many of the rows between the offsets a batch of rows rows takes, and
// its longest row then.
func (l Limit) more(off []int32, rows, longest int) (n, grown int) {
	if l.Tokens == 0 {
		return min(len(off)-1, l.Rows-rows), longest
	}
	for n < len(off)-1 {
		tokens := int(off[n+1] - off[n])
		if !l.Takes(rows+n, longest, tokens) {
			break
		}
		longest = max(longest, tokens)
		n++
	}
	return n, longest
}
