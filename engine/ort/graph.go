package ort

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"encbench/engine"
)

// Role is what an input of a graph wants.
type Role uint8

// Roles of graph inputs.
const (
	IDs     Role = iota // [rows, len] token ids
	Mask                // [rows, len] 1 for a token, 0 for padding
	Types               // [rows, len] token types
	Lengths             // [rows] tokens of each row
)

// Input is one input of a graph.
type Input struct {
	Name  string
	Role  Role
	Int64 bool // int64 elements; int32 otherwise
}

// Graph is an encoder graph and what the encoder must know of it.
type Graph struct {
	Bytes      []byte // the ONNX model, or nil when Path names it
	Path       string // a ready .onnx file
	WeightsDir string // folder of the external weights; used with Bytes
	Inputs     []Input
	Output     string
	States     bool   // the output is token states [rows, len, dim], pooled here
	Pooling    string // with States: mean, cls, last or max
	Normalize  bool   // with States or a sentence output: divide by the L2 norm here
	Dim        int
	Vocab      int // ids must be below; 0 = unknown
	TokenTypes int // token types must be below where there is an input of them; 0 = unknown
	MaxLen     int // longest row
	Pad        int32
	// Elem is the type of the output. On the host it is float32.
	Elem engine.Elem
	// Shapes are the nodes that compute sizes alone: on a device they may stay on the
	// host.
	Shapes []string

	// FLOP gives the work of a run of rows padded to len tokens; nil = not known.
	FLOP func(rows, len int) float64
}

// has says whether the graph has an input of the role.
func (g *Graph) has(r Role) bool {
	return slices.ContainsFunc(g.Inputs, func(in Input) bool { return in.Role == r })
}

// Masked says whether the graph can tell padding from tokens.
func (g *Graph) Masked() bool { return g.has(Mask) || g.has(Lengths) }

// Validate says what is wrong with the description.
func (g *Graph) Validate() error {
	var errs []error
	if len(g.Bytes) == 0 && g.Path == "" {
		errs = append(errs, errors.New("no model bytes and no path"))
	}
	if len(g.Inputs) == 0 || g.Output == "" {
		errs = append(errs, errors.New("no inputs or no output"))
	}
	if g.Dim < 1 || g.MaxLen < 1 {
		errs = append(errs, fmt.Errorf("dim %d, longest row %d: both must be at least 1", g.Dim, g.MaxLen))
	}
	if g.States && !slices.Contains(poolings, g.Pooling) {
		errs = append(errs, fmt.Errorf("pooling %q of token states: supported are %s", g.Pooling, strings.Join(poolings, ", ")))
	}
	return errors.Join(errs...)
}
