package trec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotGrouped says that a query's rows do not stand together, so that the run
// cannot be read in blocks; [Collect] reads it in memory.
var ErrNotGrouped = errors.New("the rows of a query do not stand together")

// ErrEmpty says that a file holds no row at all.
var ErrEmpty = errors.New("the file is empty")

// ErrNoJudgement says that a file of judgements ends behind its header.
var ErrNoJudgement = errors.New("the file has a header and no judgement")

// FormatError is a fault of a file at a place. Column counts bytes from 1; 0 is
// the line as a whole.
type FormatError struct {
	Name         string
	Line, Column int
	Problem      string // what was found and what was expected
}

func (e *FormatError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Problem)
}

// Limits on input.
const (
	// MaxID is the longest identifier in bytes.
	MaxID = 1 << 20
	// MaxLine is the longest line in bytes.
	MaxLine = 8 << 20
	// maxText is the most text of one query: offsets into it have 32 bits.
	maxText = 1 << 31
)

// shown is how much of an offending text a message shows.
const shown = 40

// quote shows a text in a message.
func quote[T string | []byte](text T) string {
	if len(text) > shown {
		return fmt.Sprintf("%q…", text[:shown])
	}
	return fmt.Sprintf("%q", text)
}

// problem is a FormatError without name and line, which the caller knows.
type problem struct {
	column int // from 1, 0 for the line
	text   string
}

func faulty(column int, format string, args ...any) *problem {
	return &problem{column, fmt.Sprintf(format, args...)}
}

// notNumber says why a text is not read as a number.
func notNumber(text string) string {
	if _, err := strconv.ParseFloat(text, 64); errors.Is(err, strconv.ErrRange) {
		return "beyond float64's range"
	}
	return "not a number"
}

// plural is "1 column", "5 columns".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

var longLine = faulty(0, "a line of more than %d bytes; is this a text file?", MaxLine)

// byteOrderMark is UTF-8's.
const byteOrderMark = "\xef\xbb\xbf"

// otherMark names a byte order mark of an encoding that is not read.
func otherMark(head []byte) string {
	for _, m := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if strings.HasPrefix(string(head[:min(4, len(head))]), m.mark) {
			return m.name
		}
	}
	return ""
}
