package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/bench/peers"
)

// peerArms runs the arms of other programs.
func (r *peersRun) peerArms(ctx context.Context) error {
	arms, err := peers.Arms(r.threads)
	if err != nil {
		return err
	}
	var w *peers.Worker
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	for _, arm := range arms {
		if !r.wanted(arm.Name) {
			continue
		}
		// A process of its own for every arm: one peer's thread pools and memory must
		// not weigh on the next.
		if w != nil {
			w.Close()
		}
		if w, err = peers.New(ctx, peers.Start{Python: r.python, Threads: max(1, arm.Candidates[0].Threads)}); err != nil {
			return err
		}
		for name, v := range w.Hello().Versions {
			r.result.Versions[name] = v
		}
		err := r.speedArm(ctx, w, arm.For(r.in.model.dir.Dir, r.cache))
		if err := r.refused(fmt.Sprintf("%s (%s)", arm.Name, arm.Input), err); err != nil {
			return err
		}
	}
	return nil
}

// refused turns the failure of one arm into a note; other errors end the command.
func (r *peersRun) refused(name string, err error) error {
	var fault *peers.Fault
	if errors.As(err, &fault) || errors.Is(err, errDisagree) || errors.Is(err, peers.ErrValues) {
		r.note("%s was not timed: %v", name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// speedArm runs an arm of the speed part.
func (r *peersRun) speedArm(ctx context.Context, w *peers.Worker, arm peers.Arm) error {
	mine, err := r.in.side(ctx, arm)
	if err != nil {
		return err
	}
	return r.peerArm(ctx, w, against{arm: arm, row: fmt.Sprintf("%s (%s, %s)", arm.Name, arm.Input, arm.Region), mine: mine, pairs: r.pairs})
}

// against is an arm that is ready to run.
type against struct {
	arm   peers.Arm
	row   string // its name in the result
	mine  *ourSide
	pairs int
	apart bool // judged without regard to the pairs: of passes that take minutes there are few

	// agree compares what both sides computed before any of it is timed, and says what
	// it found; nil = ids, or vectors to agreement.
	agree func(ctx context.Context, w *peers.Worker, c peers.Config) (string, error)
}

// peerArm calibrates one peer, checks its ids and vectors, and times the pairs.
func (r *peersRun) peerArm(ctx context.Context, w *peers.Worker, a against) error {
	arm, mine := a.arm, a.mine
	fmt.Fprintf(r.app.stderr, "%s: %s of the peer\n", a.row, count(len(arm.Candidates), "arrangement"))
	if _, err := w.Load(ctx, arm.Candidates[0]); err != nil {
		return err
	}
	input, err := w.Input(ctx, mine.file)
	if err != nil {
		return err
	}
	if arm.Vectors {
		if err := input.Check(); err != nil {
			return err
		}
	}
	best, trials := 0, []peers.Trial(nil)
	if len(arm.Candidates) > 1 {
		if best, trials, err = peers.Calibrate(ctx, arm.Candidates, peers.CalibrationRepeats, w.Measure); err != nil {
			return err
		}
	}
	config := arm.Candidates[best]
	if _, err := w.Load(ctx, config); err != nil {
		return err
	}
	if a.agree == nil {
		a.agree = func(ctx context.Context, w *peers.Worker, c peers.Config) (string, error) {
			return r.agree(ctx, w, arm, c, mine)
		}
	}
	check, err := a.agree(ctx, w, config)
	if err != nil {
		return err
	}
	theirs := func() (float64, error) {
		run, err := w.Run(ctx, "")
		return run.WallS, err
	}
	return r.pair(ctx, a, theirs, bench.ResultRow{PeerName: describe(arm.Peer, config), Note: notes(check, mine.how, tried(trials))})
}

// pair times both sides in turns and adds the row, which says what the peer is.
func (r *peersRun) pair(ctx context.Context, a against, theirs peers.Timer, row bench.ResultRow) error {
	x, y, err := peers.Interleave(ctx, a.pairs, func() (float64, error) { return a.mine.pass(ctx) }, theirs)
	if err != nil {
		return err
	}
	row.Name, row.Unit, row.Unpaired = a.row, a.mine.unit, a.apart
	for i := range x {
		row.Ours = append(row.Ours, a.mine.amount/x[i])
		row.Peer = append(row.Peer, a.mine.amount/y[i])
	}
	if a.arm.Bar > 0 {
		row.Bar = &a.arm.Bar
	}
	return r.add(row)
}

// notes joins what there is to be said.
func notes(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// agreement is the least cosine between a peer's vector and ours for the two to
// have done the same work.
const agreement = 0.9999

var errDisagree = errors.New("the vectors differ from ours")

// agree compares what both sides computed, before any of it is timed.
func (r *peersRun) agree(ctx context.Context, w *peers.Worker, arm peers.Arm, config peers.Config, mine *ourSide) (string, error) {
	if !arm.Vectors {
		run, err := w.Run(ctx, "")
		if err != nil {
			return "", err
		}
		if run.IDsSHA != mine.idsHash {
			return "", fmt.Errorf("%w: sha256 over all ids %s, ours %s", peers.ErrIDs, run.IDsSHA, mine.idsHash)
		}
		return "ids equal", nil
	}
	run, err := w.Run(ctx, filepath.Join(r.dir, "peer.npy"))
	if err != nil {
		return "", err
	}
	theirs, dim, err := peers.ReadMatrix(run.Out)
	if err != nil {
		return "", fmt.Errorf("peer's vectors: %w", err)
	}
	return sameVectors(describe(arm.Peer, config), mine.vectors, theirs, dim)
}

// sameVectors makes sure that a peer's vectors are ours to agreement.
func sameVectors(peer string, ours, theirs []float32, dim int) (string, error) {
	low, mean, err := peers.Cosines(ours, theirs, dim)
	if err != nil {
		return "", fmt.Errorf("peer's vectors: %w", err)
	}
	if low < agreement {
		return "", fmt.Errorf("%w: %s gives a cosine of %.4f to ours, at least %g expected", errDisagree, peer, low, agreement)
	}
	return fmt.Sprintf("ids equal, cosine of vectors at least %.7f, mean %.7f", low, mean), nil
}

// describe names a peer's arrangement.
func describe(peer string, c peers.Config) string {
	text := fmt.Sprintf("%s, batch %d", peer, c.Batch)
	if c.Workers > 1 {
		text += fmt.Sprintf(", %d one-thread workers", c.Workers)
	}
	for _, key := range []string{"graph", "int8", "hint", "streams", "pooling"} {
		if v := c.Options[key]; v != "" {
			text += fmt.Sprintf(", %s %s", key, v)
		}
	}
	return text
}

// tried lists the arrangements that calibration passed over.
func tried(trials []peers.Trial) string {
	if len(trials) < 2 {
		return ""
	}
	var parts []string
	for _, t := range trials {
		if t.Error != "" {
			parts = append(parts, describe(t.Config.Peer, t.Config)+" could not run")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.2f s", describe(t.Config.Peer, t.Config), t.Median))
	}
	return "arrangements tried: " + strings.Join(parts, "; ")
}
