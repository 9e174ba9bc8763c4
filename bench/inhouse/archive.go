package inhouse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// archiveFile is the one file of an archive folder.
const archiveFile = "failures.jsonl"

// lineBegin is how each of its lines begins.
const lineBegin = `{"run":`

// Status is what a failure came to.
type Status string

// The statuses.
const (
	Open     Status = "open"     // failed in its latest run
	Fixed    Status = "fixed"    // failed once, not in its latest run
	Reopened Status = "reopened" // failed in its latest run, after it was fixed
)

// ArchivedRun is one run that was recorded. In the file it is a line, followed by
// Lines lines of failures.
type ArchivedRun struct {
	Run        int       `json:"run"` // from 1
	Time       time.Time `json:"time"`
	Model      string    `json:"model"`
	Protocol   string    `json:"protocol,omitempty"` // its hash
	Collection string    `json:"collection"`         // name
	SHA256     string    `json:"collection_sha256"`
	Cut        int       `json:"cut"` // a query fails without a relevant document among so many
	Queries    int       `json:"queries"`
	Failed     int       `json:"failed"`
	New        int       `json:"new"`      // failed for the first time
	Fixed      int       `json:"fixed"`    // failed before, not now
	Reopened   int       `json:"reopened"` // fixed before, failed now
	Lines      int       `json:"lines"`
}

// Event is what a run did to a query: it failed, or it was fixed.
type Event struct {
	Run    int    `json:"run"`
	Status Status `json:"status"`
	Failure
}

// Entry is the history of one query.
type Entry struct {
	Collection string // name without its part
	Status     Status
	Events     []Event // in the order of the runs
}

// Latest gives the last failure of the query.
func (e *Entry) Latest() *Event {
	for i := len(e.Events) - 1; i >= 0; i-- {
		if e.Events[i].Status != Fixed {
			return &e.Events[i]
		}
	}
	return &e.Events[len(e.Events)-1]
}

// Times gives the number of runs in which the query failed.
func (e *Entry) Times() int {
	n := 0
	for _, v := range e.Events {
		if v.Status != Fixed {
			n++
		}
	}
	return n
}

// Archive is what a folder of failures holds.
type Archive struct {
	Runs    []ArchivedRun
	Entries []*Entry // in the order in which queries first failed

	byQuery map[pair]*Entry // collection and query
	whole   int64           // bytes of whole runs
}

// ReadArchive reads the archive in a folder. A run at the end that was cut short is
// left out. A folder without one gives fs.ErrNotExist.
func ReadArchive(dir string) (*Archive, error) {
	path := filepath.Join(dir, archiveFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &Archive{byQuery: map[pair]*Entry{}}
	r := bufio.NewReaderSize(f, 1<<20)
	var run ArchivedRun
	var events []Event
	var read int64
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			// A last line without its end is no whole line. It goes when the next run is
			// added, so it must be ours.
			if n := min(len(line), len(lineBegin)); string(line[:n]) != lineBegin[:n] {
				return nil, fmt.Errorf("read archive %s:%d: a line that begins with %.20q is none of an archive; name another folder", path, number, line)
			}
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		read += int64(len(line))
		if err := json.Unmarshal(line, pick(run.Lines == len(events), &run, &events)); err != nil {
			return nil, fmt.Errorf("read archive %s:%d: %w", path, number, err)
		}
		if len(events) == 0 && run.Run != len(a.Runs)+1 {
			return nil, fmt.Errorf("read archive %s:%d: run %d, expected %d: lines are missing or doubled", path, number, run.Run, len(a.Runs)+1)
		}
		if n := len(events); n > 0 && events[n-1].Run != run.Run {
			return nil, fmt.Errorf("read archive %s:%d: a failure of run %d within run %d: lines are missing or doubled", path, number, events[n-1].Run, run.Run)
		}
		if run.Lines == len(events) {
			a.add(run, events)
			run, events = ArchivedRun{}, nil
			a.whole = read
		}
	}
}

// pick gives what the next line is read into: a run at its beginning, else one more
// event.
func pick(first bool, run *ArchivedRun, events *[]Event) any {
	if first {
		return run
	}
	*events = append(*events, Event{})
	return &(*events)[len(*events)-1]
}

func (a *Archive) add(run ArchivedRun, events []Event) {
	a.Runs = append(a.Runs, run)
	for _, v := range events {
		at := pair{whole(run.Collection), v.Query}
		e := a.byQuery[at]
		if e == nil {
			e = &Entry{Collection: at.query}
			a.byQuery[at] = e
			a.Entries = append(a.Entries, e)
		}
		e.Events = append(e.Events, v)
		e.Status = v.Status
	}
}

// ErrHeldOut: failures of the held-out part are not archived.
var ErrHeldOut = errors.New("failures of the held-out part are not archived: whoever reads them tunes on them; use the dev part")

// Record adds a run to the archive in dir, which is made where it is not there, and
// marks earlier failures as fixed or reopened. run brings what Failures does not
// know: model, protocol and, where it is not now, the time. Queries of f's
// collection alone are touched. part is the one that f's collection is; the
// held-out one gives ErrHeldOut. What is there is never rewritten: a run that was
// cut short at the end, which no reader sees, is removed and the new one follows.
func Record(ctx context.Context, dir string, run ArchivedRun, part Part, f *Failures) (out ArchivedRun, err error) {
	if part == HeldOut {
		return out, ErrHeldOut
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return out, fmt.Errorf("archive failures: %w", err)
	}
	err = Locked(ctx, dir, func() error {
		a, err := ReadArchive(dir)
		if errors.Is(err, fs.ErrNotExist) {
			a, err = &Archive{}, nil
		}
		if err != nil {
			return err
		}
		out = run
		events := a.compare(&out, f)
		return a.append(dir, out, events)
	})
	if err != nil {
		return out, fmt.Errorf("archive failures: %w", err)
	}
	return out, nil
}

// compare fills in run and gives its events, in the order of the collection.
func (a *Archive) compare(run *ArchivedRun, f *Failures) []Event {
	run.Run = len(a.Runs) + 1
	if run.Time.IsZero() {
		run.Time = time.Now()
	}
	run.Time = run.Time.UTC().Truncate(time.Second)
	run.Collection, run.SHA256, run.Cut, run.Queries = f.c.Name, f.c.SHA256, f.cut, f.relevant
	run.Failed, run.New, run.Fixed, run.Reopened = 0, 0, 0, 0
	missed := map[string]*Failure{}
	list := f.Missed()
	for i := range list {
		missed[list[i].Query] = &list[i]
	}
	var events []Event
	for _, q := range f.c.Queries {
		e := a.byQuery[pair{whole(f.c.Name), q.ID}]
		failed := missed[q.ID]
		switch {
		case failed != nil:
			run.Failed++
			v := Event{run.Run, Open, *failed}
			switch {
			case e == nil:
				run.New++
			case e.Status == Fixed:
				run.Reopened++
				v.Status = Reopened
			default:
				v.Status = e.Status
			}
			events = append(events, v)
		case e != nil && e.Status != Fixed && f.number[q.ID] >= 0:
			run.Fixed++
			events = append(events, Event{run.Run, Fixed, Failure{Query: q.ID, Text: q.Text, Expected: []Expected{}, Found: []Found{}}})
		}
	}
	run.Lines = len(events)
	return events
}

// append writes a run behind the last whole one.
func (a *Archive) append(dir string, run ArchivedRun, events []Event) (err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(run)
	for _, v := range events {
		err = errors.Join(err, e.Encode(v))
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, archiveFile), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(a.whole); err != nil {
		return err
	}
	if _, err := f.WriteAt(b.Bytes(), a.whole); err != nil {
		return err
	}
	return f.Sync()
}

// Find gives the histories of a query, one for each collection that has it.
func (a *Archive) Find(query string) []*Entry {
	var out []*Entry
	for _, e := range a.Entries {
		if e.Events[0].Query == query {
			out = append(out, e)
		}
	}
	return out
}
