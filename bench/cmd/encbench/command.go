package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

var errHelp = pflag.ErrHelp

// runner is a subcommand with its flags parsed.
type runner interface {
	run(ctx context.Context, a *app, args []string) error
}

// command is one subcommand. Its name may have two words ("model list").
type command struct {
	name     string
	args     string // after the flags, as in usage
	short    string // one line for the overview
	long     string // below the usage line
	examples []example
	define   func(fs *pflag.FlagSet) runner
}

// example is a command line that works, and what it does. Tests run them.
type example struct{ line, note string }

// commands in the order of the overview.
func commands() []*command {
	return []*command{
		speedCommand, evalCommand, rerankCommand, latencyCommand, compareCommand, tokenizeCommand,
		scoreCommand, runCatCommand, runConvertCommand, runMergeCommand, runInfoCommand, searchCommand,
		labelsSplitCommand, labelsExportCommand, labelsImportCommand,
		failuresAddCommand, failuresListCommand, failuresShowCommand,
		modelListCommand, modelPullCommand, modelImportCommand, modelConvertCommand, modelVerifyCommand, modelShowCommand, modelSynthCommand,
		corpusListCommand, corpusShowCommand,
		assetsListCommand, assetsGetCommand, assetsVerifyCommand,
		peersCommand, resultsCommand,
		doctorCommand, gpuCheckCommand, versionCommand,
	}
}

// find picks the subcommand that args begin with; nil asks for the overview.
func find(args []string) (*command, []string, error) {
	if len(args) == 0 || args[0] == "help" && len(args) == 1 || args[0] == "--help" || args[0] == "-h" {
		return nil, nil, nil
	}
	if args[0] == "--version" {
		args = []string{"version"}
	}
	if args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	var group []string
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if words[0] == args[0] && len(words) == 1 {
			return c, args[1:], nil
		}
		if words[0] == args[0] {
			group = append(group, words[1])
			if len(args) > 1 && words[1] == args[1] {
				return c, args[2:], nil
			}
		}
	}
	if group != nil {
		return nil, nil, fmt.Errorf("%s needs one of: %s; see `encbench %s --help`", args[0], strings.Join(group, ", "), args[0])
	}
	return nil, nil, fmt.Errorf("unknown command %q; see `encbench --help`", args[0])
}

// asksForGroup gives the commands of two words whose first word's help args ask
// for, as in "run --help", "run help" and "help run"; none where they do not.
func asksForGroup(args []string) (group []*command) {
	if len(args) != 2 {
		return nil
	}
	word := args[0]
	switch {
	case word == "help":
		word = args[1]
	case !slices.Contains([]string{"help", "--help", "-h"}, args[1]):
		return nil
	}
	for _, c := range commands() {
		if strings.HasPrefix(c.name, word+" ") {
			group = append(group, c)
		}
	}
	return group
}

// groupHelp prints the commands of a group.
func (a *app) groupHelp(group []*command) {
	word, _, _ := strings.Cut(group[0].name, " ")
	fmt.Fprintf(a.stdout, "Usage:\n  encbench %s COMMAND [flags] [arguments]\n\nCommands:\n", word)
	list(a.stdout, group)
	fmt.Fprintf(a.stdout, "\n\"encbench %s COMMAND --help\" explains each command.\n", word)
}

// list prints commands with their short texts, a line each.
func list(w io.Writer, of []*command) {
	width := 0
	for _, c := range of {
		width = max(width, len(c.name))
	}
	for _, c := range of {
		fmt.Fprintf(w, "  %-*s  %s\n", width, c.name, c.short)
	}
}

func (c *command) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	return fs
}

// help prints everything about the subcommand.
func (c *command) help(w io.Writer, fs *pflag.FlagSet) {
	usage := "encbench " + c.name
	if fs.HasFlags() {
		usage += " [flags]"
	}
	if c.args != "" {
		usage += " " + c.args
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", c.short, usage)
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.long))
	}
	if fs.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", fs.FlagUsagesWrapped(100))
	}
	if len(c.examples) > 0 {
		fmt.Fprintf(w, "\nExamples:\n")
		for _, e := range c.examples {
			fmt.Fprintf(w, "  # %s\n  %s\n", e.note, e.line)
		}
	}
}

// overview prints the list of subcommands.
func (a *app) overview() {
	fmt.Fprintf(a.stdout, `encbench measures retrieval encoders: documents per second on this machine,
with everything needed to trust the figure.

Usage:
  encbench COMMAND [flags] [arguments]

Commands:
`)
	list(a.stdout, commands())
	fmt.Fprintf(a.stdout, `
Start with "encbench speed --profile quick". "encbench COMMAND --help" explains
each command; results go to standard output, everything else to standard error.
Exit codes: 0 success, 1 failure, 2 wrong usage.

Environment:
  ENCBENCH_CACHE        folder for downloads and derived files
  ENCBENCH_ORT_LIBRARY  your own ONNX Runtime library instead of the pinned one
  ENCBENCH_MODEL_DIR    your own model directory instead of the pinned one
  ENCBENCH_PYTHON       the Python whose pip downloads (default python3)
  ENCBENCH_CUDA_DRIVER  another CUDA driver library (default libcuda.so.1)
  CUDA_VISIBLE_DEVICES  narrows the GPUs, as everywhere
`)
}

// noArguments is the error for arguments after the flags where none belong.
func noArguments(args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}
