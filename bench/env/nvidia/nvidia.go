// Package nvidia collects what the driver's own tool knows of GPUs and CUDA does not
// say: power limits, clocks, what holds them down, temperature, the bus. It runs
// nvidia-smi, which comes with the driver, and never fails a measurement: what is not
// told is left empty.
package nvidia

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// GPU is what nvidia-smi tells of one device at a time. Empty values and zeros are
// unknown.
type GPU struct {
	UUID         string  `json:"uuid"`
	Name         string  `json:"name"`
	Driver       string  `json:"driver"` // version, as 580.65.06
	PCI          string  `json:"pci_bus_id"`
	PowerLimit   float64 `json:"power_limit_w"`         // as set
	DefaultLimit float64 `json:"power_default_limit_w"` // as sold
	Power        float64 `json:"power_w"`
	ClockMHz     float64 `json:"sm_mhz"` // at this time
	MaxClockMHz  float64 `json:"sm_max_mhz"`
	MemoryMHz    float64 `json:"memory_mhz"`
	Celsius      float64 `json:"celsius"`
	Throttled    string  `json:"clocks_held_down_by,omitempty"` // "power limit, heat", of what holds the clock down beside idling
	Persistence  string  `json:"persistence_mode"`
	ECC          string  `json:"ecc"`
	MIG          string  `json:"mig"`
	PCIeGen      float64 `json:"pcie_generation"` // at this time; idle links slow down
	PCIeWidth    float64 `json:"pcie_width"`
	MemoryUsed   float64 `json:"memory_used_mib"` // by all processes
	Utilization  float64 `json:"busy_percent"`
}

// fields are what is asked for, in the order of the answer.
var fields = []struct {
	name string
	set  func(g *GPU, text string, number float64)
}{
	{"uuid", func(g *GPU, s string, _ float64) { g.UUID = s }},
	{"name", func(g *GPU, s string, _ float64) { g.Name = s }},
	{"driver_version", func(g *GPU, s string, _ float64) { g.Driver = s }},
	{"pci.bus_id", func(g *GPU, s string, _ float64) { g.PCI = strings.ToLower(s) }},
	{"power.limit", func(g *GPU, _ string, v float64) { g.PowerLimit = v }},
	{"power.default_limit", func(g *GPU, _ string, v float64) { g.DefaultLimit = v }},
	{"power.draw", func(g *GPU, _ string, v float64) { g.Power = v }},
	{"clocks.sm", func(g *GPU, _ string, v float64) { g.ClockMHz = v }},
	{"clocks.max.sm", func(g *GPU, _ string, v float64) { g.MaxClockMHz = v }},
	{"clocks.mem", func(g *GPU, _ string, v float64) { g.MemoryMHz = v }},
	{"temperature.gpu", func(g *GPU, _ string, v float64) { g.Celsius = v }},
	{"clocks_throttle_reasons.active", func(g *GPU, s string, _ float64) { g.Throttled = reasons(s) }},
	{"persistence_mode", func(g *GPU, s string, _ float64) { g.Persistence = s }},
	{"ecc.mode.current", func(g *GPU, s string, _ float64) { g.ECC = s }},
	{"mig.mode.current", func(g *GPU, s string, _ float64) { g.MIG = s }},
	{"pcie.link.gen.current", func(g *GPU, _ string, v float64) { g.PCIeGen = v }},
	{"pcie.link.width.current", func(g *GPU, _ string, v float64) { g.PCIeWidth = v }},
	{"memory.used", func(g *GPU, _ string, v float64) { g.MemoryUsed = v }},
	{"utilization.gpu", func(g *GPU, _ string, v float64) { g.Utilization = v }},
}

// throttles are the bits of clocks_throttle_reasons.active, as NVML numbers them, that
// hold a clock down.
var throttles = []struct {
	bit  uint64
	name string
}{
	{0x2, "application clocks"}, {0x4, "power limit"}, {0x8, "hardware slowdown"}, {0x10, "sync boost"},
	{0x20, "heat"}, {0x40, "heat, in hardware"}, {0x80, "power brake"}, {0x100, "display clocks"},
}

func reasons(s string) string {
	bits, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return ""
	}
	var out []string
	for _, t := range throttles {
		if bits&t.bit != 0 {
			out = append(out, t.name)
		}
	}
	return strings.Join(out, ", ")
}

// timeout bounds a driver that hangs, as one does whose device fell off the bus.
const timeout = 10 * time.Second

// Query asks for all devices. The error says why nothing is known; a machine without the
// tool is an error too.
func Query(ctx context.Context) ([]GPU, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", query()...).Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && len(out)+len(e.Stderr) > 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(string(e.Stderr)+string(out)), "\n")
		return nil, fmt.Errorf("nvidia-smi: %w: %s", err, first)
	}
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	return parse(string(out))
}

// query asks for the fields.
func query() []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return []string{"--query-gpu=" + strings.Join(names, ","), "--format=csv,noheader,nounits"}
}

// parse reads the answer, a line for each device.
func parse(text string) ([]GPU, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = len(fields)
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	var out []GPU
	for _, line := range lines {
		out = append(out, gpu(line))
	}
	return out, nil
}

// gpu reads the fields of a device.
func gpu(line []string) (g GPU) {
	for i, f := range fields {
		s := strings.TrimSpace(line[i])
		if strings.HasPrefix(s, "[") || s == "N/A" { // [N/A], [Not Supported]
			continue
		}
		v, _ := strconv.ParseFloat(s, 64)
		f.set(&g, s, v)
	}
	return g
}

// Find gives the device of a UUID, nil where it is not among them. A MIG slice has a
// UUID of its own and is not found.
func Find(all []GPU, uuid string) *GPU {
	for i := range all {
		if strings.EqualFold(all[i].UUID, uuid) {
			return &all[i]
		}
	}
	return nil
}
