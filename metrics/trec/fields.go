package trec

import (
	"bytes"
	"math"
	"strconv"
)

// field is a column of a line, [from, to).
type field struct{ from, to int }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// splitFields appends the columns of a line: what stands between any run of spaces
// and tabs.
func splitFields[T string | []byte](dst []field, line T) []field {
	for i := 0; i < len(line); {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		from := i
		for i < len(line) && !isBlank(line[i]) {
			i++
		}
		if i > from {
			dst = append(dst, field{from, i})
		}
	}
	return dst
}

// cutLine gives the first line without its end, LF or CR LF, and the place behind
// that.
func cutLine(text []byte) (line []byte, next int) {
	n := bytes.IndexByte(text, '\n')
	if n < 0 {
		return text, len(text)
	}
	next = n + 1
	if n > 0 && text[n-1] == '\r' {
		n--
	}
	return text[:n], next
}

// row is a line of a run.
type row struct {
	query, document field
	rank            int32
	score           float64
	tag             field
	ranked          bool // rank is a number
	forgiven        bool // accepted only because the reading is lenient
}

// parseRow reads one line, without its end, of a run: the plain twin of the fast
// reading, which leaves to it every line that is not plain. fields is scratch.
func parseRow(line []byte, of *layout, opt *Options, scratch *[]field) (r row, p *problem) {
	f := splitFields((*scratch)[:0], line)
	*scratch = f
	switch n := len(f); {
	case n == of.columns:
	case n > of.columns && opt.Lenient && of.tag >= 0:
		r.forgiven = true
	case n > of.columns:
		return r, faulty(f[of.columns].from+1, "%s, expected %d (%s); an id or tag may hold no spaces, found %s after the last column", plural(n, "column"), of.columns, of.spelled, quote(line[f[of.columns].from:]))
	default:
		return r, faulty(len(line)+1, "%s, expected %d (%s)", plural(n, "column"), of.columns, of.spelled)
	}
	text := func(i int) []byte { return line[f[i].from:f[i].to] }
	for _, i := range []int{of.query, of.document} {
		if n := len(text(i)); n > MaxID {
			return r, tooLong(f[i].from+1, text(i))
		}
	}
	r.query, r.document = f[of.query], f[of.document]
	if of.tag >= 0 {
		r.tag = f[of.tag]
	}
	if of.rank >= 0 {
		rank, err := strconv.ParseInt(string(text(of.rank)), 10, 32)
		r.rank, r.ranked = int32(rank), err == nil
		switch {
		case err == nil:
		case opt.Lenient && of.score >= 0:
			r.forgiven, r.rank = true, 0
		default:
			return r, faulty(f[of.rank].from+1, "rank %s is not a whole number of 32 bits; an id with a space shifts the columns", quote(text(of.rank)))
		}
	}
	if of.score < 0 {
		if of.rank >= 0 {
			r.score = float64(-int64(r.rank))
		}
		return r, nil
	}
	score, ok := number(text(of.score))
	if !ok {
		score, ok = words(text(of.score))
		switch {
		case !ok:
			return r, faulty(f[of.score].from+1, "score %s is %s", quote(text(of.score)), notNumber(string(text(of.score))))
		case math.IsNaN(score):
			return r, faulty(f[of.score].from+1, "score %s of query %s, document %s is not a number and has no place in an order", quote(text(of.score)), quote(text(of.query)), quote(text(of.document)))
		case !opt.Lenient:
			return r, faulty(f[of.score].from+1, "score %s of query %s, document %s is infinite; a lenient reading accepts it", quote(text(of.score)), quote(text(of.query)), quote(text(of.document)))
		}
		r.forgiven = true
	}
	r.score = score
	return r, nil
}
