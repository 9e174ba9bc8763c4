package report

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// width is the column at which text is wrapped; tableLimit the most that a table
// may take; indent that of section contents; labelWidth the room of a row's label.
const (
	width      = 96
	tableLimit = 100
	indent     = 2
	labelWidth = 13
)

// page lays out a text report. It knows columns and wrapping, not what is in them.
type page struct{ buf *bytes.Buffer }

func (p page) line(s string) {
	p.buf.WriteString(strings.TrimRight(s, " "+gap))
	p.buf.WriteByte('\n')
}

// section starts a part of the report.
func (p page) section(title string) {
	p.line("")
	p.line(title)
}

// row writes a label and its text, wrapped to hang beside the label. Nothing is
// written for an empty text.
func (p page) row(label, s string) {
	if s == "" {
		return
	}
	p.hang(strings.Repeat(" ", indent)+pad(label, labelWidth), s)
}

// hang writes s behind prefix, its further lines below its start.
func (p page) hang(prefix, s string) {
	left := strings.Repeat(" ", utf8.RuneCountInString(prefix))
	for i, l := range wrap(s, width-len(left)) {
		if i > 0 {
			prefix = left
		}
		p.line(prefix + l)
	}
}

// wrap breaks s at spaces, though not at a gap, into lines of at most n characters; a longer word has a
// line of its own.
func wrap(s string, n int) []string {
	var lines []string
	var line string
	for _, word := range strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

// column aligns a column of a table.
type column struct {
	title string
	right bool
}

// table starts a part of the report that is a table: the first column's title is
// the part's. Each column is as wide as its widest cell; one without any cell is
// left out.
func (p page) table(columns []column, rows [][]string) {
	columns, rows = keep(columns, rows)
	if len(rows) == 0 {
		return
	}
	widths := columnWidths(columns, rows)
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	p.line("")
	for n, r := range append([][]string{titles}, rows...) {
		var b strings.Builder
		for i, cell := range r {
			left := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0 && n == 0:
				cell = pad(cell, widths[i]+indent)
			case columns[i].right:
				cell = "  " + left + cell
			default:
				cell = "  " + cell + left
			}
			b.WriteString(cell)
		}
		p.line(b.String())
	}
}

func columnWidths(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	return widths
}

// tableWidth is how many characters page.table takes for a line.
func tableWidth(columns []column, rows [][]string) int {
	columns, rows = keep(columns, rows)
	total := 0
	for _, w := range columnWidths(columns, rows) {
		total += indent + w
	}
	return total
}

// fold breaks the cells of a table of one label and several texts, so that the
// table fits: the texts share what the label leaves.
func fold(columns []column, rows [][]string) [][]string {
	if tableWidth(columns, rows) <= tableLimit {
		return rows
	}
	room := (tableLimit-indent-columnWidths(columns, rows)[0])/(len(columns)-1) - indent
	var out [][]string
	for _, r := range rows {
		for more := true; more; {
			line, rest := make([]string, len(r)), make([]string, len(r))
			line[0], more = r[0], false
			for i := 1; i < len(r); i++ {
				line[i], rest[i] = breakOff(r[i], room)
				more = more || rest[i] != ""
			}
			out, r = append(out, line), rest
		}
	}
	return out
}

// breakOff gives the start of s of at most n characters, up to a space where
// there is one, and the rest.
func breakOff(s string, n int) (line, rest string) {
	runes := []rune(s)
	if len(runes) <= n {
		return s, ""
	}
	for i := n; i > 0; i-- {
		if runes[i] == ' ' {
			return string(runes[:i]), strings.TrimLeft(string(runes[i:]), " ")
		}
	}
	return string(runes[:n]), string(runes[n:])
}

// keep drops the columns in which every row is empty.
func keep(columns []column, rows [][]string) ([]column, [][]string) {
	var kept []column
	out := make([][]string, len(rows))
	for i, c := range columns {
		used := false
		for _, r := range rows {
			used = used || r[i] != ""
		}
		if !used {
			continue
		}
		kept = append(kept, c)
		for k, r := range rows {
			out[k] = append(out[k], r[i])
		}
	}
	return kept, out
}

// markdownTable writes the same as a Markdown table.
func markdownTable(buf *bytes.Buffer, columns []column, rows [][]string) {
	markdownGrid(buf, columns, rows, markdownText)
}

// markdownGrid writes cells as escape returns them.
func markdownGrid(buf *bytes.Buffer, columns []column, rows [][]string, escape func(string) string) {
	columns, rows = keep(columns, rows)
	cells := func(r []string) {
		for _, c := range r {
			buf.WriteString("| ")
			buf.WriteString(escape(c))
			buf.WriteByte(' ')
		}
		buf.WriteString("|\n")
	}
	titles := make([]string, len(columns))
	rules := make([]string, len(columns))
	for i, c := range columns {
		titles[i], rules[i] = c.title, "---"
		if c.right {
			rules[i] = "---:"
		}
	}
	cells(titles)
	cells(rules)
	for _, r := range rows {
		cells(r)
	}
}

var markdownSpecial = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`)

// markdownText keeps text that was not written as Markdown from being read as it.
func markdownText(s string) string { return markdownSpecial.Replace(oneLine(s)) }
