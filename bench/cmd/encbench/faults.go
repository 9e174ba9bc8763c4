package main

import (
	"errors"
	"fmt"
	"strings"

	"encbench/metrics"
)

// faults collects what is wrong with a command's flags, so that all of it is said at
// once.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// addErr adds an error, if it is one.
func (f *faults) addErr(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

// bound is a number that a flag has, and the least that it may be.
type bound struct {
	flag         string
	value, least int
}

func (f *faults) atLeast(bounds ...bound) {
	for _, b := range bounds {
		if b.value < b.least {
			f.add("--%s %d: at least %d", b.flag, b.value, b.least)
		}
	}
}

// threads makes 0 every CPU.
func (f *faults) threads(n *int, cpus int) {
	switch {
	case *n < 0:
		f.add("--threads %d: at least 0", *n)
	case *n == 0:
		*n = cpus
	case *n > cpus:
		f.add("--threads %d: this process may use %d CPUs (%s); ask for at most that many, or raise the limit", *n, cpus, cpuLimits())
	}
}

func (f *faults) batch(n int) {
	if n < 1 || n > mostBatch {
		f.add("--batch-size %d: 1 to %d", n, mostBatch)
	}
}

// means reads measures of which a mean over queries is taken for what; those of a
// preset that have none are named in leftOut.
func (f *faults) means(list, what string) (parsed []metrics.Measure, leftOut []string) {
	all, err := metrics.ParseList(list)
	if err != nil {
		f.add("--measures: %w", err)
	}
	for _, m := range all {
		if m.Counts() || !m.PerQuery() {
			leftOut = append(leftOut, m.String())
			continue
		}
		parsed = append(parsed, m)
	}
	if err == nil && len(parsed) == 0 {
		f.add("--measures %s: a mean over queries is what is %s, name one that has it", strings.Join(leftOut, " "), what)
	}
	return parsed, leftOut
}

// join joins them, each text once: a fault of one flag shows in many configurations.
func (f faults) join() error {
	var out []error
	seen := map[string]bool{}
	for _, err := range f {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return errors.Join(out...)
}
