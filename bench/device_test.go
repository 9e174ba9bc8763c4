package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/feed"
)

// What the devices did in timed samples is counted, what they did before is not.
func TestDevicesAreCounted(t *testing.T) {
	use := DeviceUse{}
	a := &Arm{Record: &Record{Engine: Engine{Devices: make([]Device, 1)}}, Devices: func() []DeviceUse { return []DeviceUse{use} }}
	use = DeviceUse{Batches: 9, Rows: 90, Tokens: 900, Busy: time.Second, Compute: time.Second, In: Transfer{100, 1}, Out: Transfer{10, 1}}
	a.skipDevices()
	for range 2 {
		use.Batches, use.Rows, use.Tokens = use.Batches+1, use.Rows+2, use.Tokens+30
		use.Busy, use.Compute = use.Busy+300*time.Millisecond, use.Compute+250*time.Millisecond
		use.In.Bytes, use.In.Seconds, use.Out.Bytes, use.Out.Seconds = use.In.Bytes+1000, use.In.Seconds+0.1, use.Out.Bytes+500, use.Out.Seconds+0.05
		a.countDevices(400 * time.Millisecond)
	}
	use.Rows += 1000
	a.skipDevices()
	use.Busy += time.Second
	a.countDevices(500 * time.Millisecond) // never more than the wall
	d := a.Record.Engine.Devices[0]
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if d.Batches != 2 || d.Rows != 4 || d.Tokens != 60 || !near(d.BusyS, 1.1) || !near(d.IdleS, 0.2) || !near(d.ComputeS, 0.5) ||
		d.In.Bytes != 2000 || !near(d.In.Rate(), 10000) || d.Out.Bytes != 1000 || !near(d.Out.Rate(), 10000) {
		t.Errorf("counted %+v", d)
	}
	if (Transfer{}).Rate() != 0 {
		t.Error("a transfer of nothing has a rate")
	}
}

// The harness counts every timed sample of an arm with devices, and no warm-up.
func TestHarnessCountsDevices(t *testing.T) {
	counted := &counting{Encoder: enginetest.NewFake(8, 2)}
	b := enginetest.MakeBatch(0, []int32{1, 2, 3})
	r := &Record{Engine: Engine{Workers: 1, Devices: []Device{{Name: "cuda:0"}}}, Protocol: Protocol{Batch: 1}}
	a := &Arm{Record: r, Encoder: counted, Source: Packed{Batches: PackLimit([]Row{{IDs: []int32{1, 2}}, {IDs: []int32{3, 4, 5}}}, feed.Limit{Rows: 1})}, Warm: []*engine.Batch{b},
		Devices: func() []DeviceUse { return []DeviceUse{{Batches: counted.n, Tokens: counted.tokens}} }}
	h := &Harness{Schedule: Schedule{Repeats: 3}, Arms: []*Arm{a}}
	if err := h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := r.Engine.Devices[0]; d.Batches != 2*len(r.Samples) || d.Tokens != int64(5*len(r.Samples)) || len(r.Samples) != 3 {
		t.Errorf("%d samples, %+v", len(r.Samples), d)
	}
}

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		d    Device
		want float64
		ok   bool
	}{
		{Device{BusyS: 10, ComputeS: 9, In: Transfer{1, 3}, Out: Transfer{1, 1}}, 0.75, true}, // 13 s of work in 10
		{Device{BusyS: 13, ComputeS: 9, In: Transfer{1, 4}}, 0, true},
		{Device{BusyS: 9, ComputeS: 9, In: Transfer{1, 4}}, 1, true},
		{Device{BusyS: 8, ComputeS: 9, In: Transfer{1, 4}}, 1, true},
		{Device{BusyS: 8, ComputeS: 9}, 0, false},
		{Device{BusyS: 8, In: Transfer{1, 4}}, 0, false},
	} {
		if got, ok := c.d.Hidden(); math.Abs(got-c.want) > 1e-9 || ok != c.ok {
			t.Errorf("%+v: %g, %v; want %g, %v", c.d, got, ok, c.want, c.ok)
		}
	}
}

func TestDeviceWarnings(t *testing.T) {
	even := []Device{{Name: "cuda:0", Tokens: 1000, BusyS: 1}, {Name: "cuda:1", Tokens: 950, BusyS: 1}}
	if w := deviceWarnings(&Engine{Devices: even}); len(w) != 0 {
		t.Errorf("even devices: %+v", w)
	}
	uneven := []Device{
		{Name: "cuda:0", Tokens: 1000, BusyS: 1, PowerLimit: 500, DefaultLimit: 700},
		{Name: "cuda:1", Tokens: 800, BusyS: 1, IdleS: 0.5, HeldDown: "heat"},
	}
	want := []string{
		"cuda:0 is limited to 500 W, it is sold with 700 W",
		"cuda:1 waited 33 % of the time for batches",
		"the clock of cuda:1 was held down by: heat",
		"cuda:1 encodes 80 % of the tokens a second that cuda:0 encodes while busy",
	}
	var got []string
	for _, w := range deviceWarnings(&Engine{Devices: uneven}) {
		got = append(got, w.Text)
		if !strings.HasPrefix(w.Code, "device-") {
			t.Errorf("code %q", w.Code)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	r := &Record{Engine: Engine{Devices: []Device{{Name: "cuda:0", Fake: true}}}}
	if v := Judge(r, nil); !slices.Contains(v.Reasons, "cuda:0: a driver of tests that runs kernels on the CPU, whose rates mean nothing") {
		t.Errorf("reasons %q", v.Reasons)
	}
}

// A comparison names the parts, so that a figure of one is not taken for that of another.
func TestDevicesInComparison(t *testing.T) {
	h100 := Device{Model: "NVIDIA H100 80GB HBM3", Part: "H100 SXM", PowerLimit: 700, CUDA: "12.4"}
	h200 := Device{Model: "NVIDIA H200", Part: "H200 SXM", PowerLimit: 700, CUDA: "13.0"}
	a, b := &Record{Engine: Engine{Devices: []Device{h100, h100}}}, &Record{Engine: Engine{Devices: []Device{h100, h200}}}
	var got []string
	for _, d := range differ(nil, a, b, freeFields...) {
		got = append(got, fmt.Sprintf("%s: %s, %s", d.Field, d.A, d.B))
	}
	want := []string{"engine.devices: 2 × H100 SXM at 700 W, H100 SXM at 700 W and H200 SXM at 700 W", "engine.devices.cuda: 12.4, 12.4, 13.0"}
	if !slices.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
	h100.Part, h100.PowerLimit, h100.Fake = "", 0, true
	if got := (&Engine{Devices: []Device{h100}}).Parts(); got != "NVIDIA H100 80GB HBM3 (no GPU: the fake driver of tests)" {
		t.Error(got)
	}
	if got := (&Engine{}).Parts(); got != "" {
		t.Errorf("on the CPU %q", got)
	}
}

// counting counts what is collected.
type counting struct {
	engine.Encoder
	n      int
	tokens int64
}

func (c *counting) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	rows, work, err := c.Encoder.Collect(ctx, slot)
	c.n, c.tokens = c.n+1, c.tokens+work.Real
	return rows, work, err
}
