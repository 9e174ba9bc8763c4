package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"encbench/bench"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/model"
)

// referenceVersion names what the cached vectors follow from besides the model;
// it changes when the probes or the reference encoder do.
const referenceVersion = 2

// gate compares an encoder of m with the reference, in rows of up to longest tokens.
// first is the time of its first run.
func (a *app) gate(ctx context.Context, m *loadedModel, enc engine.Encoder, longest int) (acc bench.Accuracy, first time.Duration, err error) {
	refs, from, err := a.references(ctx, m, min(longest, m.maxPositions()))
	if err != nil {
		return acc, 0, err
	}
	return bench.Gate(ctx, enc, refs, from, m.limits())
}

// probes are the gate's rows without vectors.
func (m *loadedModel) probes(longest int) []bench.Reference {
	t := m.tok.Template()
	if m.dir != nil && m.dir.Kind == model.Reranker {
		return bench.ProbePairs(m.facts.Vocab, t, m.dir.Types(), longest)
	}
	prefix, suffix := t.Around()
	var refs []bench.Reference
	for _, ids := range bench.ProbeIDs(m.facts.Vocab, prefix, suffix, longest) {
		refs = append(refs, bench.Reference{IDs: ids})
	}
	return refs
}

// references gives the gate's rows with the plain reference encoder's outputs,
// computed once for each model and kept in the cache: on the weights as the directory
// has them, whatever they were converted to since. A bare graph has no reference: its
// rows come without vectors.
func (a *app) references(ctx context.Context, m *loadedModel, longest int) ([]bench.Reference, string, error) {
	refs := m.probes(longest)
	if m.dir == nil {
		return refs, "the same rows alone (a bare graph has no reference)", nil
	}
	dir, from := m.dir, "the plain Go encoder, which reads the same checkpoint and sums in float64"
	if m.original != nil {
		dir, from = m.original, fmt.Sprintf("the plain Go encoder on the weights before they became %s, summing in float64", m.dtype)
	}
	s, err := a.store()
	if err != nil {
		return nil, "", err
	}
	name, err := m.referenceName(refs)
	if err != nil {
		return nil, "", err
	}
	var failed error // in the words of the encoder, without the cache's around them
	path, err := s.Derived(ctx, name, func(w io.Writer) error {
		fmt.Fprintf(a.stderr, "computing reference vectors of %s with the plain Go encoder (once; cached afterwards)\n", m.facts.Name)
		var vectors [][]float32
		if vectors, failed = encodeReference(ctx, dir, refs); failed != nil {
			return failed
		}
		return json.NewEncoder(w).Encode(vectors)
	})
	if errors.Is(failed, errNotFinite) {
		return nil, "", fmt.Errorf("reference vectors of %s: %w", m.facts.Name, failed)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reference vectors: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("reference vectors: %w", err)
	}
	defer f.Close()
	var vectors [][]float32
	if err := json.NewDecoder(f).Decode(&vectors); err != nil {
		return nil, "", fmt.Errorf("reference vectors %s: %w; delete the file and run again", path, err)
	}
	if len(vectors) != len(refs) {
		return nil, "", fmt.Errorf("reference vectors %s: %d vectors for %d probes; delete the file and run again", path, len(vectors), len(refs))
	}
	for i := range refs {
		refs[i].Vector = vectors[i]
	}
	return refs, from, nil
}

// referenceName is the name under which the cache keeps the outputs for these rows.
func (m *loadedModel) referenceName(refs []bench.Reference) (string, error) {
	dir := m.dir
	if m.original != nil {
		dir = m.original
	}
	key, err := dir.Fingerprint()
	if err != nil {
		return "", err
	}
	// The probes follow from vocabulary and special tokens, which the checkpoint does
	// not hold.
	probes := bench.NewIDsHash()
	for _, r := range refs {
		probes.Add(r.IDs)
		if r.Types != nil {
			types := make([]int32, len(r.Types))
			for i, t := range r.Types {
				types[i] = int32(t)
			}
			probes.Add(types)
		}
	}
	return fmt.Sprintf("reference-%d-%s-%.16s.json", referenceVersion, key, probes.Hex()), nil
}

// encodeReference runs the plain encoder over the probes, one goroutine each.
func encodeReference(ctx context.Context, m *model.Model, refs []bench.Reference) ([][]float32, error) {
	enc, err := cpu.NewReference(m)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(refs))
	errs := make([]error, len(refs))
	var wg sync.WaitGroup
	for i, ref := range refs {
		wg.Go(func() {
			if errs[i] = ctx.Err(); errs[i] == nil {
				out[i], errs[i] = enc.Encode(ref.IDs, ref.Types)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil && !finite(out[i]) {
			err = errNotFinite
		}
		if err != nil {
			return nil, fmt.Errorf("probe of %d tokens: %w", len(refs[i].IDs), err)
		}
	}
	return out, nil
}

// errNotFinite is met with weights that hold infinities or are no numbers, and with
// those whose products overflow even float64.
var errNotFinite = errors.New("the output holds a value that is no finite number: weights of the model are damaged, or so large that their products overflow; get the model again")

func finite(v []float32) bool {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return true
}
