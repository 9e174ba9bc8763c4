package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"encbench/bench"

	"github.com/spf13/pflag"
)

// Set by the Makefile's -ldflags; a plain `go build` leaves the commit to the
// build information that Go stamps.
var (
	version = "0.1.0-dev"
	commit  = ""
	dirty   = ""
)

// tool identifies this binary.
func tool() bench.Tool {
	t := bench.Tool{Version: version, Commit: commit, Dirty: dirty == "true", Go: runtime.Version()}
	if t.Commit == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				switch s.Key {
				case "vcs.revision":
					t.Commit = s.Value
				case "vcs.modified":
					t.Dirty = s.Value == "true"
				}
			}
		}
	}
	return t
}

var versionCommand = &command{
	name:  "version",
	short: "print the version, commit and linked modules",
	examples: []example{
		{"encbench version", "for a bug report"},
		{"encbench version --json", "for a script"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &versionFlags{}
		fs.BoolVar(&f.json, "json", false, "print JSON")
		return f
	},
}

type versionFlags struct{ json bool }

func (f *versionFlags) run(_ context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	t := tool()
	type module struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	}
	var mods []module
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			mods = append(mods, module{d.Path, d.Version})
		}
	}
	if f.json {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			bench.Tool
			Schema  int      `json:"schema"`
			Modules []module `json:"modules"`
		}{t, bench.SchemaVersion, mods})
	}
	at := t.Commit
	switch {
	case at == "":
		at = "unknown commit"
	case t.Dirty:
		at += " with changes"
	}
	fmt.Fprintf(a.stdout, "encbench %s (%s), %s %s/%s, record schema %d\n", t.Version, at, t.Go, runtime.GOOS, runtime.GOARCH, bench.SchemaVersion)
	for _, m := range mods {
		fmt.Fprintf(a.stdout, "  %s %s\n", m.Path, m.Version)
	}
	return nil
}
