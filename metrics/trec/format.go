package trec

import (
	"fmt"
	"slices"
	"strings"
)

// Format is the layout of a run file.
type Format int

const (
	// Auto tells TREC lines and JSON by the first line, and refuses fewer columns:
	// three of them may be scores or ranks.
	Auto Format = iota
	// TREC is "query Q0 document rank score tag".
	TREC
	// MSMARCO is "query document rank"; the rank is the order.
	MSMARCO
	// Scores is "query document score".
	Scores
	// Pairs is "query document"; the lines are the order.
	Pairs
	// JSON is {query: {document: score}}, as ranx writes it, or the same inside
	// {subset: {split: …}}, as MTEB writes its predictions.
	JSON
)

var formatNames = []string{"auto", "trec", "msmarco", "scores", "pairs", "json"}

// Formats lists the names that ParseFormat accepts.
func Formats() []string { return slices.Clone(formatNames) }

// String gives the name that ParseFormat accepts.
func (f Format) String() string {
	if f < 0 || int(f) >= len(formatNames) {
		return fmt.Sprintf("format(%d)", int(f))
	}
	return formatNames[f]
}

// ParseFormat gives the format of that name.
func ParseFormat(name string) (Format, error) {
	if i := slices.Index(formatNames, name); i >= 0 {
		return Format(i), nil
	}
	return 0, fmt.Errorf("unknown run format %q: %s", name, strings.Join(formatNames, ", "))
}

// layout says where a format has its columns; −1 where it has none.
type layout struct {
	columns                      int
	query, document, rank, score int
	tag                          int
	spelled                      string
	shortest                     int // bytes of a line, its end included
}

var layouts = [...]layout{
	TREC:    {6, 0, 2, 3, 4, 5, "query Q0 document rank score tag", 12},
	MSMARCO: {3, 0, 1, 2, -1, -1, "query document rank", 6},
	Scores:  {3, 0, 1, -1, 2, -1, "query document score", 6},
	Pairs:   {2, 0, 1, -1, -1, -1, "query document", 4},
}

// NameFormat ends the message about a run that has to be read with its format named,
// so that a program can add how that is done there.
const NameFormat = "name the format"

// detect tells the format from the first line that is not blank.
func detect(line []byte) (Format, *problem) {
	switch len(splitFields(nil, line)) {
	case 2:
		return Auto, faulty(0, "2 columns, expected 6 (%s); a run of query and document in the order of its lines is read as format pairs: %s", layouts[TREC].spelled, NameFormat)
	case 3:
		return Auto, faulty(0, "3 columns, expected 6 (%s); they may be query, document and score (format scores) or MS MARCO's query, document and rank (format msmarco): %s", layouts[TREC].spelled, NameFormat)
	}
	return TREC, nil
}
