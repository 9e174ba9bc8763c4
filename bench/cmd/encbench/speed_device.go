package main

import (
	"context"
	"fmt"
	"path/filepath"

	"encbench/bench"
	"encbench/engine/ort"
)

// openDevices is openEncoder for a configuration on devices.
func (s *speedRun) openDevices(ctx context.Context, a *arm) error {
	c, r := a.config, a.Record
	run, err := s.deviceRun(c, a.model)
	if err != nil {
		return err
	}
	enc, err := run.open(s.rt)
	if err != nil {
		return err
	}
	a.run = run
	a.Encoder, a.Devices = enc, enc.use
	for i, replica := range enc.replicas {
		a.Replicas = append(a.Replicas, replica)
		for _, text := range replica.Warnings() {
			a.warnings = append(a.warnings, bench.Warning{Code: "device-memory", Text: deviceName(run.place.cuda[i]) + ": " + text})
		}
	}
	r.Cold.Import, r.Cold.SessionCreate = enc.graph.Seconds(), enc.create.Seconds()
	u := "auto"
	if c.ubatch > 0 {
		u = fmt.Sprint(c.ubatch)
	}
	r.Engine = bench.Engine{
		Backend: "onnxruntime", Version: s.rt.Version, Library: filepath.Base(s.rt.Path), LibrarySHA256: s.rtSHA,
		Device: c.device, Devices: run.describe(ctx), Requested: c.dtype, Engaged: run.engaged,
		Threads: c.threads, Workers: len(enc.replicas) * ort.DeviceSessions, Intra: 1,
		UBatch: u, HowRun: run.howRun(), Optimization: "all", Slots: enc.Slots(),
	}
	r.Protocol.DType, r.Model.Computed = run.engaged, run.engaged
	if c.region != bench.RegionEncode {
		r.Engine.Feeders = c.threads
	}
	return nil
}

// deviceRun says how a configuration runs on its devices.
func (s *speedRun) deviceRun(c config, m *loadedModel) (deviceRun, error) {
	engaged, err := m.engaged(c.dtype)
	return deviceRun{model: m, place: s.places[c.device], engaged: engaged, limit: c.limit(), ubatch: c.ubatch, longest: c.chunk}, err
}

// gateDevices is gate for a configuration on devices.
func (s *speedRun) gateDevices(ctx context.Context, a *arm) error {
	acc, each, first, err := a.Encoder.(*deviceEncoder).gate(ctx, s.app, a.run)
	if err != nil {
		return err
	}
	for i, cosine := range each {
		a.Record.Engine.Devices[i].MinCosine = cosine
	}
	return a.passed(acc, first)
}
