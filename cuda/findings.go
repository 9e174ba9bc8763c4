package cuda

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// States of a finding.
const (
	Good    = "ok"
	Warning = "warning" // works, less well or with something to know
	Missing = "missing" // cannot be used
)

// Finding is one thing that was looked for on the way to a device.
type Finding struct {
	Name   string // driver, functions, devices, cuda:0 …
	State  string // Good, Warning or Missing
	Detail string // what was found
	Advice string // what to do; "" where nothing
}

// takenShare is the part of a device's memory from which on its use by others is told:
// the context of a process takes a few per cent itself.
const takenShare = 0.1

// notBuilt is all that a program without the tag cuda finds.
var notBuilt = []Finding{{
	Name: "CUDA", State: Missing, Detail: "built without CUDA",
	Advice: "`make build` adds it where the CUDA header can be had (BUILD.md)",
}}

// driverFindings is what State comes to; ready is false where no device can be asked.
func driverFindings(d Driver) (out []Finding, ready bool) {
	f := Finding{Name: "driver", State: Good, Detail: d.Path}
	if d.Version > 0 {
		f.Detail += ", CUDA " + versionText(d.Version)
	}
	if d.Release != "" {
		f.Detail += ", release " + d.Release
	}
	switch {
	case d.Error != "":
		f.State, f.Detail = Missing, d.Error
		f.Advice = "install NVIDIA's driver, 525 or later (no toolkit is needed); in a container, start it with --gpus all"
	case d.Init != 0:
		f.State = Missing
		f.Detail += fmt.Sprintf(", does not start: %d", d.Init)
		f.Advice = initAdvice(d.Init)
	case d.supported() != nil:
		f.State, f.Detail = Missing, d.supported().Error()
		f.Advice = "install driver 525 or later, which reads PTX 8.0; PTX 7.0 alone needs 470"
	case d.Fake:
		f.State, f.Advice = Warning, "a driver of tests, no GPU: unset ENCBENCH_CUDA_DRIVER to use a real one"
	case d.Version < HopperVersion:
		f.State, f.Advice = Warning, "the kernels for sm_90a need CUDA 12.0 and PTX 8.0 (driver 525 or later); the portable ones, of PTX 7.0, are used"
	}
	out = append(out, f)
	if f.State == Missing {
		return out, false
	}
	var lost, hopper []string
	for _, name := range d.Missing {
		switch {
		case slices.Contains(called, name):
			lost = append(lost, name)
		case slices.Contains(calledHopper, name):
			hopper = append(hopper, name)
		}
	}
	f = Finding{Name: "functions", State: Good, Detail: fmt.Sprintf("all %d that are called", len(called)+len(calledHopper))}
	switch {
	case lost != nil:
		f.State, f.Detail = Missing, "the driver has no "+strings.Join(append(lost, hopper...), ", ")
		f.Advice = "install driver 525 or later; calls of these fail with 500"
	case hopper != nil:
		f.State, f.Detail = Warning, "the driver has no "+strings.Join(hopper, ", ")
		f.Advice = "the kernels for sm_90a need them (driver 525 or later); the portable ones are used"
	}
	return append(out, f), true
}

const unknownAdvice = "look at nvidia-smi and the kernel's log (dmesg | grep NVRM)"

// initAdvice says what to do about a code of cuInit.
func initAdvice(code int) string {
	switch code {
	case CodeNoDevice:
		return "the driver sees no GPU: look at nvidia-smi and CUDA_VISIBLE_DEVICES; in a container, start it with --gpus all"
	case 802:
		return "the system is not ready: start nvidia-fabricmanager, which machines with NVSwitch need"
	case 803:
		return "the driver's library and kernel module are of different releases: restart the machine after an update"
	case 804:
		return "the compatibility package of a later CUDA does not go with this GPU: take its folder out of LD_LIBRARY_PATH"
	case 999:
		return "load the kernel module (nvidia-modprobe -u -c=0), or restart the machine"
	}
	return unknownAdvice
}

// countFinding is how many devices the driver shows.
func countFinding(n int, err error) Finding {
	f := Finding{Name: "devices", State: Good, Detail: fmt.Sprint(n)}
	visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	if set {
		f.Detail += fmt.Sprintf(", CUDA_VISIBLE_DEVICES=%q", visible)
	}
	switch {
	case err != nil:
		f.State, f.Detail, f.Advice = Missing, err.Error(), initAdvice(CodeOf(err))
	case n == 0 && set:
		f.State, f.Advice = Missing, "CUDA_VISIBLE_DEVICES hides all devices: unset it, or name numbers or UUIDs of nvidia-smi -L"
	case n == 0:
		f.State, f.Advice = Missing, initAdvice(CodeNoDevice)
	}
	return f
}

// deviceFinding is a device, with what its context says of its memory.
func deviceFinding(i Info, free, total int64, err error) Finding {
	const gib = 1 << 30
	f := Finding{Name: fmt.Sprintf("cuda:%d", i.Ordinal), State: Good}
	parts := []string{i.Name, i.SM(), fmt.Sprintf("%d multiprocessors", i.SMs), fmt.Sprintf("%.1f GiB", float64(i.Memory)/gib)}
	if i.FormFactor != "" {
		parts = append(parts, i.FormFactor)
	}
	if i.Watts > 0 {
		parts = append(parts, fmt.Sprintf("limit %.0f W", i.Watts))
	}
	ecc := "ECC off"
	if i.ECC {
		ecc = "ECC on"
	}
	for _, s := range []string{ecc, i.PCI, i.UUID} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	f.Detail = strings.Join(parts, ", ")
	switch {
	case err != nil && i.Major == 0: // it did not even say what it is
		f.State, f.Detail, f.Advice = Missing, err.Error(), unknownAdvice
	case i.Supported() != nil:
		f.State, f.Detail, f.Advice = Missing, i.Supported().Error(), "leave it out with --device or CUDA_VISIBLE_DEVICES"
	case err != nil:
		f.State, f.Detail = Missing, f.Detail+": "+err.Error()
		switch CodeOf(err) {
		case CodeOutOfMemory:
			f.Advice = "other processes hold its memory: see nvidia-smi, end them or choose another device"
		case codeUnavailable:
			f.Advice = "another process has it for itself (nvidia-smi -q -d COMPUTE): end that process, or nvidia-smi -c DEFAULT"
		case CodeECC:
			f.Advice = "its memory has an error that ECC does not correct: reset it (nvidia-smi -r) or have it replaced"
		default:
			f.Advice = unknownAdvice
		}
	case float64(total-free) > takenShare*float64(total):
		f.State = Warning
		f.Detail += fmt.Sprintf("; %.1f of %.1f GiB are taken", float64(total-free)/gib, float64(total)/gib)
		f.Advice = "other processes hold memory of it (nvidia-smi): less is left for rows, and rates measured beside them are not its own"
	case i.MIG:
		f.State, f.Advice = Warning, "a MIG slice: rates are those of the slice, and no share of the whole device's peak is given"
	}
	return f
}
