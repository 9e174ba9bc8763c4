// Package report renders what bench measured: records as text, JSON, JSON lines,
// CSV, Markdown and Go benchmark lines, comparisons of two records, and the page
// of committed results. It measures nothing and decides nothing: ratios, warnings
// and verdicts come from package bench, so that every format says the same.
//
// No format prints a rate of a record whose accuracy gate did not pass, and none
// prints a value that is not a finite number: text shows "–", CSV an empty cell.
package report
