package ort

import (
	"errors"
	"fmt"
	"strings"
)

// CUDAOptions configures an encoder on a device.
type CUDAOptions struct {
	Device int // its ordinal
	Batch  int // most rows of a batch
	// UBatch is the rows of a group; 0 = rows of like length, up to GroupTokens tokens: equal
	// when rounded up to DeviceStep, or, of a graph without a mask, equal.
	UBatch      int
	GroupTokens int // 0 = DeviceGroupTokens
	Slots       int // batches in flight; 0 = 3
	Sessions    int // each with a copy of the weights and a stream of its own; 0 = DeviceSessions
	// TF32 lets float32 products be made of numbers of 10 bits: the dtype tf32.
	TF32 bool
	// Graphs captures the run of each shape and replays it. Rows are padded to the top
	// of their length's bucket and groups to UBatch rows, which must be set, and the
	// graph needs a mask. While a shape runs for the first time nothing else of the
	// process may allocate on the device.
	Graphs bool
	// MemoryLimit is the most that a session's arena may take, in bytes; 0 = all there is.
	MemoryLimit int64
	// Host gives rows in page-locked memory of the host. Without it they stay in the slot's
	// memory on the device, for a searcher that takes them from there.
	Host bool
	// Pageable has ids and rows of the host in ordinary memory: for measuring what
	// page-locked memory saves.
	Pageable bool
}

// DeviceSessions is how many sessions of an encoder run beside each other on a device: one
// computes while the next is given its work.
const DeviceSessions = 2

// DeviceStep is what the lengths of an automatic group are rounded up to: a device wants
// many rows in a run, and they are padded, by 6 % of 512 tokens in the mean. On paper; no
// device has confirmed it.
const DeviceStep = 64

// attentionStep is what the lengths of other padded groups are rounded up to: the kernels
// that keep no scores take keys by 8 and, in float32, by 16.
const attentionStep = 16

// step is what the lengths of groups are rounded up to.
func (o CUDAOptions) step(g *Graph) int {
	switch {
	case !g.Masked():
		return 1
	case o.UBatch == 0:
		return DeviceStep
	}
	return attentionStep
}

// DeviceGroupTokens is the size of an automatic group on a device.
const DeviceGroupTokens = 16384

func (o CUDAOptions) withDefaults() CUDAOptions {
	set := func(v *int, otherwise int) {
		if *v == 0 {
			*v = otherwise
		}
	}
	set(&o.GroupTokens, DeviceGroupTokens)
	set(&o.Slots, 3)
	set(&o.Sessions, DeviceSessions)
	return o
}

// validate lists what is wrong with the options for a graph.
func (o CUDAOptions) validate(g *Graph) error {
	var errs []error
	if o.Batch < 1 || o.UBatch < 0 || o.GroupTokens < 1 || o.Slots < 1 || o.Sessions < 1 || o.MemoryLimit < 0 {
		errs = append(errs, fmt.Errorf("batch %d, micro-batch %d, group of %d tokens, %d slots, %d sessions, memory limit %d: expected 1 or more, micro-batch and limit 0 or more", o.Batch, o.UBatch, o.GroupTokens, o.Slots, o.Sessions, o.MemoryLimit))
	}
	if o.UBatch > 1 && !g.Masked() {
		errs = append(errs, fmt.Errorf("groups of %d rows need padding, and the graph has no mask input", o.UBatch))
	}
	if o.Graphs && (o.UBatch < 1 || !g.Masked()) {
		errs = append(errs, errors.New("captured graphs have fixed shapes: give a micro-batch of 1 row or more and a graph with a mask input"))
	}
	if g.States || g.Normalize {
		errs = append(errs, errors.New("the graph leaves pooling or normalising to the host: on a device both are part of the graph; use the model's directory in place of the .onnx file, or the processor"))
	}
	return errors.Join(errs...)
}

// Placement says where the nodes of a graph run.
type Placement struct {
	CUDA   int      // on the device
	Shapes int      // on the host, of sizes alone, as the provider itself prefers
	Host   []string // "operator node" of every other one on the host
}

// provider is the name of ONNX Runtime's CUDA provider.
const provider = "CUDAExecutionProvider"

// place counts the lines "provider, tab, operator, tab, node"; shapes are the nodes that
// compute sizes.
func place(lines string, shapes []string) Placement {
	small := map[string]bool{}
	for _, name := range shapes {
		small[name] = true
	}
	var p Placement
	for line := range strings.Lines(lines) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		op, name, _ := strings.Cut(rest, "\t")
		switch {
		case at == provider:
			p.CUDA++
		case small[name]:
			p.Shapes++
		default:
			p.Host = append(p.Host, op+" "+name)
		}
	}
	return p
}

// mostNamed is how many nodes an error names.
const mostNamed = 5

// refuse gives the error of a graph that would not run on the device alone.
func (p Placement) refuse(version string) error {
	all := p.CUDA + p.Shapes + len(p.Host)
	if p.CUDA > 0 && len(p.Host) == 0 {
		return nil
	}
	if p.CUDA == 0 {
		return fmt.Errorf("%w: none of the graph's %d nodes would run on the device with ONNX Runtime %s", ErrFallback, all, version)
	}
	names := strings.Join(p.Host[:min(len(p.Host), mostNamed)], ", ")
	if more := len(p.Host) - mostNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w: %d of the graph's %d nodes would run on the processor with ONNX Runtime %s: %s; use a runtime whose CUDA provider has these operators, another dtype, or --device cpu", ErrFallback, len(p.Host), all, version, names)
}
