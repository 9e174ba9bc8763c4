package rerank

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"encbench/corpus/tokenize"
)

// Cut says how a pair becomes a row.
type Cut struct {
	Template    tokenize.Template
	MaxTokens   int // of a row, special tokens included
	QueryTokens int // content tokens of a query at most
	// Types is the number of token types that the model has. Where it is 1 rows carry
	// none, whatever the template says.
	Types int
}

// Validate lists everything that is wrong with the rule.
func (c Cut) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	a, b := 0, 0
	for _, p := range c.Template.Pair {
		switch p.Text {
		case 'A':
			a++
		case 'B':
			b++
		}
		if c.Types > 1 && int(p.Type) >= c.Types {
			fault("the tokenizer's template for pairs has token type %d, the model has types 0 to %d", p.Type, c.Types-1)
		}
	}
	switch {
	case a != 1 || b != 1:
		fault("the tokenizer's template for pairs holds the query %d times and the document %d times, expected once each", a, b)
	case c.QueryTokens < 1:
		fault("queries of %d tokens at most, expected 1 or more", c.QueryTokens)
	case c.Room(c.QueryTokens) < 1:
		fault("%d tokens leave no room for a document beside %d special tokens and a query of %d", c.MaxTokens, c.overhead(), c.QueryTokens)
	}
	return errors.Join(errs...)
}

func (c Cut) overhead() int { return c.Template.PairOverhead() }

// Room is how many content tokens of a document fit beside query tokens.
func (c Cut) Room(query int) int { return c.MaxTokens - c.overhead() - query }

// Query gives what a row takes of a query's ids: the first of them.
func (c Cut) Query(ids []int32) []int32 { return ids[:min(len(ids), c.QueryTokens)] }

// Append appends the row of a pair to dst and, where the model has several, the token
// type of each of its ids to types. query is what Query gave, doc the whole document
// or at least as much of it as there is room for.
func (c Cut) Append(dst []int32, types []uint8, query, doc []int32) ([]int32, []uint8) {
	doc = doc[:min(len(doc), c.Room(len(query)))]
	if c.Types > 1 {
		return c.Template.AppendPair(dst, types, query, doc)
	}
	for _, p := range c.Template.Pair {
		switch p.Text {
		case 'A':
			dst = append(dst, query...)
		case 'B':
			dst = append(dst, doc...)
		default:
			dst = append(dst, p.ID)
		}
	}
	return dst, types
}

// String spells the template with the ids of its special tokens and the token types
// of its pieces: "101 query 102 document 102, token types 0 0 0 1 1".
func (c Cut) String() string {
	var pieces, types []string
	for _, p := range c.Template.Pair {
		switch p.Text {
		case 'A':
			pieces = append(pieces, "query")
		case 'B':
			pieces = append(pieces, "document")
		default:
			pieces = append(pieces, strconv.Itoa(int(p.ID)))
		}
		types = append(types, strconv.Itoa(int(p.Type)))
	}
	s := strings.Join(pieces, " ")
	if c.Types > 1 && len(slices.Compact(slices.Clone(types))) > 1 {
		return s + ", token types " + strings.Join(types, " ")
	}
	return s
}
