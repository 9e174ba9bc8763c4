package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"encbench/bench"
	"encbench/engine/cpu"
)

// referenceVersion names what the cached vectors follow from besides the model;
// it changes when the probes or the reference encoder do.
const referenceVersion = 1

// references gives the gate's rows with the plain reference encoder's vectors,
// computed once for each model and kept in the cache. A bare graph has no
// reference: its rows come without vectors.
func (a *app) references(ctx context.Context, m *loadedModel, longest int) ([]bench.Reference, string, error) {
	prefix, suffix := m.tok.Template().Around()
	var refs []bench.Reference
	for _, ids := range bench.ProbeIDs(m.facts.Vocab, prefix, suffix, longest) {
		refs = append(refs, bench.Reference{IDs: ids})
	}
	if m.dir == nil {
		return refs, "the same rows alone (a bare graph has no reference)", nil
	}
	s, err := a.store()
	if err != nil {
		return nil, "", err
	}
	key, err := m.dir.Fingerprint()
	if err != nil {
		return nil, "", err
	}
	// The probes follow from vocabulary and special tokens, which the checkpoint does
	// not hold.
	probes := bench.NewIDsHash()
	for _, r := range refs {
		probes.Add(r.IDs)
	}
	name := fmt.Sprintf("reference-%d-%s-%.16s.json", referenceVersion, key, probes.Hex())
	path, err := s.Derived(ctx, name, func(w io.Writer) error {
		fmt.Fprintf(a.stderr, "computing reference vectors of %s with the plain Go encoder (once; cached afterwards)\n", m.facts.Name)
		vectors, err := encodeReference(ctx, m, refs)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(vectors)
	})
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
	return refs, "the plain Go encoder, which reads the same checkpoint and sums in float64", nil
}

// encodeReference runs the plain encoder over the probes, one goroutine each.
func encodeReference(ctx context.Context, m *loadedModel, refs []bench.Reference) ([][]float32, error) {
	enc, err := cpu.NewReference(m.dir)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(refs))
	errs := make([]error, len(refs))
	var wg sync.WaitGroup
	for i, ref := range refs {
		wg.Go(func() {
			if errs[i] = ctx.Err(); errs[i] == nil {
				out[i], errs[i] = enc.Encode(ref.IDs, nil)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("probe of %d tokens: %w", len(refs[i].IDs), err)
		}
	}
	return out, nil
}
