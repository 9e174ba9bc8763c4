package inhouse

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"encbench/bench/collection"
)

// The columns of a sheet, in their order.
var columns = []string{"row", "query", "document", "label", "note"}

// maxCell is the longest text that a spreadsheet takes in a cell, in characters:
// 32,767 in Excel, less room for what escapes.
const maxCell = 32_000

// SheetOptions say what goes into a sheet.
type SheetOptions struct {
	Seed     uint64    // of the order; recorded in the key
	Grades   []float64 // that may be given; nil is 0 1 2 3
	Unjudged bool      // leave out pairs that have a label already
	MaxChars int       // of a document's text; 0, and more than 32,000, is 32,000
	Runs     []Pooled  // where the candidates came from, for the key
}

// Pooled names a run that was pooled, or a method that ranked for the pool.
type Pooled struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"` // of the run's file
}

// Sheet is what a labeller sees: rows by query in an order that tells nothing.
type Sheet struct {
	Rows []SheetRow
	Cut  int // documents whose text was cut
	// Unknown counts the pool's queries that the collection does not have, Labelled
	// the pairs that were left out as they have a label.
	Unknown, Labelled int
}

// SheetRow is a pair to be labelled.
type SheetRow struct{ Row, Query, Document string }

// MakeSheet makes the sheet of a pool and its key. Queries, and the documents of a
// query, stand in the order of SHA-256 of seed and ids, so neither the order of the
// runs nor a score can be read from it. It reads the documents once. A document
// that the collection does not have is an error; so is an empty sheet.
func MakeSheet(c *collection.Collection, p *Pool, opt SheetOptions) (*Sheet, *Key, error) {
	if opt.Grades == nil {
		opt.Grades = []float64{0, 1, 2, 3}
	}
	if opt.MaxChars <= 0 || opt.MaxChars > maxCell {
		opt.MaxChars = maxCell
	}
	key := &Key{
		Schema: keySchema, Seed: opt.Seed, Depth: p.depth, Grades: opt.Grades, Runs: opt.Runs,
		Collection: c.Name, SHA256: c.SHA256,
	}
	s := &Sheet{}
	texts := map[string]string{}
	for _, q := range c.Queries {
		texts[q.ID] = q.Text
	}
	type candidate struct {
		pair
		first, second uint64
	}
	var all []candidate
	wanted := map[string]*string{} // texts of the documents, nil until found
	salt := strconv.FormatUint(opt.Seed, 10)
	for _, q := range p.queries {
		if _, ok := texts[q]; !ok {
			s.Unknown++
			continue
		}
		j, judgedQuery := c.Qrels.Find(q)
		for _, d := range p.docs[q] {
			if opt.Unjudged && judgedQuery {
				if _, ok := c.Qrels.Grade(j, d); ok {
					s.Labelled++
					continue
				}
			}
			wanted[d] = nil
			all = append(all, candidate{pair{q, d}, hash(salt, "q"+q), hash(salt, "d"+strconv.Quote(q)+d)})
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("no pair to label: %s, %s not in %s, %s labelled already", p,
			count(s.Unknown, "query", "queries"), c.Name, count(s.Labelled, "pair", "pairs"))
	}
	err := eachDocument(c, func(id []byte, text func() string) error {
		if _, ok := wanted[string(id)]; ok {
			t, cut := shorten(text(), opt.MaxChars)
			if cut {
				s.Cut++
			}
			wanted[string(id)] = &t
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var missing []string
	for d, text := range wanted {
		if text == nil {
			missing = append(missing, d)
		}
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("%s not in %s, the first %q; were the runs made on another collection?",
			count(len(missing), "document of the runs is", "documents of the runs are"), c.Name, slices.Min(missing))
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.query, b.query),
			cmp.Compare(a.second, b.second), cmp.Compare(a.document, b.document))
	})
	width := len(strconv.Itoa(len(all)))
	for i, at := range all {
		row := SheetRow{Query: texts[at.query], Document: *wanted[at.document]}
		// The check keeps a sheet from being read with another sheet's key.
		row.Row = fmt.Sprintf("%0*d-%s", width, i+1, digest(salt, at.query, at.document)[:6])
		s.Rows = append(s.Rows, row)
		key.Rows = append(key.Rows, KeyRow{row.Row, at.query, at.document, textCheck(row.Query), textCheck(row.Document)})
	}
	return s, key, nil
}

// shorten cuts a text to n characters with a mark behind.
func shorten(text string, n int) (string, bool) {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text, false
	}
	at := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at] + "…", true
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// textCheck is a digest of the letters and digits of a text, in lower case: what a
// spreadsheet may do to white space, quotes and escapes leaves it alone.
func textCheck(text string) string {
	return digest(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text))[:8]
}

// Write writes a sheet with commas or tabs between its columns, quoted as in RFC
// 4180. White space other than single spaces is written as \n, \t and \r, so that a
// row is a line. A cell that a spreadsheet would take for a formula gets an
// apostrophe in front (OWASP, CSV Injection).
func (s *Sheet) Write(w io.Writer, comma rune) error {
	c := csv.NewWriter(w)
	c.Comma = comma
	if err := c.Write(columns); err != nil {
		return err
	}
	for _, r := range s.Rows {
		if err := c.Write([]string{r.Row, cell(r.Query), cell(r.Document), "", ""}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

var (
	escapes   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
	unescapes = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\t`, "\t", `\r`, "\r")
)

func unescape(text string) string { return unescapes.Replace(text) }

// cell makes a text safe in a spreadsheet.
func cell(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return ' ' // some programs stop at a NUL
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = escapes.Replace(text)
	if text != "" && strings.ContainsRune("=+-@|%\uFF1D\uFF0B\uFF0D\uFF20", first(text)) {
		return "'" + text
	}
	return text
}

// first is the first character that is no space: some programs skip those.
func first(text string) rune {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(text))
	return r
}
