package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/bench/env/nvidia"
	"encbench/bench/env/peak"
	"encbench/bench/report"
	"encbench/cuda"
	"encbench/engine/feed"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/parallel"
	"encbench/engine/quant"
)

// dtypeTF32 is the --dtype that lets devices multiply float32 in TF32.
const dtypeTF32 = "tf32"

// tf32Override is the variable by which NVIDIA's libraries switch TF32 on or off whatever
// they are asked for.
const tf32Override = "NVIDIA_TF32_OVERRIDE"

// engaged is the type that products of a model run in on a device: that of its weights,
// or tf32 where dtype says so. An error is one of the command line.
func (m *loadedModel) engaged(dtype string) (string, error) {
	stored := string(quant.Float32)
	if m.dir != nil {
		stored = quant.Stored(m.dir)
	}
	switch {
	case m.dir == nil:
		return "", usagef("the graph %s is run on the processor only: name the model's Hugging Face directory, or --device cpu", m.graph)
	case m.facts.Computed == string(quant.Int8):
		return "", usagef("int8 layers are for the processor: on a CUDA device use --dtype float16, bfloat16, tf32 or float32, or --device cpu")
	case dtype == dtypeTF32 && os.Getenv(tf32Override) == "0":
		return "", usagef("%s=0 switches TF32 off: unset it, or use --dtype float32", tf32Override)
	case dtype == dtypeTF32:
		return dtypeTF32, nil
	case stored == string(quant.Float32) && os.Getenv(tf32Override) == "1":
		return "", usagef("%s=1 makes products of float32 run in TF32: unset it, or use --dtype tf32", tf32Override)
	case stored == string(quant.Float16) || stored == string(quant.BFloat16):
		return stored, nil
	}
	return string(quant.Float32), nil
}

// weightsOf is the --dtype of the weights that a --dtype computes with.
func weightsOf(dtype string) string {
	if dtype == dtypeTF32 {
		return string(quant.Float32)
	}
	return dtype
}

// products are the ONNX types of engaged ones.
var products = map[string]onnx.ElemType{string(quant.Float16): onnx.Float16, string(quant.BFloat16): onnx.BFloat16}

// deviceRun says how a model runs on devices.
type deviceRun struct {
	model   *loadedModel
	place   place
	engaged string
	limit   feed.Limit // of a batch
	ubatch  int        // rows of a group; 0 = those of like length
	longest int        // tokens of a row
	graphs  bool       // captured, a run for each length bucket
	smaller string     // the flag of the command that makes groups smaller
}

// deviceEncoder is a replica of a model on each device of a place.
type deviceEncoder struct {
	*parallel.Encoder
	replicas []*ort.CUDAEncoder
	graph    time.Duration // to build the graph
	create   time.Duration // the longest of the replicas took to be created
}

// form is the graph's.
func (d deviceRun) form() onnx.Options {
	return onnx.Options{Mask: d.ubatch != 1 || d.graphs, Target: onnx.CUDA, Compute: products[d.engaged]}
}

// tight says that a device may have too little memory for runs of the longest rows; ""
// where it has enough.
func (d deviceRun) tight(info cuda.Info) string {
	rows := d.ubatch
	if rows == 0 {
		rows = max(1, ort.DeviceGroupTokens/d.longest)
	}
	form := d.form()
	form.Types = d.model.types()
	need := ort.DeviceSessions * onnx.DeviceMemory(d.model.dir, form, min(rows, d.limit.Rows), d.longest).Sum()
	if need <= info.Memory {
		return ""
	}
	return fmt.Sprintf("runs of the longest rows may take up to %s and the device has %s: should memory run out, choose smaller groups (%s) or a --dtype of 16 bits", report.Size(need), report.Size(info.Memory), d.smaller)
}

// open loads the model on every device. Close closes all of them.
func (d deviceRun) open(rt *ort.Runtime) (*deviceEncoder, error) {
	mark := time.Now()
	g, err := d.model.buildFor(d.form(), d.longest)
	if err != nil {
		return nil, err
	}
	e := &deviceEncoder{graph: time.Since(mark)}
	var replicas []parallel.Replica
	for _, info := range d.place.cuda {
		enc, err := ort.OpenCUDA(rt, g, ort.CUDAOptions{Device: info.Ordinal, Batch: d.limit.Rows, UBatch: d.ubatch, TF32: d.engaged == dtypeTF32, Graphs: d.graphs, Host: true})
		if err != nil {
			if tight := d.tight(info); tight != "" {
				err = fmt.Errorf("%w; %s", err, tight)
			}
			for _, r := range e.replicas {
				err = errors.Join(err, r.Close())
			}
			return nil, err
		}
		e.replicas = append(e.replicas, enc)
		e.create = max(e.create, enc.CreateTime())
		replicas = append(replicas, parallel.Replica{Name: deviceName(info), Encoder: enc})
	}
	e.Encoder, err = parallel.Open(replicas)
	return e, err
}

// opened is an encoder on devices with what a record says of it.
type opened struct {
	*deviceEncoder
	rt       *ort.Runtime
	engine   bench.Engine
	warnings []bench.Warning
	accuracy bench.Accuracy
	first    time.Duration // of the gate's first run
}

// encodeOn opens a model where d says, with weights of --dtype and the library of
// --ort-library, and puts every device through the gate. threads tokenize. admit predicts the
// memory before anything large is loaded.
func (a *app) encodeOn(ctx context.Context, d deviceRun, dtype, library string, threads int, admit func() error) (o opened, err error) {
	if d.engaged, err = d.model.engaged(dtype); err != nil {
		return o, err
	}
	if o.rt, err = a.cudaRuntime(library); err != nil {
		return o, err
	}
	sha, err := fileSHA256(o.rt.Path)
	if err != nil {
		return o, err
	}
	if err := admit(); err != nil {
		return o, err
	}
	if o.deviceEncoder, err = d.open(o.rt); err != nil {
		return o, err
	}
	o.engine = o.describe(ctx, o.rt, sha, d, dtype, threads)
	o.engine.Feeders = threads
	o.warnings = o.warningsOf(d)
	if o.accuracy, o.first, err = o.gate(ctx, a, d, o.engine.Devices); err != nil {
		err = errors.Join(err, o.Close())
	}
	return o, err
}

// deviceName is a device as --device names it.
func deviceName(info cuda.Info) string { return fmt.Sprintf("cuda:%d", info.Ordinal) }

// howRun says how batches go over the devices.
func (d deviceRun) howRun() string {
	text := fmt.Sprintf("batch %d", d.limit.Rows)
	if d.limit.Tokens > 0 {
		text = fmt.Sprintf("batches of up to %d tokens", d.limit.Tokens)
	}
	if d.ubatch > 0 {
		text += fmt.Sprintf(", run in groups of %d rows", d.ubatch)
	} else {
		text += fmt.Sprintf(", run as groups of up to %d tokens whose lengths are rounded up to %d", ort.DeviceGroupTokens, ort.DeviceStep)
	}
	if d.graphs {
		text += " padded to their length bucket, captured"
	}
	text += ", in two streams"
	if n := len(d.place.cuda); n > 1 {
		text += fmt.Sprintf(" on each of %d devices", n)
	}
	return text
}

// describe is what a record says of the devices before they have done anything.
func (d deviceRun) describe(ctx context.Context) []bench.Device {
	// What nvidia-smi knows is worth having; a machine without it is no fault.
	told, _ := nvidia.Query(ctx)
	state := cuda.State()
	var out []bench.Device
	for _, info := range d.place.cuda {
		b := bench.Device{
			Name: deviceName(info), Model: info.Name, UUID: info.UUID, PCI: info.PCI, Capability: fmt.Sprintf("%d.%d", info.Major, info.Minor),
			Memory: info.Memory, SMs: info.SMs, ECC: info.ECC, Fake: state.Fake, Driver: state.Release,
			CUDA: fmt.Sprintf("%d.%d", state.Version/1000, state.Version%1000/10), PowerLimit: info.Watts,
		}
		// A driver of tests may give its devices any name.
		if part, ok := peak.GPU(info.Name); ok && !info.MIG && !state.Fake {
			b.Part, b.Peak, b.PeakSource, b.DefaultLimit = part.Name, part.FLOPS(d.engaged), part.Source, float64(part.Watts)
		}
		if g := nvidia.Find(told, info.UUID); g != nil {
			b.PowerLimit = g.PowerLimit
			if g.DefaultLimit > 0 {
				b.DefaultLimit = g.DefaultLimit
			}
		}
		out = append(out, b)
	}
	return out
}

// describe describes an encoder on devices; threads tokenize for it.
func (e *deviceEncoder) describe(ctx context.Context, rt *ort.Runtime, sha string, d deviceRun, requested string, threads int) bench.Engine {
	u := "auto"
	if d.ubatch > 0 {
		u = fmt.Sprint(d.ubatch)
	}
	return bench.Engine{
		Backend: "onnxruntime", Version: rt.Version, Library: filepath.Base(rt.Path), LibrarySHA256: sha,
		Device: d.place.name, Devices: d.describe(ctx), Requested: requested, Engaged: d.engaged,
		Threads: threads, Workers: len(e.replicas) * ort.DeviceSessions, Intra: 1,
		UBatch: u, HowRun: d.howRun(), Optimization: "all", Slots: e.Slots(),
	}
}

// measurePeaks puts what the product kernel of the search reaches into the devices, where
// the model's products are of the same 16 bits.
func (d deviceRun) measurePeaks(ctx context.Context, devices []bench.Device) error {
	if products[d.engaged] == 0 {
		return nil
	}
	for i, info := range d.place.cuda {
		var err error
		if devices[i].Measured, devices[i].HowPeak, err = productPeak(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// warningsOf are those of opening the replicas.
func (e *deviceEncoder) warningsOf(d deviceRun) []bench.Warning {
	var out []bench.Warning
	for i, r := range e.replicas {
		texts := r.Warnings()
		if tight := d.tight(d.place.cuda[i]); tight != "" {
			texts = append(texts, tight)
		}
		for _, text := range texts {
			out = append(out, bench.Warning{Code: "device-memory", Text: deviceName(d.place.cuda[i]) + ": " + text})
		}
	}
	return out
}

// loads puts what was seen of the devices while they ran into a record.
func loads(devices []bench.Device, seen []nvidia.Load) {
	for i := range devices {
		if l := nvidia.FindLoad(seen, devices[i].UUID); l != nil {
			d := &devices[i]
			d.Power, d.ClockMHz, d.Celsius, d.HeldDown = l.Power, l.ClockMHz, l.Celsius, l.HeldDown
		}
	}
}

// use is what each replica did since it was opened, by the device's own events.
func (e *deviceEncoder) use() []bench.DeviceUse {
	var out []bench.DeviceUse
	for _, r := range e.replicas {
		u := r.Use()
		out = append(out, bench.DeviceUse{
			Batches: u.Batches, Rows: u.Rows, Tokens: u.Tokens, Busy: u.Busy, Compute: u.Compute,
			In:  bench.Transfer{Bytes: u.In.Bytes, Seconds: u.In.Time.Seconds()},
			Out: bench.Transfer{Bytes: u.Out.Bytes, Seconds: u.Out.Time.Seconds()},
		})
	}
	return out
}

// gate holds every replica against the reference: a second device that gives zeros must
// not hide behind the first. It gives the worst outcome, and puts the least cosine of each
// into devices, where those are given.
func (e *deviceEncoder) gate(ctx context.Context, a *app, d deviceRun, devices []bench.Device) (worst bench.Accuracy, first time.Duration, err error) {
	refs, from, err := a.references(ctx, d.model, min(d.longest, d.model.maxPositions()))
	if err != nil {
		return worst, 0, err
	}
	limits := bench.DeviceLimits(d.engaged, d.model.reranks())
	for i, r := range e.replicas {
		acc, took, err := bench.Gate(ctx, r, refs, from, limits)
		name := deviceName(d.place.cuda[i])
		if err != nil {
			return worst, 0, fmt.Errorf("%s: %w", name, err)
		}
		if acc.Error != "" {
			acc.Error = name + ": " + acc.Error
		}
		first = max(first, took)
		if devices != nil {
			devices[i].MinCosine = acc.Min
		}
		if i == 0 || worst.Passed && (!acc.Passed || acc.Min < worst.Min) {
			worst = acc
		}
	}
	return worst, first, nil
}

// utilization is the peak that a run is a share of: that of the type that its products
// really run in, all devices together. Where a part is not known there is none.
func utilization(devices []bench.Device, engaged string) bench.Utilization {
	var u bench.Utilization
	for i, d := range devices {
		if d.Peak <= 0 {
			return bench.Utilization{Source: fmt.Sprintf("%s (%s) is not in the table of peaks: no share of its peak is given", d.Name, d.Model)}
		}
		u.Peak += d.Peak
		if i == 0 {
			u.Source = fmt.Sprintf("%s, %s", engaged, d.PeakSource)
		}
	}
	if n := len(devices); n > 1 {
		u.Source += fmt.Sprintf("; %d devices", n)
	}
	return u
}
