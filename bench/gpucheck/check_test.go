package gpucheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// sticky is an error of a device that is lost.
type sticky struct{ error }

func (sticky) Sticky() bool { return true }

// try runs three sections, of which some have errors, and gives those that ran.
func try(ctx context.Context, r *Record, opt Options, errs map[string]error) (ran []string, err error) {
	all := []Section{{Name: "driver"}, {Name: "copies"}, {Name: "search"}}
	err = r.through(ctx, all, opt, func(s Section, result *Result) error {
		ran = append(ran, s.Name)
		result.value("x", 1, "")
		return errs[s.Name]
	})
	return ran, err
}

func TestThrough(t *testing.T) {
	fault := errors.New("a wrong row")
	r, saves := &Record{}, 0
	opt := Options{Save: func(*Record) error { saves++; return nil }}
	ran, err := try(t.Context(), r, opt, map[string]error{"copies": fault})
	if err == nil || err.Error() != "found faults in copies" || len(ran) != 3 || saves != 3 || r.find("copies").Passed() || r.find("copies").Error != "a wrong row" || !r.find("search").Passed() {
		t.Errorf("a fault: ran %v, saved %d, %v", ran, saves, err)
	}
	// What passed is not run again, what failed is.
	if ran, err = try(t.Context(), r, opt, nil); err != nil || !slices.Equal(ran, []string{"copies"}) || len(r.Done) != 3 {
		t.Errorf("again: ran %v, %v, %d results", ran, err, len(r.Done))
	}
	opt.Again = true
	if ran, err = try(t.Context(), r, opt, nil); err != nil || len(ran) != 3 || len(r.Done) != 3 {
		t.Errorf("all again: ran %v, %v, %d results", ran, err, len(r.Done))
	}
	// A device that is lost ends the check.
	r = &Record{}
	ran, err = try(t.Context(), r, Options{}, map[string]error{"copies": sticky{errors.New("device lost")}})
	if err == nil || err.Error() != "section copies: device lost; the sections after it were not run" || len(ran) != 2 || len(r.Done) != 2 {
		t.Errorf("lost: ran %v, %v", ran, err)
	}
	// What is interrupted leaves no result.
	ctx, cancel := context.WithCancel(t.Context())
	r = &Record{}
	opt = Options{Began: func(s Section, n, of int) {
		if s.Name == "copies" && n == 2 && of == 3 {
			cancel()
		}
	}}
	ran, err = try(ctx, r, opt, map[string]error{"copies": context.Canceled})
	if !errors.Is(err, context.Canceled) || len(ran) != 2 || len(r.Done) != 1 {
		t.Errorf("interrupted: ran %v, %v, %d results", ran, err, len(r.Done))
	}
	full := errors.New("no space")
	if ran, err = try(t.Context(), &Record{}, Options{Save: func(*Record) error { return full }}, nil); !errors.Is(err, full) || len(ran) != 1 {
		t.Errorf("not saved: ran %v, %v", ran, err)
	}
}

func TestChoose(t *testing.T) {
	all := []Section{{Name: "driver"}, {Name: "copies"}, {Name: "search"}}
	got, err := choose(all, []string{"search", " driver"})
	if err != nil || names(got) != "driver, search" {
		t.Errorf("%s, %v", names(got), err)
	}
	if _, err := choose(all, []string{"speed"}); err == nil || err.Error() != `no section "speed": driver, copies, search` {
		t.Error(err)
	}
}

// A record is gone on from by the same program on the same device with the same sizes.
// Another program begins it anew; that of another device or of other sizes stays.
func TestGoOn(t *testing.T) {
	now := Record{Tool: "1 abc", Device: "H100", UUID: "GPU-1"}
	done := []*Result{{Section: "driver"}}
	for _, c := range []struct {
		before *Record
		want   string
		done   int
	}{
		{nil, "", 0},
		{&Record{Tool: "1 abc", Device: "H100", UUID: "GPU-1", Done: done}, "", 1},
		{&Record{Tool: "1 abd", Device: "H100", UUID: "GPU-1", Done: done}, "", 0},
		{&Record{Tool: "1 abc", Device: "L4", UUID: "GPU-2", Done: done}, "the record there is of L4 (GPU-2) in whole sizes, and this check is of H100 (GPU-1) in whole sizes: name another file, or remove it", 0},
		{&Record{Tool: "1 abc", Device: "H100", UUID: "GPU-1", Fake: true, Done: done}, "of H100 of the fake driver (GPU-1) in whole sizes", 0},
		{&Record{Tool: "1 abc", Device: "H100", UUID: "GPU-1", Small: true, Done: done}, "of H100 (GPU-1) in small sizes, and", 0},
	} {
		r := now
		err := r.goOn(c.before)
		if len(r.Done) != c.done || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %d sections, %v", c.before, len(r.Done), err)
		}
	}
}

// The limits of the sections add up to what the check promises.
func TestLimits(t *testing.T) {
	var sum float64
	var without []string
	for _, s := range Sections() {
		sum += s.limit.Minutes()
		if s.limit <= 0 || s.About == "" {
			without = append(without, s.Name)
		}
	}
	if sum > 8 || len(without) > 0 {
		t.Errorf("%.1f minutes in all; without a limit or a word: %s", sum, strings.Join(without, ", "))
	}
}
