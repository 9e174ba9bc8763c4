package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestInterleaveOrder(t *testing.T) {
	var order []byte
	calls := 0.0
	side := func(name byte) Timer {
		return func() (float64, error) {
			order = append(order, name)
			calls++
			return calls, nil
		}
	}
	a, b, err := Interleave(t.Context(), 4, side('A'), side('B'))
	if err != nil {
		t.Fatal(err)
	}
	// One untimed pair, then ABBA twice.
	if got := string(order); got != "BA"+"ABBA"+"ABBA" {
		t.Errorf("order = %s, want BA and then ABBAABBA", got)
	}
	if want := []float64{3, 6, 7, 10}; !slices.Equal(a, want) {
		t.Errorf("ours = %v, want %v", a, want)
	}
	if want := []float64{4, 5, 8, 9}; !slices.Equal(b, want) {
		t.Errorf("peer = %v, want %v", b, want)
	}
}

func TestInterleaveStops(t *testing.T) {
	one := func() (float64, error) { return 1, nil }
	broken := errors.New("broken")
	n := 0
	third := func() (float64, error) {
		if n++; n > 3 { // the untimed one, then two pairs
			return 0, broken
		}
		return 2, nil
	}
	a, b, err := Interleave(t.Context(), 5, one, third)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "pair 3 of 5: peer: broken") {
		t.Errorf("error = %v", err)
	}
	if !slices.Equal(a, []float64{1, 1}) || !slices.Equal(b, []float64{2, 2}) {
		t.Errorf("complete pairs = %v, %v, want two", a, b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func() (float64, error) { cancel(); return 1, nil }
	if a, _, err := Interleave(ctx, 5, stop, one); !errors.Is(err, context.Canceled) || len(a) != 0 {
		t.Errorf("cancelled: %v, %v", a, err)
	}
	for _, bad := range []float64{0, -1, math.NaN()} {
		if _, _, err := Interleave(t.Context(), 1, func() (float64, error) { return bad, nil }, one); err == nil || !strings.Contains(err.Error(), "ours: took") {
			t.Errorf("%v seconds: error = %v", bad, err)
		}
	}
	if _, _, err := Interleave(t.Context(), 0, one, one); err == nil {
		t.Error("0 pairs were accepted")
	}
}

func TestCalibrate(t *testing.T) {
	cs := configs("p", 1, 1, []int{1, 8, 32, 128}, nil)
	times := map[int][]float64{1: {3, 3, 9}, 8: {2, 9, 2.5}, 32: {2.6, 2.6, 2.6}}
	measure := func(_ context.Context, c Config, repeats int) ([]float64, error) {
		if repeats != 3 {
			t.Errorf("repeats = %d, want 3", repeats)
		}
		if s, ok := times[c.Batch]; ok {
			return s, nil
		}
		return nil, &Fault{Command: "run", Peer: "p", Kind: "failed", Text: "out of memory"}
	}
	best, trials, err := Calibrate(t.Context(), cs, 3, measure)
	if err != nil || best != 1 || len(trials) != 4 {
		t.Fatalf("Calibrate = %d, %v, %v, want candidate 1 of 4", best, trials, err)
	}
	if trials[1].Median != 2.5 || !strings.Contains(trials[3].Error, "out of memory") || trials[3].Median != 0 {
		t.Errorf("trials = %+v", trials)
	}

	_, trials, err = Calibrate(t.Context(), cs[3:], 3, measure)
	if err == nil || !strings.Contains(err.Error(), "no candidate could run: peer p: run: out of memory") || len(trials) != 1 {
		t.Errorf("no candidate: %v, %v", trials, err)
	}
	died := func(context.Context, Config, int) ([]float64, error) { return nil, ErrDied }
	if _, trials, err := Calibrate(t.Context(), cs, 3, died); !errors.Is(err, ErrDied) || len(trials) != 0 {
		t.Errorf("a dead worker: %v, %v, want the calibration to stop", trials, err)
	}
	if _, _, err := Calibrate(t.Context(), nil, 3, measure); err == nil {
		t.Error("no candidates were accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Calibrate(ctx, cs, 3, measure); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestArms(t *testing.T) {
	if _, err := Arms(0); err == nil {
		t.Error("0 threads were accepted")
	}
	bars := map[Rows][]float64{}
	for _, threads := range []int{1, 2, 8} {
		arms, err := Arms(threads)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, arm := range arms {
			if key := arm.Name + string(arm.Input); names[key] {
				t.Errorf("%s is listed twice", key)
			} else {
				names[key] = true
			}
			if len(arm.Candidates) == 0 {
				t.Errorf("%s has no candidates", arm.Name)
			}
			if threads == 2 && arm.Bar > 0 {
				bars[arm.Input] = append(bars[arm.Input], arm.Bar)
			}
			for _, c := range arm.For("m", "c").Candidates {
				if err := c.Validate(); err != nil || c.Peer != arm.Peer || c.MaxSeqLength != 512 || c.Model != "m" || c.Cache != "c" {
					t.Errorf("%s: candidate %+v: %v", arm.Name, c, err)
				}
				if want := threads; arm.Peer != "hf-tokenizers" && c.Threads != want {
					t.Errorf("%s: %d threads, want %d", arm.Name, c.Threads, want)
				}
			}
			if arm.Candidates[0].Model != "" {
				t.Errorf("%s: For changed the arm it was called on", arm.Name)
			}
		}
	}
	if got := bars[RowsFull]; !slices.Equal(got, []float64{0.99, 1.05}) {
		t.Errorf("bars at 512 = %v", got)
	}
	if got := bars[RowsMixed]; !slices.Equal(got, []float64{1.3, 1.15, 0.95}) {
		t.Errorf("bars on mixed lengths = %v", got)
	}
}

// TestModelArms: arms that are made one by one.
func TestModelArms(t *testing.T) {
	for _, c := range []struct {
		arm       Arm
		bar       float64
		tokens    int
		threads   int
		vectors   bool
		some      map[string]string // options of the last candidate
		candidate int
	}{
		{TokenizerArm("t", RowsTechdocs, "", 40), 40, 512, 1, false, nil, 2},
		{TokenizerArm("t", RowsGostd, "/x/tokenizer.json", 60), 60, 512, 1, false, map[string]string{"tokenizer": "/x/tokenizer.json"}, 2},
		{TransformersArm("m", 8192, 2, []int{1}, 1.5), 1.5, 8192, 2, true, nil, 1},
		{TransformersArm("m", 512, 2, []int{1, 2, 4, 8}, 1.15), 1.15, 512, 2, true, nil, 4},
		{Int8Arm("q", 2, ""), 1, 512, 2, true, map[string]string{"graph": "fused", "int8": "channel"}, 16},
		{Int8Arm("q", 1, ""), 1, 512, 1, true, map[string]string{"graph": "fused", "int8": "channel"}, 8},
		{Int8Arm("q", 2, "/x/q.onnx"), 1, 512, 2, true, map[string]string{"file": "/x/q.onnx", "pooling": "numpy"}, 4},
	} {
		a := c.arm
		if a.Bar != c.bar || a.Vectors != c.vectors || len(a.Candidates) != c.candidate {
			t.Errorf("%+v", a)
		}
		seen := map[string]bool{}
		for _, config := range a.For("m", "c").Candidates {
			key := fmt.Sprint(config)
			if err := config.Validate(); err != nil || config.Peer != a.Peer || config.MaxSeqLength != c.tokens || config.Threads != c.threads || seen[key] {
				t.Errorf("%s: candidate %+v, seen before %v: %v", a.Name, config, seen[key], err)
			}
			seen[key] = true
		}
		if last := a.Candidates[len(a.Candidates)-1]; !maps.Equal(last.Options, c.some) {
			t.Errorf("%s: options %v, want %v", a.Name, last.Options, c.some)
		}
	}
}
