// Package gpucheck tries a GPU from the driver up, the cheapest risk first: does the
// driver take what this program was built with, are the results right, how fast are
// copies, searches, their overlap and encoding, and how far is that from what the part
// can do.
//
// A check is a list of sections. The record is written after each of them, so that a
// check that is cut off keeps what it found, and one that is started again goes on where
// it stopped. On the fake driver of tests all sections run with small sizes; its rates
// mean nothing and the record says so.
package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"encbench/engine/ort"
)

// Value is one figure of a section.
type Value struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	// Share is of what the device could do by the model that Of names; 0 = none is known.
	Share float64 `json:"share,omitempty"`
	Of    string  `json:"of,omitempty"`
}

// Result is what a section found.
type Result struct {
	Section string    `json:"section"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Facts   []string  `json:"facts,omitempty"`
	Values  []Value   `json:"values,omitempty"`
	LeftOut string    `json:"left_out,omitempty"` // why nothing was tried
	Error   string    `json:"error,omitempty"`    // what is wrong
}

// Passed says whether the section ran and found nothing wrong.
func (r *Result) Passed() bool { return r.Error == "" && r.LeftOut == "" }

func (r *Result) fact(format string, args ...any) {
	r.Facts = append(r.Facts, fmt.Sprintf(format, args...))
}

func (r *Result) value(name string, v float64, unit string) {
	r.Values = append(r.Values, Value{Name: name, Value: v, Unit: unit})
}

// valueOf is value with the share of what is possible.
func (r *Result) valueOf(name string, v float64, unit string, possible float64, of string) {
	x := Value{Name: name, Value: v, Unit: unit}
	if possible > 0 {
		x.Share, x.Of = v/possible, of
	}
	r.Values = append(r.Values, x)
}

// Record is a check of one device by one program.
type Record struct {
	Tool   string    `json:"tool"` // version and commit
	Device string    `json:"device"`
	UUID   string    `json:"uuid"`
	Fake   bool      `json:"fake,omitempty"` // the driver of tests, on no GPU
	Small  bool      `json:"small,omitempty"`
	Done   []*Result `json:"sections"`
}

// ErrOther says that the record of an earlier start is of another device or of other sizes.
var ErrOther = errors.New("the record there is of")

// goOn takes over the sections of an earlier start. What another program found is of no
// use for this one; what was found on another device, or with other sizes, is no earlier
// start of this check, and stays.
func (r *Record) goOn(before *Record) error {
	if before == nil {
		return nil
	}
	if before.UUID != r.UUID || before.Fake != r.Fake || before.Small != r.Small {
		return fmt.Errorf("%w %s, and this check is of %s: name another file, or remove it", ErrOther, before.about(), r.about())
	}
	if before.Tool == r.Tool {
		r.Done = before.Done
	}
	return nil
}

// about names the device and the sizes of a record.
func (r *Record) about() string {
	sizes := "whole"
	if r.Small {
		sizes = "small"
	}
	driver := ""
	if r.Fake {
		driver = " of the fake driver"
	}
	return fmt.Sprintf("%s%s (%s) in %s sizes", r.Device, driver, r.UUID, sizes)
}

// Section is a part of a check.
type Section struct {
	Name, About string
	limit       time.Duration
	run         func(ctx context.Context, c *check, r *Result) error
}

// LeftOut is the error of what cannot be tried, as it is not on this machine.
type LeftOut struct{ Why error }

func (e LeftOut) Error() string { return e.Why.Error() }

// Options of a check.
type Options struct {
	Device int
	Tool   string // version and commit, for the record
	Small  bool   // sizes for the fake driver and for trying the check itself
	Only   []string
	// Runtime gives ONNX Runtime with its CUDA provider. Where it is nil or its error is a
	// LeftOut the encode section is left out.
	Runtime func() (*ort.Runtime, error)
	Before  *Record // of an earlier start; its sections are not run again where the same program ran them; one of another device is refused
	Again   bool    // run all of them again
	// Began and Save are called before and after every section; they may be nil.
	Began func(s Section, number, of int)
	Save  func(*Record) error
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.Device < 0 {
		errs = append(errs, fmt.Errorf("device %d: expected 0 or more", o.Device))
	}
	if all := Sections(); len(all) > 0 { // a build without CUDA has none, and says so when it runs
		_, err := choose(all, o.Only)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// names lists sections.
func names(all []Section) string {
	var out []string
	for _, s := range all {
		out = append(out, s.Name)
	}
	return strings.Join(out, ", ")
}

// choose gives the sections of --only, in the order of the check.
func choose(all []Section, only []string) ([]Section, error) {
	if len(only) == 0 {
		return all, nil
	}
	var out []Section
	only = slices.Clone(only)
	for i, name := range only {
		name = strings.TrimSpace(name)
		only[i] = name
		if !slices.ContainsFunc(all, func(s Section) bool { return s.Name == name }) {
			return nil, fmt.Errorf("no section %q: %s", name, names(all))
		}
	}
	for _, s := range all {
		if slices.Contains(only, s.Name) {
			out = append(out, s)
		}
	}
	return out, nil
}

// put replaces the result of a section, or adds it.
func (r *Record) put(result *Result) {
	for i, old := range r.Done {
		if old.Section == result.Section {
			r.Done[i] = result
			return
		}
	}
	r.Done = append(r.Done, result)
}

// find gives the result of a section, nil where there is none.
func (r *Record) find(section string) *Result {
	for _, d := range r.Done {
		if d.Section == section {
			return d
		}
	}
	return nil
}

// through runs sections one after the other. A section that finds a fault does not end
// the check, unless the device is lost or ctx ends; the error names the sections that
// failed.
func (r *Record) through(ctx context.Context, sections []Section, opt Options, run func(Section, *Result) error) error {
	var failed []string
	for i, s := range sections {
		if old := r.find(s.Name); old != nil && old.Passed() && !opt.Again {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if opt.Began != nil {
			opt.Began(s, i+1, len(sections))
		}
		result := &Result{Section: s.Name, Started: time.Now().UTC()}
		err := run(s, result)
		result.Seconds = time.Since(result.Started).Seconds()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			result.Error = err.Error()
			failed = append(failed, s.Name)
		}
		r.put(result)
		if opt.Save != nil {
			if err := opt.Save(r); err != nil {
				return err
			}
		}
		if lost(err) {
			return fmt.Errorf("section %s: %w; the sections after it were not run", s.Name, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("found faults in %s", strings.Join(failed, ", "))
	}
	return nil
}

// lost says whether the device can do nothing more.
func lost(err error) bool {
	var e interface{ Sticky() bool }
	return errors.As(err, &e) && e.Sticky()
}
