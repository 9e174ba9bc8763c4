package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/env/nvidia"
	"encbench/bench/env/peak"
	"encbench/bench/report"
	"encbench/corpus"
	"encbench/engine/ort"
)

// speedRun is one `encbench speed` on its way from flags to records.
type speedRun struct {
	*speedFlags
	app      *app
	configs  []config
	schedule bench.Schedule
	sampleN  int
	facts    env.Facts
	bar      *progress
	began    time.Time
	out      *outFile

	model      *loadedModel            // as its directory has it
	models     map[string]*loadedModel // on other weights, by --dtype
	modelTime  time.Duration
	places     map[string]place // by --device; later by their own names
	rt         *ort.Runtime
	rtSHA      string
	input      *input
	selections map[[2]int]*selection // by chunk and overlap
	arms       []*arm
	memory     bench.Memory                  // predicted, of all arms together
	searches   map[config]*bench.BatchSearch // by the configuration that was chosen
}

// run measures every configuration and prints the report.
func (f *speedFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	s := &speedRun{speedFlags: f, app: a, bar: a.progress(), began: time.Now(), selections: map[[2]int]*selection{}, models: map[string]*loadedModel{}, searches: map[config]*bench.BatchSearch{}}
	s.facts = env.Collect()
	if err := s.resolve(); err != nil {
		return &usageError{err}
	}
	// A place that cannot be written must show before minutes of measuring.
	var err error
	if s.out, err = openOut(f.out, isSpeedRecord, f.corpus, f.model); err != nil {
		return err
	}
	defer s.close()
	if err := s.openPlaces(); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.openTypes(ctx); err != nil {
		return err
	}
	if err := s.openRuntime(ctx); err != nil {
		return err
	}
	in, done, err := a.openInput(ctx, f.corpus, corpus.Options{Format: f.corpusFormat, Strict: f.strict}, s.sampleN == 0)
	if err != nil {
		return err
	}
	defer done()
	s.input = in
	if in.once != nil && len(s.configs) > 1 {
		return usagef("standard input can be read once: with --sample all give one configuration, or name a file")
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	for _, c := range s.configs {
		if err := s.prepare(ctx, c); err != nil {
			return err
		}
	}
	return s.measure(ctx)
}

// openTypes puts the model on the weights of every --dtype. A type that the weights
// have already is auto, and gives no configuration of its own.
func (s *speedRun) openTypes(ctx context.Context) error {
	for i, c := range s.configs {
		m, err := s.modelOf(ctx, c.dtype)
		if err != nil {
			return err
		}
		if len(s.places[c.device].cuda) > 0 {
			if _, err := m.engaged(c.dtype); err != nil {
				return err
			}
		} else if err := checkProcessor(c.dtype); err != nil {
			return err
		} else if s.graphs {
			return usagef("--cuda-graphs is for CUDA devices, this runs on the processor: leave it out, or --device cuda")
		}
		if m.original == nil && c.dtype != dtypeTF32 {
			s.configs[i].dtype = dtypeAuto
		}
	}
	s.configs = dedupe(s.configs)
	return nil
}

// resolve turns the flags into configurations and a schedule.
func (s *speedRun) resolve() error {
	var err1, err2, err3 error
	s.configs, err1 = s.speedFlags.configs(env.CPUs(s.facts))
	s.schedule, err2 = s.speedFlags.schedule()
	threads := 1
	for _, c := range s.configs {
		threads = max(threads, c.threads)
	}
	s.sampleN, err3 = s.sampleChunks(threads)
	return errors.Join(err1, err2, err3)
}

// open loads the model, its tokenizer and the runtime.
func (s *speedRun) open(ctx context.Context) (err error) {
	opt := modelOptions{name: s.speedFlags.model, pooling: s.pooling}
	if s.fs.Changed("prompt") {
		opt.prompt = &s.prompt
	}
	mark := time.Now()
	if s.model, err = s.app.openModel(ctx, opt); err != nil {
		return err
	}
	s.modelTime = time.Since(mark)
	if err := s.model.checkPrompt(s.model.prompt); err != nil {
		return err
	}
	return nil
}

// openPlaces finds the devices of every --device; their configurations have the names of
// what was found.
func (s *speedRun) openPlaces() error {
	s.places = map[string]place{}
	for i, c := range s.configs {
		p, ok := s.places[c.device]
		if !ok {
			var err error
			if p, err = s.app.encodePlace(c.device, s.ortLibrary); err != nil {
				return err
			}
			s.places[c.device] = p
			if _, known := s.places[p.name]; !known || p.note != "" {
				s.places[p.name] = p
			}
		}
		s.configs[i].device = p.name
	}
	s.configs = dedupe(s.configs)
	return nil
}

// openRuntime loads ONNX Runtime, with its CUDA provider where a device is used: one
// library serves all configurations.
func (s *speedRun) openRuntime(ctx context.Context) (err error) {
	if s.onDevices() {
		s.rt, err = s.app.cudaRuntime(s.ortLibrary)
	} else {
		s.rt, err = s.app.runtime(ctx, s.ortLibrary)
	}
	if err != nil {
		return err
	}
	s.rtSHA, err = fileSHA256(s.rt.Path)
	return err
}

// onDevices says whether any configuration runs on devices.
func (s *speedRun) onDevices() bool {
	return slices.ContainsFunc(s.configs, func(c config) bool { return len(s.places[c.device].cuda) > 0 })
}

// modelOf gives the model on the weights that a --dtype names.
func (s *speedRun) modelOf(ctx context.Context, dtype string) (*loadedModel, error) {
	if dtype = weightsOf(dtype); dtype == dtypeAuto {
		return s.model, nil
	}
	if m := s.models[dtype]; m != nil {
		return m, nil
	}
	m, err := s.model.as(ctx, s.app, dtype)
	if err != nil {
		return nil, err
	}
	s.models[dtype] = m
	return m, nil
}

func (s *speedRun) close() {
	var errs []error
	for _, a := range s.arms {
		errs = append(errs, a.Encoder.Close())
	}
	for _, sel := range s.selections {
		sel.close()
	}
	for _, m := range s.models {
		errs = append(errs, m.close())
	}
	if s.model != nil {
		errs = append(errs, s.model.close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(s.app.stderr, "encbench speed: closing: %v\n", err)
	}
}

// goHeap is the memory of the Go heap in use.
func goHeap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// measure runs the harness over all arms, writes the records and prints them.
func (s *speedRun) measure(ctx context.Context) error {
	peaks := map[int]bench.Utilization{}
	for _, a := range s.arms {
		if d := a.Record.Engine.Devices; len(d) > 0 {
			setPeak(a.Record, utilization(d, a.Record.Engine.Engaged))
			continue
		}
		t := a.Record.Engine.Threads
		if _, ok := peaks[t]; !ok {
			flops, source, err := peak.FLOPS(ctx, t, cmp.Or(s.app.probe, probeTime))
			if err != nil && !errors.Is(err, peak.ErrNotBuilt) {
				return err
			}
			peaks[t] = bench.Utilization{Peak: flops, Source: source}
		}
		of := peaks[t]
		if a.model.activationBits() > 0 {
			of.Source += "; float32's, which the int8 layers can exceed"
		}
		setPeak(a.Record, of)
	}
	h := &bench.Harness{Schedule: s.schedule, Progress: s.show}
	for _, a := range s.arms {
		h.Arms = append(h.Arms, &a.Arm)
	}
	// What cannot be saved on the way does not end the run: the record is saved
	// again at its end, and that failure is reported beside the figures.
	h.Save = func(*bench.Arm) error {
		_ = s.out.save(recordsTo(s.records()))
		return nil
	}
	watch := env.StartWatch()
	var gpus *nvidia.Watch
	if s.onDevices() {
		gpus = nvidia.StartWatch(ctx)
	}
	err := h.Run(ctx)
	if gpus != nil {
		seen := gpus.Stop()
		for _, a := range s.arms {
			loads(a.Record.Engine.Devices, seen)
		}
	}
	_, noise := watch.Stop().Quiet()
	if _, before := s.facts.Quiet(); len(noise) == 0 {
		noise = before
	}
	s.bar.clear()
	status := bench.StatusComplete
	switch {
	case err != nil && errors.Is(err, context.Canceled) && ctx.Err() != nil:
		status = bench.StatusInterrupted
	case err != nil:
		status = bench.StatusFailed
	}
	if len(s.records()) == 0 {
		if status == bench.StatusInterrupted {
			return errors.New("interrupted before the first sample; nothing was measured")
		}
		return err
	}
	for _, a := range s.arms {
		s.finish(a, status, noise)
	}
	return s.present(status, err)
}

// setPeak puts the peak into a record, with what is counted against it.
func setPeak(r *bench.Record, of bench.Utilization) {
	r.MFU, r.HFU = of, of
	r.MFU.Formula = "Σ (tokens × linear FLOP + tokens² × attention FLOP) over rows ÷ seconds ÷ peak"
	if m := r.Model; m.CausalFLOP > 0 || len(m.LocalAttention) > 0 {
		r.MFU.Formula = "Σ (tokens × linear FLOP + tokens × keys that they attend to × attention FLOP) over rows ÷ seconds ÷ peak"
	}
	r.HFU.Formula = "the same over padded rows, as issued"
}

// present prints the report and leaves the record in its place: under its name
// when the run is complete, or interrupted and nothing was there before; else
// beside it.
func (s *speedRun) present(status string, failure error) error {
	kept := s.out.save(recordsTo(s.records()))
	if kept == nil && (status == bench.StatusComplete || status == bench.StatusInterrupted && !s.out.exist) {
		kept = s.out.commit()
	}
	if err := report.Write(s.app.stdout, s.format, s.records()); err != nil {
		return errors.Join(err, kept)
	}
	where := s.out.path
	if status == bench.StatusFailed || status == bench.StatusInterrupted && s.out.exist {
		where = s.out.partial()
	}
	if s.out.path != "" && kept == nil {
		fmt.Fprintf(s.app.stderr, "record written to %s\n", where)
	}
	switch {
	case kept != nil:
		return kept
	case status == bench.StatusFailed:
		return fmt.Errorf("%w; the report holds the samples before it", failure)
	case status == bench.StatusInterrupted:
		return errors.New("interrupted; the report holds what was measured so far")
	}
	return nil
}

// records are those of the arms that have measured something.
func (s *speedRun) records() []*bench.Record {
	var out []*bench.Record
	for _, a := range s.arms {
		if len(a.Record.Samples) > 0 {
			out = append(out, a.Record)
		}
	}
	return out
}

// finish completes a record: status, memory, warnings and verdict.
func (s *speedRun) finish(a *arm, status string, noise []string) {
	r := a.Record
	r.Status = status
	r.Memory.PeakRSS = env.PeakRSS()
	r.Memory.GoHeap = goHeap()
	if a.model.dir != nil {
		r.Memory.Weights = a.model.dir.Weights.Size
	}
	r.Warnings = append(a.warnings, bench.Warnings(r)...)
	r.Verdict = bench.Judge(r, noise)
}

// show draws the progress line.
func (s *speedRun) show(step bench.Step) {
	if step.Phase == "warm-up" {
		s.bar.show(0, func() string { return "warming up " + s.arms[step.Arm].label() })
		return
	}
	now := step.Timed + step.Elapsed
	share := 0.0
	if step.Planned > 0 {
		share = float64(now) / float64(max(step.Planned, now))
	}
	s.bar.show(share, func() string {
		text := fmt.Sprintf("sample %d of %d or more, ", step.Sample, step.Samples)
		if step.Rate > 0 {
			text += fmt.Sprintf("%.1f chunks/s, ", step.Rate)
		}
		text += left(step.Planned - now)
		if len(s.arms) > 1 {
			text = s.arms[step.Arm].label() + ": " + text
		}
		return text
	})
}
