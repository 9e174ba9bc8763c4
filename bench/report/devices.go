package report

import (
	"bytes"
	"fmt"
	"strings"

	"encbench/bench"
)

// deviceText describes a device.
func deviceText(d bench.Device) string {
	return join(", ", d.Model, given(d.Part != "" && !strings.HasSuffix(d.Model, d.Part), d.Part),
		given(d.Capability != "", "compute capability "+d.Capability), given(d.SMs > 0, plural(int64(d.SMs), "multiprocessor")),
		given(d.Memory > 0, memorySize(d.Memory)), given(d.ECC, "ECC"),
		powerText(d), given(d.CUDA != "", "driver for CUDA "+d.CUDA+given(d.Driver != "", " ("+d.Driver+")")))
}

func powerText(d bench.Device) string {
	switch {
	case d.PowerLimit <= 0:
		return ""
	case d.DefaultLimit > 0 && d.DefaultLimit != d.PowerLimit:
		return fmt.Sprintf("limited to %s W (sold with %s W)", trimNumber(d.PowerLimit), trimNumber(d.DefaultLimit))
	}
	return "limit " + trimNumber(d.PowerLimit) + gap + "W"
}

// typeText is the type that was asked for and the one that products ran in.
func typeText(e bench.Engine) string {
	if e.Requested == "" || e.Requested == e.Engaged {
		return e.Engaged
	}
	return fmt.Sprintf("%s asked for, %s engaged", e.Requested, e.Engaged)
}

// deviceFacts are rows of what ran.
func deviceFacts(e bench.Engine) []ledger {
	var out []ledger
	for _, d := range e.Devices {
		out = append(out, ledger{d.Name, deviceText(d)})
	}
	if s := typeText(e); s != "" {
		out = append(out, ledger{"products", s})
	}
	return append(out, ledger{"CUDA is off", strings.TrimPrefix(e.DeviceNote, "CUDA is off: ")})
}

// DeviceFacts are the rows that say on which devices an engine ran, and where it might
// have and did not why; none on the processor of a machine without CUDA.
func DeviceFacts(e bench.Engine) [][2]string {
	var out [][2]string
	for _, l := range deviceFacts(e) {
		if l.text != "" {
			out = append(out, [2]string{l.name, strings.ReplaceAll(l.text, gap, " ")})
		}
	}
	return out
}

var deviceColumns = []column{{"Devices", false}, {"chunks/s", true}, {"busy", true}, {"idle", true}, {"to device", true}, {"from device", true}, {"hidden", true}, {"power", true}, {"1 − cosine", true}}

func deviceRows(e bench.Engine) [][]string {
	var rows [][]string
	for _, d := range e.Devices {
		rate, busy, idle, hidden := none, none, none, none
		if d.BusyS > 0 {
			rate = number(float64(d.Rows) / d.BusyS)
			busy, idle = percent(d.BusyS/(d.BusyS+d.IdleS)), percent(d.IdleS/(d.BusyS+d.IdleS))
		}
		if share, ok := d.Hidden(); ok {
			hidden = percent(share)
		}
		rows = append(rows, []string{d.Name, rate, busy, idle, transferText(d.In), transferText(d.Out), hidden, wattsText(d.Power), imprecision(d.MinCosine)})
	}
	return rows
}

func wattsText(w float64) string {
	if w <= 0 {
		return none
	}
	return fixed(w, 0) + gap + "W"
}

func transferText(t bench.Transfer) string {
	if t.Rate() == 0 {
		return none
	}
	return scaled(t.Rate(), "B/s")
}

// deviceNotes say what peaks the devices have, once for those that share one.
func deviceNotes(e bench.Engine) []string {
	var notes []string
	for _, d := range e.Devices {
		if d.ClockMHz > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s MHz in the mean, %s °C at most", d.Name, fixed(d.ClockMHz, 0), fixed(d.Celsius, 0))+given(d.HeldDown != "", "; held down by "+d.HeldDown))
		}
	}
	notes = append(notes, "chunks/s while busy; to and from the device by its events; hidden is the share of the copies that ran beside computing")
	seen := len(notes)
	names := map[string][]string{}
	for _, d := range e.Devices {
		note := join("; ", given(d.Peak > 0, "peak "+scaled(d.Peak, "FLOP/s")+" ("+d.PeakSource+")"),
			given(d.Measured > 0, scaled(d.Measured, "FLOP/s")+" by this program's own product kernel ("+d.HowPeak+")"))
		if note == "" {
			continue
		}
		if names[note] == nil {
			notes = append(notes, note)
		}
		names[note] = append(names[note], d.Name)
	}
	for i, note := range notes[seen:] {
		notes[seen+i] = strings.Join(names[note], ", ") + ": " + note
	}
	return notes
}

func writeDevices(p page, r *bench.Record) {
	if len(r.Engine.Devices) == 0 {
		return
	}
	p.table(deviceColumns, deviceRows(r.Engine))
	for _, s := range deviceNotes(r.Engine) {
		p.hang("  ", s)
	}
}

func markdownDevices(buf *bytes.Buffer, r *bench.Record, level string) {
	if len(r.Engine.Devices) == 0 {
		return
	}
	fmt.Fprintf(buf, "\n%s Devices\n\n", level)
	columns := append([]column{{"device", false}}, deviceColumns[1:]...)
	markdownTable(buf, columns, deviceRows(r.Engine))
	for _, s := range deviceNotes(r.Engine) {
		fmt.Fprintf(buf, "\n%s\n", markdownText(s))
	}
}
