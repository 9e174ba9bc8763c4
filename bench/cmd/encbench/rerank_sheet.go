package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// sheet is a report that is shown as text or as Markdown.
type sheet struct {
	title    string
	marks    []string // what a reader has to know before any figure
	heads    []string // sentences
	sections []section
}

// section is a part of a sheet: a table, facts under labels, or a list.
type section struct {
	title string
	table *textTable
	facts [][2]string // label and text; one without a text is left out
	list  []string
}

// sheetWidth is the column at which text is wrapped, labelWidth the room of a label.
const (
	sheetWidth = 96
	labelWidth = 13
)

// text writes the sheet for a person, in one write.
func (s *sheet) text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", s.title)
	for _, m := range s.marks {
		hang(&b, "  ", m)
	}
	for _, h := range s.heads {
		hang(&b, "  ", h)
	}
	for _, sec := range s.sections {
		if sec.empty() {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", sec.title)
		if sec.table != nil {
			var t bytes.Buffer
			sec.table.write(&t)
			for line := range strings.Lines(t.String()) {
				b.WriteString("  " + line)
			}
		}
		for _, f := range sec.facts {
			if f[1] != "" {
				hang(&b, "  "+f[0]+strings.Repeat(" ", max(1, labelWidth-utf8.RuneCountInString(f[0]))), f[1])
			}
		}
		for _, item := range sec.list {
			hang(&b, "  - ", item)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdown writes the same for an issue or a README, in one write.
func (s *sheet) markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", markdownCell(s.title))
	for _, m := range s.marks {
		fmt.Fprintf(&b, "\n**%s**\n", markdownCell(m))
	}
	for _, h := range s.heads {
		fmt.Fprintf(&b, "\n%s.\n", markdownCell(h))
	}
	for _, sec := range s.sections {
		if sec.empty() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", markdownCell(sec.title))
		if sec.table != nil {
			for n, row := range sec.table.rows {
				for _, cell := range row {
					fmt.Fprintf(&b, "| %s ", markdownCell(cell))
				}
				b.WriteString("|\n")
				if n > 0 {
					continue
				}
				for _, right := range sec.table.right {
					b.WriteString(map[bool]string{false: "| --- ", true: "| ---: "}[right])
				}
				b.WriteString("|\n")
			}
			if len(sec.facts)+len(sec.list) > 0 {
				b.WriteByte('\n')
			}
		}
		for _, f := range sec.facts {
			if f[1] != "" {
				fmt.Fprintf(&b, "- %s: %s\n", markdownCell(f[0]), markdownCell(f[1]))
			}
		}
		for _, item := range sec.list {
			fmt.Fprintf(&b, "- %s\n", markdownCell(item))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s section) empty() bool {
	for _, f := range s.facts {
		if f[1] != "" {
			return false
		}
	}
	return len(s.list) == 0 && (s.table == nil || len(s.table.rows) < 2)
}

var markdownCell = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`, "\n", " ").Replace

// hang writes text behind prefix, its further lines below its start. A line does not
// end with a number, whose unit would stand on the next.
func hang(b *bytes.Buffer, prefix, text string) {
	left := strings.Repeat(" ", utf8.RuneCountInString(prefix))
	line, empty := prefix, true
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		for numeral(words[i]) && i+1 < len(words) {
			i++
			word += " " + words[i]
		}
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > sheetWidth {
			b.WriteString(line + "\n")
			line, empty = left, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
}

// numeral says whether a word is a number and nothing else.
func numeral(word string) bool {
	return strings.Trim(word, "0123456789.,+-×") == "" && strings.ContainsAny(word, "0123456789") && !strings.HasSuffix(word, ",")
}

// joined joins the parts that are not empty.
func joined(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

// where gives text where the fact behind it is known.
func where(known bool, text string) string {
	if known {
		return text
	}
	return ""
}
