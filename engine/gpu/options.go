package gpu

import (
	"cmp"
	"errors"
	"fmt"

	"encbench/kernels"
)

// Metric says how a query and a row are scored, as engine/cpu defines it.
type Metric uint8

// The metrics, numbered as those of engine/cpu.
const (
	InnerProduct Metric = iota
	Cosine
	L2
)

// Options of a search. Only Dim has to be set.
type Options struct {
	Dim    int
	Metric Metric
	// Kept is how many rows more than k a query keeps before they are scored by the
	// rule; 0 is a choice by k.
	Kept int
	// PanelRows are the rows between two rises of the thresholds; 0 is 65,536.
	PanelRows int
	// BlockRows are the rows of an allocation; 0 is a choice by the row's size.
	BlockRows int

	most int // rows that a query keeps at most; 0 is kernels.MostSorted. Tests have it low.
	room int // keys of a list; 0 is twice most
}

// MostK is the largest k of a search.
const MostK = 2048

// limits are the most rows that a query keeps, and the keys of a list.
func (o Options) limits() (most, room int) {
	most = cmp.Or(o.most, kernels.MostSorted)
	return most, cmp.Or(o.room, 2*most)
}

// Validate lists everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Dim < 1 {
		errs = append(errs, fmt.Errorf("dim: expected 1 or more, found %d", o.Dim))
	}
	if o.Metric > L2 {
		errs = append(errs, fmt.Errorf("metric: expected inner product, cosine or L2, found %d", o.Metric))
	}
	if o.Kept < 0 || o.PanelRows < 0 || o.BlockRows < 0 {
		errs = append(errs, fmt.Errorf("kept %d, panel rows %d, block rows %d: none may be negative", o.Kept, o.PanelRows, o.BlockRows))
	}
	return errors.Join(errs...)
}
