package inhouse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"encbench/bench/collection"
)

// ledgerSchema is the version of the ledger's format.
const ledgerSchema = 1

// Ledger is the JSON file beside a collection that keeps the rule of its split and
// every look at the held-out part. It belongs into version control with the labels.
type Ledger struct {
	Schema int `json:"schema"`
	Plan
	// Assigned gives the parts of groups ("g" and the group) and of queries without
	// one ("q" and the id), where there are strata; empty where the hash alone tells.
	Assigned map[string]Part `json:"assigned,omitempty"`
	Looks    []Look          `json:"looks"`
}

// Look is one printing of a figure of the held-out part.
type Look struct {
	Time     time.Time `json:"time"`   // UTC
	Digest   string    `json:"digest"` // of the split then
	Queries  int       `json:"queries"`
	Model    string    `json:"model"`
	Protocol string    `json:"protocol,omitempty"` // its hash
	Measures []string  `json:"measures,omitempty"`
}

// LedgerPath gives the place of the ledger of the collection at path: heldout.json
// in a folder, or FILE.heldout.json beside a file.
func LedgerPath(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "heldout.json")
	}
	return path + ".heldout.json"
}

// ReadLedger reads a ledger. Where there is none the error is fs.ErrNotExist.
func ReadLedger(path string) (*Ledger, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := decodeAll(d, l); err != nil {
		return nil, fmt.Errorf("read ledger %s: %w; restore it from a copy: without it looks would be lost", path, err)
	}
	if l.Schema != ledgerSchema {
		return nil, fmt.Errorf("read ledger %s: schema %d, this program knows %d", path, l.Schema, ledgerSchema)
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", path, err)
	}
	for key, p := range l.Assigned {
		if p != Dev && p != HeldOut {
			return nil, fmt.Errorf("read ledger %s: %q is assigned to %q, expected dev or heldout", path, key, p)
		}
	}
	return l, nil
}

// decodeAll reads a file that holds one JSON value.
func decodeAll(d *json.Decoder, v any) error {
	if err := d.Decode(v); err != nil {
		return err
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON value that ends at byte %d", end)
	}
	return nil
}

func (l *Ledger) write(path string) error {
	return replace(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(l)
	})
}

// Errors of opening and recording a split.
var (
	// ErrNoSplit: nobody recorded a split of the collection.
	ErrNoSplit = errors.New("no split recorded")
	// ErrPlan: the plan cannot be, or it is not the recorded one.
	ErrPlan = errors.New("not a plan that can be used")
)

// planError is an ErrPlan in words of its own.
type planError string

func (e planError) Error() string        { return string(e) }
func (e planError) Is(target error) bool { return target == ErrPlan }

// RecordSplit makes the split of the collection at path and writes its plan to the
// ledger, DefaultPlan where a field is zero. Where a split is recorded it is opened
// as OpenSplit does, and a field of plan that differs from it is ErrPlan. strata
// gives the values of a field of the queries, in their order; it is called where
// the plan has one.
func RecordSplit(ctx context.Context, path string, plan Plan, queries []collection.Query, strata func(field string) ([]string, error)) (*Split, error) {
	return openSplit(ctx, path, &plan, queries, strata)
}

// OpenSplit makes the recorded split of the collection at path. It never records
// one: without a ledger the error is ErrNoSplit and says how to make one. Parts of
// queries that came since are added to the ledger where there are strata. strata is
// that of RecordSplit.
func OpenSplit(ctx context.Context, path string, queries []collection.Query, strata func(field string) ([]string, error)) (*Split, error) {
	return openSplit(ctx, path, nil, queries, strata)
}

// openSplit opens the recorded split; plan, nil for none, is recorded where there
// is none yet.
func openSplit(ctx context.Context, path string, plan *Plan, queries []collection.Query, strata func(field string) ([]string, error)) (s *Split, err error) {
	ledger := LedgerPath(path)
	err = Locked(ctx, filepath.Dir(ledger), func() error {
		l, err := ReadLedger(ledger)
		fresh := errors.Is(err, fs.ErrNotExist)
		switch {
		case fresh && plan == nil:
			return fmt.Errorf("%w; encbench labels split %s --share %g", ErrNoSplit, path, DefaultPlan.Share)
		case fresh:
			l = &Ledger{Schema: ledgerSchema, Plan: plan.orDefault(), Looks: []Look{}}
		case err != nil:
			return err
		case plan != nil:
			if err := l.agrees(ledger, *plan); err != nil {
				return err
			}
		}
		var values []string
		if l.By != "" {
			if values, err = strata(l.By); err != nil {
				return err
			}
		}
		if s, err = NewSplit(l.Plan, queries, values, l.Assigned); err != nil {
			return err
		}
		known := len(l.Assigned)
		if l.By != "" {
			if l.Assigned == nil {
				l.Assigned = map[string]Part{}
			}
			maps.Copy(l.Assigned, s.units)
		}
		if !fresh && len(l.Assigned) == known {
			return nil
		}
		if err := l.write(ledger); err != nil {
			return fmt.Errorf("record the split: %w; a split needs a folder that can be written to", err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("split %s: %w", path, err)
	}
	return s, nil
}

// orDefault is p with DefaultPlan's value where a field is zero.
func (p Plan) orDefault() Plan {
	if p.Salt == "" {
		p.Salt = DefaultPlan.Salt
	}
	if p.Share == 0 {
		p.Share = DefaultPlan.Share
	}
	return p
}

// agrees compares a plan with the recorded one.
func (l *Ledger) agrees(path string, plan Plan) error {
	differ := func(what string, want, have any) error {
		return planError(fmt.Sprintf("%s %v: %s has %v and %s; leave it out to use the recorded split, or remove the file to begin a new one, whose looks start at 0",
			what, want, path, have, count(len(l.Looks), "look", "looks")))
	}
	switch {
	case plan.Salt != "" && plan.Salt != l.Salt:
		return differ("salt", fmt.Sprintf("%q", plan.Salt), fmt.Sprintf("%q", l.Salt))
	case plan.Share != 0 && plan.Share != l.Share:
		return differ("a held-out share of", plan.Share, l.Share)
	case plan.By != "" && plan.By != l.By:
		return differ("strata by", fmt.Sprintf("%q", plan.By), fmt.Sprintf("%q", l.By))
	}
	return nil
}

// Looks counts looks at the held-out part.
type Looks struct {
	Total  int `json:"total"`  // since the split was made
	Digest int `json:"digest"` // of them, with the queries of now
}

// CountLook records a look at the held-out part of the collection at path, before
// its figure is printed, and gives the counts with it. Where it cannot be recorded
// there must be no figure. A zero Time is now.
func (s *Split) CountLook(ctx context.Context, path string, look Look) (n Looks, err error) {
	ledger := LedgerPath(path)
	look.Digest, look.Queries = s.Digest, s.HeldOut
	if look.Time.IsZero() {
		look.Time = time.Now()
	}
	look.Time = look.Time.UTC().Truncate(time.Second)
	err = Locked(ctx, filepath.Dir(ledger), func() error {
		l, err := ReadLedger(ledger)
		if err != nil {
			return err
		}
		if l.Plan != s.Plan {
			return fmt.Errorf("the split of %s was changed meanwhile", ledger)
		}
		l.Looks = append(l.Looks, look)
		for _, at := range l.Looks {
			n.Total++
			if at.Digest == s.Digest {
				n.Digest++
			}
		}
		return l.write(ledger)
	})
	if err != nil {
		return Looks{}, fmt.Errorf("count the look at the held-out part: %w", err)
	}
	return n, nil
}
