package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Device is a GPU of a run: what it is, and what it did in the timed samples.
type Device struct {
	Name       string `json:"name"`           // cuda:0
	Model      string `json:"model"`          // as the driver names it
	Part       string `json:"part,omitempty"` // with its form factor, as "H100 SXM"; "" = not in the table of peaks
	UUID       string `json:"uuid"`
	PCI        string `json:"pci_bus_id"`
	Capability string `json:"compute_capability"` // 9.0
	Memory     int64  `json:"memory_bytes"`
	SMs        int    `json:"multiprocessors"`
	ECC        bool   `json:"ecc"`
	Fake       bool   `json:"fake,omitempty"` // a driver of tests on a CPU: no rate of it means anything
	CUDA       string `json:"cuda"`           // the highest version that the driver takes
	Driver     string `json:"driver,omitempty"`

	PowerLimit   float64 `json:"power_limit_w,omitempty"`   // as set
	DefaultLimit float64 `json:"power_default_w,omitempty"` // as sold
	// Of the time from the warm-up to the last sample, where nvidia-smi tells; 0 and "" where
	// it does not.
	Power    float64 `json:"mean_power_w,omitempty"`
	ClockMHz float64 `json:"mean_sm_mhz,omitempty"`
	Celsius  float64 `json:"highest_celsius,omitempty"`
	HeldDown string  `json:"clocks_held_down_by,omitempty"` // with the share of the time

	// Peak is the dense peak of the engaged type by the data sheet, 0 where the part is
	// unknown; Measured is what this program's own product kernel reached.
	Peak       float64 `json:"peak_flop_per_s,omitempty"`
	PeakSource string  `json:"peak_source,omitempty"`
	Measured   float64 `json:"measured_peak_flop_per_s,omitempty"`
	HowPeak    string  `json:"measured_peak_how,omitempty"`

	MinCosine float64 `json:"min_cosine"` // of the accuracy gate on this device

	Batches  int      `json:"batches"`
	Rows     int64    `json:"rows"`
	Tokens   int64    `json:"real_tokens"`
	BusyS    float64  `json:"busy_s"`              // with a batch in flight
	IdleS    float64  `json:"idle_s"`              // of the timed seconds
	ComputeS float64  `json:"compute_s,omitempty"` // by the device's events; 0 = not told
	In       Transfer `json:"host_to_device"`
	Out      Transfer `json:"device_to_host"`
}

// Parts names the devices of an engine with form factor and power limit, "2 × H100 SXM at
// 700 W": a figure of one part is none of another. It is "" on the CPU.
func (e *Engine) Parts() string {
	var names []string
	times := map[string]int{}
	for _, d := range e.Devices {
		name := d.Part
		if name == "" {
			name = d.Model
		}
		if d.Fake {
			name += " (no GPU: the fake driver of tests)"
		}
		if d.PowerLimit > 0 {
			name += fmt.Sprintf(" at %.4g W", d.PowerLimit)
		}
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := times[name]; n > 1 {
			names[i] = fmt.Sprintf("%d × %s", n, name)
		}
	}
	return strings.Join(names, " and ")
}

// drivers are the versions of CUDA that the devices' drivers take.
func (e *Engine) drivers() string {
	var all []string
	for _, d := range e.Devices {
		if !slices.Contains(all, d.CUDA) {
			all = append(all, d.CUDA)
		}
	}
	return strings.Join(all, ", ")
}

// Transfer is what was copied in one direction, and how long the copies took by the
// device's events.
type Transfer struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Rate is in bytes a second, 0 where nothing was copied.
func (t Transfer) Rate() float64 {
	if t.Seconds <= 0 {
		return 0
	}
	return float64(t.Bytes) / t.Seconds
}

func (t *Transfer) add(a, b Transfer) {
	t.Bytes += b.Bytes - a.Bytes
	t.Seconds += b.Seconds - a.Seconds
}

// DeviceUse is what a device did since its encoder was opened.
type DeviceUse struct {
	Batches int
	Rows    int64
	Tokens  int64
	Busy    time.Duration
	Compute time.Duration // by events
	In, Out Transfer
}

// Hidden is the share of the shorter of copying and computing that ran beside the
// other, 0 to 1; ok is false where events do not tell.
func (d *Device) Hidden() (share float64, ok bool) {
	copies := d.In.Seconds + d.Out.Seconds
	least := min(copies, d.ComputeS)
	if least <= 0 || d.BusyS <= 0 {
		return 0, false
	}
	return min(1, max(0, (copies+d.ComputeS-d.BusyS)/least)), true
}

// skipDevices leaves out what the devices did since they were last counted.
func (a *Arm) skipDevices() {
	if a.Devices != nil {
		a.used = a.Devices()
	}
}

// countDevices adds what the devices did since they were last counted, within wall.
func (a *Arm) countDevices(wall time.Duration) {
	if a.Devices == nil {
		return
	}
	now := a.Devices()
	for i, u := range now {
		d, last := &a.Record.Engine.Devices[i], a.used[i]
		busy := min(u.Busy-last.Busy, wall) // the clock of a sample stops a little earlier
		d.Batches += u.Batches - last.Batches
		d.Rows += u.Rows - last.Rows
		d.Tokens += u.Tokens - last.Tokens
		d.BusyS += busy.Seconds()
		d.IdleS += (wall - busy).Seconds()
		d.ComputeS += (u.Compute - last.Compute).Seconds()
		d.In.add(last.In, u.In)
		d.Out.add(last.Out, u.Out)
	}
	a.used = now
}

// Thresholds of devices.
const (
	imbalance = 0.10 // of the rate of the fastest device
	idleShare = 0.10 // of the timed seconds
)

// deviceWarnings say what devices did that the rate in all does not show.
func deviceWarnings(e *Engine) []Warning {
	var out []Warning
	var slowest, fastest *Device
	rate := func(d *Device) float64 {
		if d.BusyS <= 0 {
			return 0
		}
		return float64(d.Tokens) / d.BusyS
	}
	for i := range e.Devices {
		d := &e.Devices[i]
		if slowest == nil || rate(d) < rate(slowest) {
			slowest = d
		}
		if fastest == nil || rate(d) > rate(fastest) {
			fastest = d
		}
		if all := d.BusyS + d.IdleS; all > 0 && d.IdleS > idleShare*all {
			out = append(out, Warning{Code: "device-idle",
				Text:   fmt.Sprintf("%s waited %.0f %% of the time for batches", d.Name, 100*d.IdleS/all),
				Advice: "--region encode shows what the device can do; more --threads tokenize faster"})
		}
		if d.HeldDown != "" {
			out = append(out, Warning{Code: "device-clock", Text: fmt.Sprintf("the clock of %s was held down by: %s", d.Name, d.HeldDown)})
		}
		if d.DefaultLimit > 0 && d.PowerLimit > 0 && d.PowerLimit < 0.99*d.DefaultLimit {
			out = append(out, Warning{Code: "device-power",
				Text:   fmt.Sprintf("%s is limited to %.0f W, it is sold with %.0f W", d.Name, d.PowerLimit, d.DefaultLimit),
				Advice: "a figure of it is one at this limit"})
		}
	}
	if len(e.Devices) > 1 && rate(fastest) > 0 && rate(slowest) < (1-imbalance)*rate(fastest) {
		out = append(out, Warning{Code: "device-imbalance",
			Text:   fmt.Sprintf("%s encodes %.0f %% of the tokens a second that %s encodes while busy", slowest.Name, 100*rate(slowest)/rate(fastest), fastest.Name),
			Advice: "encbench doctor and nvidia-smi show clocks, power limits and other processes"})
	}
	return out
}

// deviceReasons are those against publishing figures of devices.
func deviceReasons(e *Engine) []string {
	var out, fake []string
	for _, d := range e.Devices {
		if d.Fake {
			fake = append(fake, d.Name)
		}
	}
	if len(fake) > 0 {
		out = append(out, fmt.Sprintf("%s: a driver of tests that runs kernels on the CPU, whose rates mean nothing", strings.Join(fake, ", ")))
	}
	return out
}
