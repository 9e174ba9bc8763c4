package corpus

import (
	"bytes"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// TechdocsQARule is the version of the construction rule of techdocs-qa.
const TechdocsQARule = "techdocs-qa-1"

// The shortest query and document of techdocs-qa, in characters.
const (
	qaShortestQuery    = 30
	qaShortestDocument = 150
)

// QA is the manifest of techdocs-qa and what was left out.
type QA struct {
	Manifest
	Queries int64 // each answered by one document

	Operations  int64 // with documentation of their own
	ShortQuery  int64 // left out: the query is too short
	ShortText   int64 // left out: the document is too short
	SharedQuery int64 // left out: another operation has the same query
}

// BuildTechdocsQA writes the labelled collection techdocs-qa to w, read from the
// botocore wheel at path wheel: JSON lines, each a document with the one query that
// it answers (the layout "file" of package collection; NewJSONL reads the documents
// alone). Rule techdocs-qa-1:
//
//   - Operations, their order, their ids and their text are those of techdocs
//     (BuildTechdocs). An operation without documentation of its own is left out.
//   - The query is the first sentence of the operation's documentation with the
//     words of the operation's name masked (see firstSentence and maskName). Its id
//     is the document's behind "q:", so that it never equals a document's.
//   - The document is the rest of the operation's documentation, then the other
//     paragraphs, unmasked: the query is a description that the text itself does not
//     hold, and the name, which would give the answer away, is gone from it.
//   - Left out are operations whose document has under 150 characters, then those
//     whose query has under 30, then all those of one query: a query has one answer.
//
// Note: queries count as one when they are the same text. 46 of those that stay differ
// from another in the place or number of their masks alone, and 58 documents have the
// text of another operation's: 1 % of the pairs that no system can tell apart.
//
// The counts of botocore 1.44.8 are pinned in Describe.
func BuildTechdocsQA(wheel string, w io.Writer) (QA, error) {
	var qa QA
	var docs []qaDoc
	count := map[string]int{} // operations of a query
	err := eachOperation(wheel, func(op operationDoc) error {
		if len(op.documentation) == 0 {
			return nil
		}
		qa.Operations++
		n := firstSentence(op.documentation)
		// What follows the documentation begins with a line break, or is nothing.
		rest := slices.Concat(bytes.TrimSpace(op.documentation[n:]), op.text[len(op.documentation):])
		rest = bytes.TrimSpace(rest)
		query := maskName(op.name, op.documentation[:n])
		switch {
		case utf8.RuneCount(rest) < qaShortestDocument:
			qa.ShortText++
			return nil
		case utf8.RuneCount(query) < qaShortestQuery:
			qa.ShortQuery++
			return nil
		}
		count[string(query)]++
		docs = append(docs, qaDoc{op.id, string(query), rest})
		return nil
	})
	if err != nil {
		return QA{}, err
	}
	out := newWriter(w)
	for _, d := range docs {
		if count[d.query] > 1 {
			qa.SharedQuery++
			continue
		}
		qa.Queries++
		if err := out.addWithQuery(Doc{ID: []byte(d.id), Text: d.text}, "q:"+d.id, d.query); err != nil {
			return QA{}, err
		}
	}
	qa.Manifest, err = out.finish(TechdocsQA, TechdocsQARule)
	return qa, err
}

// qaDoc is a document of techdocs-qa and its query.
type qaDoc struct {
	id, query string
	text      []byte
}

// firstSentence gives the length of the first sentence of text, whose white space
// is collapsed. It ends behind the first full stop, exclamation or question mark,
// and the closing quotes and brackets on it, that stands before a space and
// something other than a lower-case letter, or at the end; the stops of e.g., i.e.,
// etc., vs. and of a single letter (U.S.) end none. A text without such a place is
// one sentence.
func firstSentence(text []byte) int {
	for i := 0; i < len(text); i++ {
		if ch := text[i]; ch != '.' && ch != '!' && ch != '?' {
			continue
		}
		end := i + 1
		for end < len(text) && bytes.IndexByte([]byte(`"')]`), text[end]) >= 0 {
			end++
		}
		if end == len(text) {
			return end
		}
		if text[end] != ' ' {
			continue
		}
		next, _ := utf8.DecodeRune(text[end+1:])
		if unicode.IsLower(next) || text[i] == '.' && abbreviates(text[:i]) {
			continue
		}
		return end
	}
	return len(text)
}

// abbreviates says whether the full stop behind before belongs to an abbreviation.
func abbreviates(before []byte) bool {
	word := before[bytes.LastIndexAny(before, " (")+1:]
	switch string(bytes.ToLower(word)) {
	case "e.g", "i.e", "etc", "vs":
		return true
	}
	last := word[bytes.LastIndexByte(word, '.')+1:]
	return len(last) == 1 && unicode.IsLetter(rune(last[0]))
}
