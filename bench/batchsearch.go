package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"encbench/engine"
	"encbench/engine/feed"
)

// BatchSearch is how the batch of a record was found among several.
type BatchSearch struct {
	Chunks  int          `json:"chunks"`  // a pass
	Tokens  int64        `json:"tokens"`  // a pass
	Rounds  int          `json:"rounds"`  // of passes that the last ones had
	Seconds float64      `json:"seconds"` // in all
	Rule    string       `json:"rule"`    // by which one was chosen
	Trials  []BatchTrial `json:"trials"`
}

// BatchTrial is one way to run batches, and what came of it.
type BatchTrial struct {
	Batch     int      `json:"batch"`            // chunks
	UBatch    string   `json:"ubatch"`           // auto, or rows of a physical batch
	Predicted int64    `json:"predicted_bytes"`  // peak of the process with it; 0 = not known
	Outcome   string   `json:"outcome"`          // see the constants
	Reason    string   `json:"reason,omitempty"` // why it was excluded, or failed
	Chunks    Estimate `json:"chunks_per_s"`     // over its passes
	ToFastest Ratio    `json:"to_fastest"`       // over the rounds of both, paired
}

// The outcomes of trials.
const (
	TrialChosen   = "chosen"
	TrialFast     = "as fast"  // within noise of the fastest
	TrialSlower   = "slower"   // than the fastest
	TrialExcluded = "excluded" // before it was tried
	TrialFailed   = "failed"   // wrong vectors, or no memory
)

// SearchArm is one way to run batches, on trial.
type SearchArm struct {
	BatchTrial // Batch, UBatch, Predicted; with a Reason it is excluded
	Limit      feed.Limit
	// Fill is how many chunks a pass must have for the trial to mean something: a
	// physical batch for every worker.
	Fill int
	// Need is the memory that the encoder holds once it has run, in bytes.
	Need int64
	// Open opens the encoder. The first time it also holds its vectors against the
	// reference's: an encoder that is wrong is not timed.
	Open func(ctx context.Context, first bool) (engine.Encoder, error)
}

// SearchOptions is a search for the best batch.
type SearchOptions struct {
	Arms []*SearchArm
	Rows []Row         // of which passes are made
	Pass time.Duration // that a pass should take
	Room int64         // bytes that open encoders may hold together; one is always open
	// Progress is told of every pass; may be nil.
	Progress func(round, rounds, arm int)
}

// How many passes there are, and what a trial has to show in them.
const (
	searchFirst  = 3    // rounds that every arm has
	searchRounds = 6    // rounds that decide between those that are left: an interval needs them
	searchSlower = 0.95 // of the fastest: an arm below it in every one of its rounds is out
	searchNear   = 0.97 // of the fastest: the chosen one's paired ratio is not below it
	searchRows   = 16   // chunks of a pass, at least
)

// searchRule is said in the record.
var searchRule = fmt.Sprintf("passes over the same chunks, ids in memory to vectors, interleaved; out is what was below %.0f %% of the fastest in each of %d rounds; of the rest the one with the least predicted memory whose ratio to the fastest, paired by round, has a median of at least %.0f %% and a 95 %% interval that reaches 1",
	100*searchSlower, searchFirst, 100*searchNear)

// SearchBatch tries the arms in interleaved passes over the same rows and gives the
// number of the chosen one: of those within noise of the fastest the one that needs
// the least memory. Arms that turn out slower in every round are not tried further,
// and arms whose encoder fails are left out with the reason. When no arm is left the
// error is the first arm's failure.
func SearchBatch(ctx context.Context, opt SearchOptions) (*BatchSearch, int, error) {
	return searchBatch(ctx, opt, func(ctx context.Context, _ int, src Source, enc engine.Encoder) (time.Duration, error) {
		wall, _, err := TimePass(ctx, src, enc, nil)
		return wall, err
	})
}

func searchBatch(ctx context.Context, opt SearchOptions, timed timer) (*BatchSearch, int, error) {
	n := len(opt.Arms)
	s := &search{opt: opt, timed: timed, rates: make([][]float64, n), alive: make([]bool, n), opened: make([]bool, n)}
	defer s.closeAll()
	for i, a := range opt.Arms {
		s.alive[i] = a.Reason == ""
		if !s.alive[i] {
			a.Outcome = TrialExcluded
		}
	}
	start := time.Now()
	err := s.run(ctx)
	out := &BatchSearch{Chunks: len(s.rows), Rounds: s.round, Rule: searchRule, Seconds: time.Since(start).Seconds()}
	_, out.Tokens = CountRows(s.rows)
	chosen := -1
	if err == nil {
		chosen, err = s.choose()
	}
	for _, a := range opt.Arms {
		out.Trials = append(out.Trials, a.BatchTrial)
	}
	return out, chosen, err
}

// timer gives the time of a pass of an arm.
type timer func(ctx context.Context, arm int, src Source, enc engine.Encoder) (time.Duration, error)

// search is a search at work.
type search struct {
	opt    SearchOptions
	timed  timer
	rows   []Row
	rates  [][]float64 // chunks/s by arm and round
	alive  []bool
	opened []bool
	open   []openArm // least recently used first
	failed error     // of the first arm that failed
	round  int
}

type openArm struct {
	arm int
	enc engine.Encoder
}

func (s *search) run(ctx context.Context) error {
	s.rows = thin(s.opt.Rows, searchRows)
	if err := s.size(ctx); err != nil {
		return err
	}
	for s.round = 0; s.round < searchRounds && s.undecided(); s.round++ {
		for k := range s.opt.Arms {
			i := k
			if s.round%2 == 1 {
				i = len(s.opt.Arms) - 1 - k
			}
			if err := s.pass(ctx, i); err != nil {
				return err
			}
		}
		if s.round+1 >= searchFirst {
			s.dismiss()
		}
	}
	return ctx.Err()
}

// undecided says whether another round can change the choice.
func (s *search) undecided() bool {
	n := 0
	for _, ok := range s.alive {
		if ok {
			n++
		}
	}
	return n > 1 || n == 1 && s.round == 0
}

// size makes passes about as long as they should be, by the rate of the first arm that
// works, and excludes the arms that such a pass does not fill.
func (s *search) size(ctx context.Context) error {
	s.exclude(len(s.opt.Rows)) // however long a pass may be
	for i := range s.opt.Arms {
		if !s.alive[i] {
			continue
		}
		wall, err := s.time(ctx, i)
		if err != nil {
			return err
		}
		if wall == 0 {
			continue
		}
		n := float64(len(s.rows)) * float64(s.opt.Pass) / float64(wall)
		s.rows = thin(s.opt.Rows, int(min(max(n, searchRows), math.MaxInt32)))
		// What was warm is so for other rows.
		if err := s.closeAll(); err != nil {
			return err
		}
		break
	}
	s.exclude(len(s.rows))
	return nil
}

// exclude ends the trials that so many chunks do not fill.
func (s *search) exclude(chunks int) {
	for i, a := range s.opt.Arms {
		if s.alive[i] && a.Fill > chunks {
			s.alive[i] = false
			a.Outcome, a.Reason = TrialExcluded, fmt.Sprintf("the %s of a pass do not fill it", count(chunks, "chunk"))
		}
	}
}

// pass takes one sample of an arm.
func (s *search) pass(ctx context.Context, i int) error {
	if !s.alive[i] {
		return nil
	}
	if s.opt.Progress != nil {
		s.opt.Progress(s.round, searchRounds, i)
	}
	wall, err := s.time(ctx, i)
	if err == nil && wall > 0 {
		s.rates[i] = append(s.rates[i], float64(len(s.rows))/wall.Seconds())
	}
	return err
}

// time gives the wall time of a pass of arm i; 0 when the arm fails, which ends its
// trial.
func (s *search) time(ctx context.Context, i int) (time.Duration, error) {
	a := s.opt.Arms[i]
	fail := func(err error) (time.Duration, error) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		s.alive[i] = false
		a.Outcome, a.Reason = TrialFailed, err.Error()
		s.failed = cmp.Or(s.failed, err)
		return 0, s.close(i)
	}
	src := Packed{PackLimit(s.rows, a.Limit)}
	at := slices.IndexFunc(s.open, func(o openArm) bool { return o.arm == i })
	if at < 0 {
		if err := s.makeRoom(a.Need); err != nil {
			return 0, err
		}
		enc, err := a.Open(ctx, !s.opened[i])
		if err != nil {
			return fail(err)
		}
		s.opened[i] = true
		at = len(s.open)
		s.open = append(s.open, openArm{i, enc})
		if _, err := s.timed(ctx, i, src, enc); err != nil { // warm
			return fail(err)
		}
	}
	o := s.open[at]
	s.open = append(slices.Delete(s.open, at, at+1), o)
	wall, err := s.timed(ctx, i, src, o.enc)
	if err != nil {
		return fail(err)
	}
	return wall, nil
}

// makeRoom closes encoders, the least recently used first, until another of need bytes
// fits beside the rest.
func (s *search) makeRoom(need int64) error {
	for len(s.open) > 0 {
		held := need
		for _, o := range s.open {
			held += s.opt.Arms[o.arm].Need
		}
		if held <= s.opt.Room {
			return nil
		}
		if err := s.close(s.open[0].arm); err != nil {
			return err
		}
	}
	return nil
}

// close closes the encoder of an arm, if it is open.
func (s *search) close(arm int) error {
	at := slices.IndexFunc(s.open, func(o openArm) bool { return o.arm == arm })
	if at < 0 {
		return nil
	}
	enc := s.open[at].enc
	s.open = slices.Delete(s.open, at, at+1)
	return enc.Close()
}

func (s *search) closeAll() error {
	var errs []error
	for len(s.open) > 0 {
		errs = append(errs, s.close(s.open[0].arm))
	}
	return errors.Join(errs...)
}

// fastest gives the arm with the highest median among those that ran last, -1 where
// there is none.
func (s *search) fastest() int {
	best := -1
	for i := range s.opt.Arms {
		if s.alive[i] && len(s.rates[i]) > 0 && (best < 0 || Median(s.rates[i]) > Median(s.rates[best])) {
			best = i
		}
	}
	return best
}

// dismiss ends the trials of what was slower than the fastest in every round.
func (s *search) dismiss() {
	best := s.fastest()
	for i, a := range s.opt.Arms {
		if !s.alive[i] || i == best {
			continue
		}
		slower := true
		for r, rate := range s.rates[i] {
			slower = slower && rate < searchSlower*s.rates[best][r]
		}
		if slower {
			s.alive[i] = false
			a.Outcome = TrialSlower
		}
	}
}

// choose settles the outcomes.
func (s *search) choose() (int, error) {
	best := s.fastest()
	if best < 0 {
		if s.failed == nil {
			s.failed = s.excluded()
		}
		return -1, fmt.Errorf("batch search: no way to run batches is left: %w", s.failed)
	}
	chosen := best
	for i, a := range s.opt.Arms {
		rates := s.rates[i]
		if len(rates) == 0 || a.Outcome == TrialFailed {
			continue
		}
		a.Chunks = Summarize(rates)
		a.ToFastest = PairedRatio(rates, s.rates[best][:len(rates)])
		if !s.alive[i] {
			continue
		}
		a.Outcome = TrialFast
		if r := a.ToFastest; i != best && (r.High < 1 || r.Value < searchNear) {
			a.Outcome = TrialSlower
			continue
		}
		if b := s.opt.Arms[chosen]; cmp.Or(cmp.Compare(a.Predicted, b.Predicted), cmp.Compare(a.Batch, b.Batch)) < 0 {
			chosen = i
		}
	}
	s.opt.Arms[chosen].Outcome = TrialChosen
	return chosen, nil
}

// excluded says why nothing was tried.
func (s *search) excluded() error {
	if len(s.opt.Arms) == 0 {
		return errors.New("none was given")
	}
	a := s.opt.Arms[0]
	return fmt.Errorf("all are excluded; batch %d, ubatch %s: %s; give a number instead of auto", a.Batch, a.UBatch, a.Reason)
}

// thin takes n of the rows, evenly by length, in their order.
func thin(rows []Row, n int) []Row {
	if n >= len(rows) {
		return rows
	}
	byLength := make([]int, len(rows))
	for i := range byLength {
		byLength[i] = i
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return cmp.Compare(len(rows[a].IDs), len(rows[b].IDs)) })
	kept := make([]int, n)
	for k := range kept {
		kept[k] = byLength[(2*k+1)*len(rows)/(2*n)]
	}
	slices.Sort(kept)
	out := make([]Row, n)
	for k, i := range kept {
		out[k] = rows[i]
	}
	return out
}
