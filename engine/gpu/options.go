package gpu

import (
	"cmp"
	"errors"
	"fmt"

	"encbench/engine"
	"encbench/kernels"
)

// Options of a search. Only Dim has to be set.
type Options struct {
	Dim    int           // values of a row, 1 or more
	Metric engine.Metric // default engine.InnerProduct
	Store  engine.Store  // default: as the rows come; engine.StoreInt8 is refused
	// Rows, Queries and K are what is expected: all rows, and the queries and k of a
	// search. The plan of the memory rests on them, no result does. 0 is not known; then
	// room is left for rows that are streamed, for 1,024 queries and for k of 100.
	Rows       int64
	Queries, K int
	// Variant chooses the kernels; the zero value is the portable ones, which every device
	// runs. SM90A is for H100 and H200 alone.
	Variant kernels.Variant
	// Kept is how many rows more than k a query keeps before they are scored by the
	// rule; 0 is a choice by k.
	Kept int
	// PanelRows are the least rows between two rises of the thresholds; 0 is 65,536. They
	// grow as thresholds settle.
	PanelRows int
	// PrimeRows are the rows of the sample that the first thresholds of a block are from;
	// 0 is 65,536, −1 is none.
	PrimeRows int
	// BlockRows are the rows of an allocation and of a streamed block; 0 is a choice by
	// the row's size.
	BlockRows int
	// Stream keeps all rows on the host, also where they fit on the device; Slots are the
	// streamed blocks in flight, 0 is two. Both are for measuring what streaming costs.
	Stream bool
	Slots  int

	most  int   // rows that a query keeps at most; 0 is kernels.MostSorted. Tests have it low.
	room  int   // keys of a list; 0 is twice most
	stay  int64 // rows of a device that stay at most; 0 is as many as fit, −1 none
	stage int   // bytes of a staging buffer; 0 is stageBytes
}

// MostPass is the most rows of a query that one pass gives.
const MostPass = 2048

const (
	panelRows  = 1 << 16
	mostPanel  = 1 << 24
	primeRows  = 1 << 16
	stageBytes = 16 << 20
)

// limits are the most rows that a query keeps, and the keys of a list.
func (o Options) limits() (most, room int) {
	most = cmp.Or(o.most, kernels.MostSorted)
	return most, cmp.Or(o.room, 2*most)
}

// stays are the rows that stay on a device at most, as Need has it.
func (o Options) stays() int64 {
	if o.Stream {
		return -1
	}
	return o.stay
}

// kept is how many rows a query keeps that asks for k.
func (o Options) kept(k int) int {
	most, _ := o.limits()
	return min(most, k+cmp.Or(o.Kept, max(32, k/8)))
}

// Validate lists everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Dim < 1 {
		errs = append(errs, fmt.Errorf("dim: expected 1 or more, found %d", o.Dim))
	}
	if o.Metric > engine.L2 {
		errs = append(errs, fmt.Errorf("metric: expected ip, cosine or l2, found %s", o.Metric))
	}
	switch {
	case o.Store == engine.StoreInt8:
		errs = append(errs, errors.New("store: int8 rows are searched by the processor only; expected given, float32, float16 or bfloat16"))
	case o.Store > engine.StoreInt8:
		errs = append(errs, fmt.Errorf("store: expected given, float32, float16 or bfloat16, found %s", o.Store))
	}
	if o.Rows < 0 || o.Queries < 0 || o.K < 0 || o.Kept < 0 || o.PanelRows < 0 || o.BlockRows < 0 || o.Slots < 0 || o.PrimeRows < -1 {
		errs = append(errs, fmt.Errorf("rows %d, queries %d, k %d, kept %d, panel rows %d, block rows %d, slots %d: none may be negative, and prime rows, %d, not below -1",
			o.Rows, o.Queries, o.K, o.Kept, o.PanelRows, o.BlockRows, o.Slots, o.PrimeRows))
	}
	return errors.Join(errs...)
}
