//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"encbench/cuda/stub"

	"gorgonia.org/cu"
)

// State says what was found when the program started.
func State() Driver {
	s := stub.State()
	d := Driver{Built: true, Path: s.Path, Error: s.Error, Fake: s.Fake, Init: s.Init, Version: s.Version, Missing: s.Missing}
	if d.Error == "" {
		var release [80]C.char
		C.encbench_driver_release(&release[0], C.uint(len(release)))
		d.Release = C.GoString(&release[0])
	}
	return d
}

// fail makes an error of a code, nil of 0.
func fail(code C.int, device int, op string, args ...any) error {
	if code == 0 {
		return nil
	}
	e := &Error{Op: fmt.Sprintf(op, args...), Device: device, Code: int(code)}
	if s := C.encbench_error_name(code); s != nil {
		e.Name = C.GoString(s)
	}
	if s := C.encbench_error_text(code); s != nil {
		e.Text = C.GoString(s)
	}
	return e
}

// wrap is fail for an error of gorgonia.org/cu, whose type it does not export: an
// integer, the driver's code.
func wrap(err error, device int, op string, args ...any) error {
	if err == nil {
		return nil
	}
	return fail(C.int(codeOf(err)), device, op, args...)
}

// absentError is that of a machine without a driver: the loader's words, and the code that
// calls would give.
type absentError struct {
	why string
	is  error
}

func (e *absentError) Error() string { return "no CUDA driver: " + e.why }

func (e *absentError) Unwrap() error { return e.is }

// ready gives the error of a driver that cannot be used.
func ready() error {
	switch d := State(); {
	case d.Error != "":
		return &absentError{d.Error, &Error{Op: "open the driver", Device: -1, Code: CodeNoDevice}}
	case d.Init != 0:
		return fail(C.int(d.Init), -1, "start the driver %s", d.Path)
	default:
		return d.supported()
	}
}

// Devices lists the devices that the driver shows, which CUDA_VISIBLE_DEVICES narrows.
// The error says why none can be used.
func Devices() ([]Info, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, wrap(err, -1, "count the devices")
	}
	var out []Info
	for i := range n {
		info, err := infoOf(i)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func infoOf(ordinal int) (Info, error) {
	info := Info{Ordinal: ordinal}
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return info, wrap(err, ordinal, "find the device")
	}
	var errs []error
	note := func(err error, what string) {
		if err != nil {
			errs = append(errs, wrap(err, ordinal, "ask for %s", what))
		}
	}
	info.Name, err = d.Name()
	note(err, "its name")
	info.Name = strings.TrimRight(info.Name, "\x00")
	info.Memory, err = d.TotalMem()
	note(err, "its memory")
	for _, a := range []struct {
		to   *int
		what cu.DeviceAttribute
	}{
		{&info.Major, cu.ComputeCapabilityMajor}, {&info.Minor, cu.ComputeCapabilityMinor}, {&info.SMs, cu.MultiprocessorCount},
		{&info.ClockKHz, cu.ClockRate}, {&info.MemoryClockKHz, cu.MemoryClockRate}, {&info.BusBits, cu.GlobalMemoryBusWidth},
		{&info.SharedPerSM, cu.MaxSharedMemoryPerMultiprocessor}, {&info.RegistersPerSM, cu.MaxRegistersPerMultiprocessor},
		{&info.SharedPerBlock, sharedOptin},
	} {
		*a.to, err = d.Attribute(a.what)
		note(err, fmt.Sprintf("attribute %d", a.what))
	}
	flag := func(what cu.DeviceAttribute) int {
		v, err := d.Attribute(what)
		note(err, fmt.Sprintf("attribute %d", what))
		return v
	}
	info.L2, info.ECC, info.Integrated = int64(flag(cu.L2CacheSize)), flag(cu.EccEnabled) != 0, flag(cu.Integrated) != 0
	var uuid [16]C.uchar
	if err := fail(C.encbench_device_uuid(&uuid[0], C.int(ordinal)), ordinal, "ask for its UUID"); err != nil {
		errs = append(errs, err)
	}
	raw := C.GoBytes(unsafe.Pointer(&uuid[0]), 16)
	// The driver shows a slice as a device; only its name and UUID tell.
	prefix := "GPU"
	if info.MIG = strings.Contains(info.Name, " MIG "); info.MIG {
		prefix = "MIG"
	}
	info.FormFactor = formFactor(info.Name)
	info.UUID = fmt.Sprintf("%s-%x-%x-%x-%x-%x", prefix, raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
	var pci [32]C.char
	if err := fail(C.encbench_device_pci(&pci[0], C.int(len(pci)), C.int(ordinal)), ordinal, "ask for its place on the bus"); err != nil {
		errs = append(errs, err)
	}
	info.PCI = strings.ToLower(C.GoString(&pci[0]))
	info.Watts = float64(C.encbench_power_limit(&pci[0])) / 1e3
	return info, errors.Join(errs...)
}

// sharedOptin is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, which
// gorgonia.org/cu has no name for.
const sharedOptin cu.DeviceAttribute = 97
