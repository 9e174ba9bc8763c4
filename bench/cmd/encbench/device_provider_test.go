package main

import (
	"fmt"
	"runtime"
	"testing"

	"encbench/bench/assets"
)

func TestNoProvider(t *testing.T) {
	const needs = "encoding on a CUDA device needs ONNX Runtime's CUDA provider, "
	for err, want := range map[error]string{
		assets.ErrAbsent:                        needs + "which is not here: run `encbench assets get cuda12` (1.5 to 1.9 GB), name yours with --ort-library, or use --device cpu",
		fmt.Errorf("x: %w", assets.ErrPlatform): needs + "of which there is no package for " + runtime.GOOS + "/" + runtime.GOARCH + ": name yours with --ort-library, or use --device cpu",
	} {
		if got := noProvider(err, 12040).Error(); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	old := needs + "and that a driver for CUDA 12, 525 or later; this one is for CUDA 11.4: update it, or use --device cpu"
	if got := noProvider(assets.ErrAbsent, 11040).Error(); got != old {
		t.Errorf("an old driver: %s, want %s", got, old)
	}
}
