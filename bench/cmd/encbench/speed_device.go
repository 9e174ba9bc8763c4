package main

import (
	"context"
	"errors"

	"encbench/bench"
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
	for _, replica := range enc.replicas {
		a.Replicas = append(a.Replicas, replica)
	}
	a.warnings = append(a.warnings, enc.warningsOf(run)...)
	r.Cold.Import, r.Cold.SessionCreate = enc.graph.Seconds(), enc.create.Seconds()
	r.Engine = enc.describe(ctx, s.rt, s.rtSHA, run, c.dtype, c.threads)
	if err := run.measurePeaks(ctx, r.Engine.Devices); err != nil {
		return errors.Join(err, enc.Close())
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
	return deviceRun{model: m, place: s.places[c.device], engaged: engaged, limit: c.limit(), ubatch: c.ubatch, longest: c.chunk, graphs: s.graphs, smaller: "--ubatch-size"}, err
}

// gateDevices is gate for a configuration on devices.
func (s *speedRun) gateDevices(ctx context.Context, a *arm) error {
	acc, first, err := a.Encoder.(*deviceEncoder).gate(ctx, s.app, a.run, a.Record.Engine.Devices)
	if err != nil {
		return err
	}
	if err := s.app.retrievalOf(ctx, a.model, s.rt, &acc); err != nil {
		return err
	}
	return a.passed(acc, first)
}
