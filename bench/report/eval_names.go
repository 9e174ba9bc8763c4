package report

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"encbench/bench"
)

var longNumber = regexp.MustCompile(`[0-9]{4,}`)

// countNouns follow a number that is a count in a collection's name and notes, where
// seeds, years and lengths stand too.
var countNouns = []string{"document", "quer", "judge", "column", "file"}

// counted writes the counts of a collection's name or note with separators.
func counted(s string) string {
	var b strings.Builder
	last := 0
	for _, at := range longNumber.FindAllStringIndex(s, -1) {
		n, err := strconv.ParseInt(s[at[0]:at[1]], 10, 64)
		if err != nil || at[0] > 0 && !strings.ContainsRune(" (", rune(s[at[0]-1])) || !isCount(s[at[1]:]) {
			continue
		}
		b.WriteString(s[last:at[0]] + bench.Thousands(n))
		last = at[1]
	}
	return b.String() + s[last:]
}

// isCount says whether a number that is followed by rest is a count.
func isCount(rest string) bool {
	rest, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return false
	}
	if of, ok := strings.CutPrefix(rest, "of "); ok {
		return of != "" && of[0] >= '0' && of[0] <= '9' || strings.HasPrefix(of, "its ")
	}
	for _, noun := range countNouns {
		if strings.HasPrefix(rest, noun) {
			return true
		}
	}
	return false
}

// nameLimit is how many characters a collection's name takes in a table of text.
const nameLimit = 48

// shortened cuts a name in its middle: the collection stands at its beginning, what
// tells its parts apart at its end.
func shortened(name string) string {
	runes := []rune(name)
	if utf8.RuneCountInString(name) <= nameLimit {
		return name
	}
	half := (nameLimit - 1) / 2
	return string(runes[:nameLimit-1-half]) + "…" + string(runes[len(runes)-half:])
}

// shortNames shortens the first column of rows.
func shortNames(rows [][]string) [][]string {
	for _, r := range rows {
		r[0] = shortened(r[0])
	}
	return rows
}
