package trec

import (
	"fmt"
	"io"
	"strings"

	"encbench/metrics/judge"
)

// QrelsOptions says how judgements are read.
type QrelsOptions struct {
	// Lenient skips lines that cannot be read, and judgements that contradict an
	// earlier one, and counts them.
	Lenient bool
	// Comments skips lines whose first byte is #.
	Comments bool
}

// QrelsStats is the account of what was read.
type QrelsStats struct {
	Layout     string // the columns that the file was read by
	Lines      int64
	Judgements int
	Marks      int   // byte order marks removed
	Blank      int64 // blank lines, and comments where asked
	Skipped    int64 // lines that a lenient reading left out
	Fault      *FormatError
}

// ReadQrels reads judgements strictly; see [ReadQrelsWith].
func ReadQrels(r io.Reader, name string) (*judge.Qrels, error) {
	q, _, err := ReadQrelsWith(r, name, QrelsOptions{})
	return q, err
}

// ReadQrelsWith reads judgements, named name in messages. The first line tells the
// layout, and every further line has to keep it:
//
//	query iteration document grade   TREC, MS MARCO; separated by spaces and tabs
//	query document grade             the same without the iteration
//	query document                   the same without grade, which is then 1
//	query-id⇥corpus-id⇥score         a header of column names, as BEIR and MTEB
//	                                 have it: columns in any order, tabs alone
//	{"qid": …, "did": …, "score": …} JSON, an object a line
//
// Known column names are query-id, query_id, qid, q_id, topic; corpus-id,
// corpus_id, did, doc_id, docid, docno, pid; score, relevance, rel, label; other
// columns are ignored, and a missing grade is 1. A grade is a decimal number within
// ±1e15.
//
// The error is a *FormatError for a line that cannot be read or that contradicts
// an earlier one, and wraps ErrEmpty for an empty
// file and ErrNoJudgement for one that has a header alone.
func ReadQrelsWith(r io.Reader, name string, opt QrelsOptions) (*judge.Qrels, QrelsStats, error) {
	var all strings.Builder
	if _, err := io.Copy(&all, r); err != nil {
		return nil, QrelsStats{}, (&chunker{name: name}).broken(err)
	}
	q := &qrelsReader{name: name, opt: opt, qrels: new(judge.Qrels)}
	err := q.read(all.String())
	return q.qrels, q.stats, err
}

type qrelsReader struct {
	name   string
	opt    QrelsOptions
	qrels  *judge.Qrels
	stats  QrelsStats
	layout *qrelsLayout
	fields []field
}

// judgement is a line of judgements.
type judgement struct {
	query, document string
	grade           float64
}

func (q *qrelsReader) read(text string) error {
	if strings.HasPrefix(text, byteOrderMark) {
		text = text[len(byteOrderMark):]
		q.stats.Marks++
	} else if other := otherMark([]byte(text[:min(4, len(text))])); other != "" {
		return &FormatError{q.name, 1, 1, utf8Expected(other)}
	}
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSuffix(line, "\r")
		text = rest
		q.stats.Lines++
		if strings.Trim(line, " \t") == "" || q.opt.Comments && line[0] == '#' {
			q.stats.Blank++
			continue
		}
		if p := q.line(line); p != nil {
			err := &FormatError{q.name, int(q.stats.Lines), p.column, p.text}
			if !q.opt.Lenient || q.layout == nil {
				return err
			}
			if q.stats.Skipped++; q.stats.Fault == nil {
				q.stats.Fault = err
			}
		}
	}
	if q.qrels.Len() == 0 {
		if q.stats.Skipped > 0 {
			return fmt.Errorf("%s: no line is a judgement; the first fault: %w", q.name, q.stats.Fault)
		}
		if q.layout != nil {
			return fmt.Errorf("%s: %w", q.name, ErrNoJudgement)
		}
		return fmt.Errorf("%s: no judgements: %w", q.name, ErrEmpty)
	}
	return nil
}

// line takes one line that is not blank.
func (q *qrelsReader) line(line string) *problem {
	if q.layout == nil {
		layout, header, p := detectQrels(line)
		if p != nil {
			return p
		}
		q.layout, q.stats.Layout = layout, layout.spelled
		if header {
			return nil
		}
	}
	var j judgement
	var p *problem
	switch {
	case q.layout.json:
		j, p = parseJudgementJSON(line)
	case q.layout.tabs:
		j, p = q.layout.parseTabs(line)
	default:
		j, p = q.parseColumns(line)
	}
	if p == nil {
		p = checkIDs(j)
	}
	if p != nil {
		return p
	}
	if err := q.qrels.Add(j.query, j.document, j.grade); err != nil {
		return faulty(0, "%v", err)
	}
	q.stats.Judgements++
	return nil
}

func checkIDs(j judgement) *problem {
	for _, id := range []string{j.query, j.document} {
		if len(id) > MaxID {
			return tooLong(1, id)
		}
		if id == "" {
			return faulty(0, "an empty id; every judgement names a query and a document")
		}
	}
	return nil
}

func tooLong[T string | []byte](column int, id T) *problem {
	return faulty(column, "an id of %d bytes, at most %d are read: %s", len(id), MaxID, quote(id))
}

func utf8Expected(other string) string {
	return fmt.Sprintf("the text is %s by its byte order mark; UTF-8 or another encoding that keeps ASCII is read", other)
}

func badGrade(column int, text string) *problem {
	return faulty(column, "grade %s is %s", quote(text), notNumber(text))
}
