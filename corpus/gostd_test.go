package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
)

func TestGostdRule(t *testing.T) {
	root := tree(t, map[string]string{
		"VERSION": "go1.99.1\ntime 2026-01-01T00:00:00Z\n", "src/fmt/print.go": "package fmt\n", "src/fmt/print_test.go": "package fmt_test\n",
		"src/fmt/testdata/x.go": "broken", "src/fmt/asm.s": "TEXT", "src/a.go": "package a\n", "src/vendor/v/v.go": "package v\n", "doc/x.go": "package x\n",
	})
	var out bytes.Buffer
	m, err := BuildGostd(root, &out)
	if err != nil {
		t.Fatal(err)
	}
	if m.Rule != "gostd-1 go1.99.1" || m.Name != Gostd || m.Documents != 4 {
		t.Errorf("%+v", m)
	}
	docs, _, err := drain(t, NewJSONL(&out, "out", Options{Strict: true}))
	want := "[{a.go  package a\n} {fmt/print.go  package fmt\n} {fmt/print_test.go  package fmt_test\n} {vendor/v/v.go  package v\n}]"
	if fmt.Sprint(docs) != want || err != nil {
		t.Errorf("got %v, %v, want %v", docs, err, want)
	}

	_, err = BuildGostd(root+"/doc", &out)
	wantError(t, err, ErrNoToolchain, "open corpus gostd: no Go toolchain: "+root+"/doc/src holds no sources of the standard library; install a full Go distribution, or choose another corpus (techdocs, or a path)")
}

func TestGoRoot(t *testing.T) {
	root, version, err := GoRoot()
	if errors.Is(err, ErrNoToolchain) {
		assettest.Without(t, "%v", err)
	}
	if err != nil || !strings.HasPrefix(version, "go") && !strings.HasPrefix(version, "devel") {
		t.Fatalf("%q, %v", version, err)
	}
	s, err := OpenGostd(root, Options{Strict: true})
	if errors.Is(err, ErrNoToolchain) {
		assettest.Without(t, "%v", err) // a toolchain without its sources
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Scan(s, Gostd, s.Format(), nil)
	if err := errors.Join(err, s.Close()); err != nil || m.Documents < 3000 || m.TextBytes < 30e6 {
		t.Errorf("%+v, %v", m, err)
	}
	t.Logf("%+v", m)

	t.Setenv("PATH", t.TempDir())
	_, _, err = GoRoot()
	wantError(t, err, ErrNoToolchain, `open corpus gostd: no Go toolchain: run go env: exec: "go": executable file not found in $PATH; install Go and put it on PATH, or choose another corpus (techdocs, or a path)`)
}
