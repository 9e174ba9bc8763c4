package collection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Forms of MTRAG-UN's queries.
const (
	formLastTurn = "lastturn"
	formAllTurns = "allturns"
)

// mtragTask is what is used of a line of reference.jsonl: the rest, metadata with
// hashed authors and times among it, is dropped.
type mtragTask struct {
	TaskID         string `json:"task_id"`
	ConversationID string `json:"conversation_id"`
	Contexts       []struct {
		ID   string `json:"document_id"`
		Text string `json:"text"`
	} `json:"contexts"`
	Input []struct {
		Speaker string `json:"speaker"`
		Text    string `json:"text"`
	} `json:"input"`
}

// mtragUN reads MTRAG-UN's reference pool: reference.jsonl with qrels/*.tsv. The
// documents are the union of all contexts, each of which somebody wrote an answer
// from, by their text alone, without the titles that two thirds of them have. A
// query is the last turn of the user (lastturn) or all turns of the user, a line
// each (allturns).
func mtragUN(l *listing, opt Options) (*raw, error) {
	reference := slices.IndexFunc(l.files, func(f string) bool { return plain(f) == "reference.jsonl" })
	if reference < 0 {
		return nil, nil
	}
	qrels := l.parts(qrelsNames[:1])
	if qrels == nil {
		return nil, fmt.Errorf("%w: no judgements beside reference.jsonl: expected qrels/*.tsv", ErrLayout)
	}
	if err := noChoice(Options{Variant: opt.Variant}, LayoutMTRAGUN); err != nil {
		return nil, err
	}
	file := l.files[reference]
	r := &raw{layout: LayoutMTRAGUN, split: opt.Split, form: opt.Form, at: places{file, file, fileNames(qrels)}}
	switch r.form {
	case "":
		r.form = formLastTurn
	case formLastTurn, formAllTurns:
	default:
		return nil, fmt.Errorf("%w: form %q is not there: choose one of %s, %s", ErrSplit, r.form, formAllTurns, formLastTurn)
	}
	if opt.Split != "" {
		var err error
		if _, qrels, err = pick(qrels, "split", func(p part) string { return p.split }, opt.Split, ""); err != nil {
			return nil, err
		}
		r.notes = append(r.notes, fmt.Sprintf("queries of split %s alone; the pool holds the documents of all", opt.Split))
	}
	if err := r.readQrels(l, qrels); err != nil {
		return nil, err
	}
	r.notes = append(r.notes, "reference pool: the documents are the passages that reference answers were written from, a closed pool far easier than the full corpora; not comparable with published figures")
	if r.form == formLastTurn {
		r.notes = append(r.notes, "a query is the last turn of the user")
	} else {
		r.notes = append(r.notes, "a query is all turns of the user, one a line")
	}
	r.notes = append(r.notes, "documents are the text of passages without the titles that some have",
		"turns of one conversation are not independent: they share a group")
	return r, r.mtragTasks(l.path(file))
}

// mtragTasks reads queries and documents.
func (r *raw) mtragTasks(path string) error {
	var docs []document
	at := map[string]int{}
	err := eachLine(path, func(line []byte, number int) error {
		if _, err := parseObject(line); err != nil {
			return err
		}
		var t mtragTask
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("not a task: %w", err)
		}
		if t.TaskID == "" {
			return fmt.Errorf("no task_id")
		}
		place := path + ":" + strconv.Itoa(number)
		for i, c := range t.Contexts {
			if c.ID == "" {
				return fmt.Errorf("task %q: context %d has no document_id", t.TaskID, i+1)
			}
			if k, ok := at[c.ID]; ok {
				if string(docs[k].text) != c.Text {
					return fmt.Errorf("%w: document %q has another text at %s", ErrLabels, c.ID, docs[k].place)
				}
				continue
			}
			at[c.ID] = len(docs)
			docs = append(docs, document{id: []byte(c.ID), text: []byte(c.Text), place: place})
		}
		var turns []string
		for _, in := range t.Input {
			if in.Speaker == "user" {
				turns = append(turns, in.Text)
			}
		}
		if len(turns) == 0 {
			return fmt.Errorf("task %q: input has no turn of the user", t.TaskID)
		}
		if r.form == formLastTurn {
			turns = turns[len(turns)-1:]
		}
		r.queries = append(r.queries, placed{Query{ID: t.TaskID, Text: strings.Join(turns, "\n"), Group: t.ConversationID}, place})
		return nil
	})
	r.docs = inMemory(docs, LayoutMTRAGUN)
	return err
}
