package main

import (
	"context"
	"errors"
	"fmt"

	"encbench/bench/assets"
	"encbench/engine/ort"
)

// store opens the asset cache with progress on standard error.
func (a *app) store() (*assets.Store, error) {
	p := a.progress()
	return assets.Open("", assets.Options{Progress: func(s assets.Progress) {
		if s.Total > 0 {
			p.show(float64(s.Done)/float64(s.Total), func() string {
				return fmt.Sprintf("%s %s, %.0f of %.0f MB", s.Stage, s.Asset, float64(s.Done)/1e6, float64(s.Total)/1e6)
			})
		}
		if s.Done >= s.Total {
			p.clear()
		}
	}})
}

// asset gives an asset, downloading it when it is absent.
func (a *app) asset(ctx context.Context, name string) (assets.Asset, error) {
	s, err := a.store()
	if err != nil {
		return assets.Asset{}, err
	}
	got, err := s.Lookup(name)
	if errors.Is(err, assets.ErrAbsent) {
		fmt.Fprintf(a.stderr, "getting %s through pip (once; cached afterwards)\n", name)
		return s.Get(ctx, name)
	}
	return got, err
}

// runtime loads ONNX Runtime: the user's own library, or the pinned one.
func (a *app) runtime(ctx context.Context, own string) (*ort.Runtime, error) {
	path, _, err := assets.Override("onnxruntime", own)
	if err != nil {
		return nil, err
	}
	if path == "" {
		got, err := a.asset(ctx, "onnxruntime")
		if err != nil {
			return nil, err
		}
		path = got.Path
	}
	return ort.Load(path)
}
