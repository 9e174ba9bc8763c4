package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/engine"
	"encbench/engine/feed"
)

// bench of encoders on trial: it gives them speeds by arm and round, and keeps account
// of what is open.
type trialBench struct {
	t      *testing.T
	arms   []*SearchArm
	rates  [][]float64 // chunks/s by arm and pass after the warm one; the last repeats
	passes []int       // of each arm, the warm ones and that of sizing included
	fail   map[int]error
	open   map[int]bool
	opened []string // "arm first" of each opening
	need   int64    // of what is open
	most   int64
	warm   bool
}

type trialEncoder struct {
	engine.Encoder
	b   *trialBench
	arm int
}

func (e trialEncoder) Close() error {
	if !e.b.open[e.arm] {
		e.b.t.Errorf("arm %d is closed twice", e.arm)
	}
	delete(e.b.open, e.arm)
	e.b.need -= e.b.arms[e.arm].Need
	return nil
}

func (b *trialBench) add(batch int, ubatch string, predicted int64, rates ...float64) *SearchArm {
	i := len(b.arms)
	a := &SearchArm{BatchTrial: BatchTrial{Batch: batch, UBatch: ubatch, Predicted: predicted}, Limit: feed.Limit{Rows: batch}, Need: predicted}
	a.Open = func(_ context.Context, first bool) (engine.Encoder, error) {
		b.opened = append(b.opened, fmt.Sprint(i, " ", first))
		if err := b.fail[i]; err != nil {
			return nil, err
		}
		if b.open[i] {
			b.t.Errorf("arm %d is opened twice", i)
		}
		b.open[i], b.warm = true, true
		b.need += predicted
		b.most = max(b.most, b.need)
		return trialEncoder{b: b, arm: i}, nil
	}
	b.arms, b.rates, b.passes = append(b.arms, a), append(b.rates, rates), append(b.passes, 0)
	return a
}

// timed gives the time of a pass at the arm's rate.
func (b *trialBench) timed(_ context.Context, arm int, src Source, enc engine.Encoder) (time.Duration, error) {
	if enc.(trialEncoder).arm != arm || !b.open[arm] {
		b.t.Errorf("a pass of arm %d on another encoder", arm)
	}
	chunks := 0
	for _, batch := range src.(Packed).Batches {
		chunks += batch.Rows()
	}
	rates := b.rates[arm]
	k := 0
	if b.warm {
		b.warm = false
	} else {
		k = min(b.passes[arm], len(rates)-1)
		b.passes[arm]++
	}
	if rates[k] < 0 {
		return 0, errors.New("out of memory")
	}
	return time.Duration(float64(chunks) / rates[k] * float64(time.Second)), nil
}

func (b *trialBench) search(t *testing.T, opt SearchOptions) (*BatchSearch, int, error) {
	t.Helper()
	opt.Arms = b.arms
	s, chosen, err := searchBatch(context.Background(), opt, b.timed)
	if len(b.open) > 0 {
		t.Errorf("encoders %v are still open", b.open)
	}
	return s, chosen, err
}

func trials(t *testing.T) *trialBench {
	return &trialBench{t: t, open: map[int]bool{}, fail: map[int]error{}}
}

// rowsOf makes rows of the given lengths.
func rowsOf(lengths ...int) []Row {
	var rows []Row
	for i, n := range lengths {
		rows = append(rows, Row{Number: int64(i), IDs: make([]int32, n)})
	}
	return rows
}

func hundred() []Row {
	var lengths []int
	for i := range 100 {
		lengths = append(lengths, 1+i*37%100)
	}
	return rowsOf(lengths...)
}

func outcomes(s *BatchSearch) string {
	var out []string
	for _, t := range s.Trials {
		out = append(out, t.Outcome)
	}
	return strings.Join(out, ", ")
}

// Of those within noise of the fastest the one with the least memory is chosen; what is
// slower in each round is not tried to the end; what does not fit is not opened.
func TestSearchBatch(t *testing.T) {
	b := trials(t)
	b.add(128, "auto", 300, 10, 10, 10.2, 9.9, 10, 10.1, 10) // the first of them sizes the pass
	b.add(128, "2", 400, 10.1, 10.3, 9.8, 10.1, 10.2, 9.9)
	b.add(128, "4", 500, 8)
	b.add(128, "8", 250, 10.2, 9, 10.4, 9, 9.1, 9.2, 9.3) // fast once
	b.add(128, "16", 9000).Reason = "9 kB of memory predicted, 8 kB available"
	b.add(256, "auto", 300, 10).Fill = 256
	b.add(64, "auto", 200, 10).Fill = 64
	s, chosen, err := b.search(t, SearchOptions{Rows: hundred(), Pass: 3 * time.Second, Room: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if want := "chosen, as fast, slower, slower, excluded, excluded, excluded"; outcomes(s) != want || chosen != 0 {
		t.Errorf("outcomes %s, chosen %d; want %s", outcomes(s), chosen, want)
	}
	if s.Chunks != 30 || s.Rounds != 6 || s.Tokens == 0 || !strings.Contains(s.Rule, "97 %") {
		t.Errorf("search %+v", s)
	}
	if got := fmt.Sprint(b.passes); got != "[7 6 3 6 0 0 0]" {
		t.Errorf("timed passes %s", got)
	}
	if want := "[0 true 0 false 1 true 2 true 3 true]"; fmt.Sprint(b.opened) != want {
		t.Errorf("opened %v, want %s", b.opened, want)
	}
	for i, want := range []string{"", "", "", "", "9 kB of memory predicted, 8 kB available", "the 100 chunks of a pass do not fill it", "the 30 chunks of a pass do not fill it"} {
		if got := s.Trials[i].Reason; got != want {
			t.Errorf("trial %d: reason %q, want %q", i, got, want)
		}
	}
	if c := s.Trials[2]; c.Chunks.N != 3 || c.Chunks.Median < 7.99 || c.Chunks.Median > 8.01 || c.ToFastest.N != 3 || c.ToFastest.High >= 0.85 {
		t.Errorf("the slow trial: %+v", c)
	}
	if c := s.Trials[4]; c.Chunks.N != 0 || c.ToFastest.N != 0 {
		t.Errorf("the excluded trial was timed: %+v", c)
	}
}

// The least memory decides also against a small lead in speed, and a smaller batch
// where the memory is the same.
func TestSearchTakesTheSmallest(t *testing.T) {
	b := trials(t)
	b.add(128, "auto", 300, 10)
	b.add(64, "auto", 300, 9.9)
	b.add(128, "1", 290, 9.6) // more than noise behind
	b.add(512, "auto", 310, 10.05)
	s, chosen, err := b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	// Rates without any noise differ by as little as a thousandth.
	if want := "slower, slower, slower, chosen"; outcomes(s) != want || chosen != 3 {
		t.Errorf("outcomes %s, chosen %d; want %s", outcomes(s), chosen, want)
	}
	b = trials(t)
	b.add(128, "auto", 300, 10, 9.8, 10.2)
	b.add(64, "auto", 300, 9.9, 10.1, 9.7, 10.1)
	b.add(32, "auto", 300, 9.2, 9, 9.3)
	s, chosen, err = b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 1 << 40})
	if err != nil || chosen != 1 || s.Trials[1].Outcome != TrialChosen {
		t.Errorf("outcomes %s, chosen %d, %v", outcomes(s), chosen, err)
	}
}

// Open encoders never hold more than there is room for; what was closed to make room is
// opened again, and its vectors are compared once only.
func TestSearchKeepsToItsRoom(t *testing.T) {
	b := trials(t)
	for i, need := range []int64{40, 60, 70, 30} {
		b.add(128, fmt.Sprint(i), need, 10, 10.2, 9.9)
	}
	s, _, err := b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 100})
	if err != nil || s.Rounds != searchRounds {
		t.Fatalf("%+v, %v", s, err)
	}
	if b.most > 100 {
		t.Errorf("open encoders held %d, there is room for 100", b.most)
	}
	for i := range b.arms {
		first := 0
		for _, o := range b.opened {
			if o == fmt.Sprint(i, " true") {
				first++
			}
		}
		if first != 1 || b.passes[i] < searchRounds {
			t.Errorf("arm %d was compared %d times and had %d passes", i, first, b.passes[i])
		}
	}
	// One that needs more than there is room for is alone.
	b = trials(t)
	b.add(128, "a", 500, 10)
	b.add(128, "b", 600, 10)
	if _, _, err := b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 100}); err != nil || b.most != 600 {
		t.Errorf("open encoders held %d: %v", b.most, err)
	}
}

// An encoder that fails, when it is opened or in a pass, is out; when none is left the
// first failure is the search's.
func TestSearchFailures(t *testing.T) {
	b := trials(t)
	b.add(128, "auto", 100, 10)
	b.add(128, "2", 200, 10, 10.1)
	b.add(128, "4", 300, 10.1, -1)
	b.fail[0] = errors.New("accuracy gate failed: 3 tokens: cosine 0.5")
	s, chosen, err := b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 1 << 40})
	if want := "failed, chosen, failed"; err != nil || outcomes(s) != want || chosen != 1 {
		t.Fatalf("outcomes %s, chosen %d, %v; want %s", outcomes(s), chosen, err, want)
	}
	if got := s.Trials[0].Reason + "; " + s.Trials[2].Reason; got != "accuracy gate failed: 3 tokens: cosine 0.5; out of memory" {
		t.Errorf("reasons %q", got)
	}
	b.fail[1], b.fail[2] = errors.New("b"), errors.New("c")
	for _, a := range b.arms {
		a.Reason, a.Outcome = "", ""
	}
	_, chosen, err = b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 1 << 40})
	if want := "batch search: no way to run batches is left: accuracy gate failed: 3 tokens: cosine 0.5"; chosen != -1 || err == nil || err.Error() != want {
		t.Errorf("chosen %d, error %v, want %s", chosen, err, want)
	}
	b = trials(t)
	b.add(128, "auto", 100).Reason = "too large"
	if _, _, err := b.search(t, SearchOptions{Rows: hundred()}); err == nil || err.Error() != "batch search: no way to run batches is left: all are excluded; batch 128, ubatch auto: too large; give a number instead of auto" {
		t.Errorf("error %v", err)
	}
}

// What the rows cannot fill is not opened to find that out.
func TestSearchOfTooFewRows(t *testing.T) {
	b := trials(t)
	b.add(128, "128", 100, 10).Fill = 128
	_, chosen, err := b.search(t, SearchOptions{Rows: hundred(), Pass: time.Second, Room: 1 << 40})
	want := "batch search: no way to run batches is left: all are excluded; batch 128, ubatch 128: the 100 chunks of a pass do not fill it; give a number instead of auto"
	if chosen != -1 || err == nil || err.Error() != want || len(b.opened) > 0 {
		t.Errorf("chosen %d, opened %v, error %v, want %s", chosen, b.opened, err, want)
	}
}

func TestSearchIsInterrupted(t *testing.T) {
	b := trials(t)
	b.add(128, "auto", 100, 10)
	b.add(128, "2", 100, 10)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, chosen, err := searchBatch(ctx, SearchOptions{Arms: b.arms, Rows: hundred(), Room: 1 << 40}, func(ctx context.Context, arm int, src Source, enc engine.Encoder) (time.Duration, error) {
		if n++; n == 5 {
			cancel()
			return 0, ctx.Err()
		}
		return b.timed(ctx, arm, src, enc)
	})
	if !errors.Is(err, context.Canceled) || chosen != -1 || len(b.open) > 0 || n != 5 {
		t.Errorf("chosen %d, %v, %d passes, open %v", chosen, err, n, b.open)
	}
	if b.arms[0].Outcome == TrialFailed || b.arms[1].Outcome == TrialFailed {
		t.Error("an interruption is taken for a failure")
	}
}

// thin takes rows evenly by length and keeps their order.
func TestThin(t *testing.T) {
	rows := rowsOf(9, 1, 8, 2, 7, 3, 6, 4, 5, 10)
	for n := 1; n <= 12; n++ {
		got := thin(rows, n)
		if len(got) != min(n, len(rows)) {
			t.Fatalf("%d of %d rows, want %d", len(got), len(rows), n)
		}
		if !slices.IsSortedFunc(got, func(a, b Row) int { return int(a.Number - b.Number) }) {
			t.Errorf("%d rows out of order", n)
		}
		sum := 0
		for _, r := range got {
			sum += len(r.IDs)
		}
		if mean := float64(sum) / float64(len(got)); mean < 5 || mean > 6 {
			t.Errorf("%d rows have %.1f tokens on average, all have 5.5", n, mean)
		}
	}
}
