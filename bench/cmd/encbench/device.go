package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"encbench/cuda"
)

const deviceHelp = "`DEVICE` cpu, cuda:0, cuda:0,1 (several at a time), cuda (all), or auto: every CUDA device that can be used, else the CPU"

// place is where something runs.
type place struct {
	name string      // cpu, or cuda:0,1
	cuda []cuda.Info // its devices; none is the CPU
	note string      // of auto: why CUDA is off
}

// splitDevices cuts a list of devices into groups that are used together: a number
// belongs to what is before it.
func splitDevices(list string) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		switch _, err := strconv.Atoi(part); {
		case err == nil && len(out) > 0 && strings.HasPrefix(out[len(out)-1], "cuda:"):
			out[len(out)-1] += "," + part
		default:
			out = append(out, part)
		}
	}
	for _, name := range out {
		if _, err := ordinals(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// oneDevice checks the value of a --device that names one group.
func oneDevice(list string) error {
	groups, err := splitDevices(list)
	if err == nil && len(groups) > 1 {
		err = fmt.Errorf("--device %q: one of them; cuda:0,1 is two devices at a time", list)
	}
	return err
}

// ordinals are the numbers in the name of a group; nil where it names all or none.
func ordinals(name string) ([]int, error) {
	switch name {
	case "auto", "cpu", "cuda":
		return nil, nil
	}
	var out []int
	numbers, ok := strings.CutPrefix(name, "cuda:")
	for s := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(s)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("--device %q: auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time", name)
		}
		if slices.Contains(out, n) {
			return nil, fmt.Errorf("--device %q: device %d twice", name, n)
		}
		out = append(out, n)
	}
	return out, nil
}

// placeOf finds the devices of a group. The error of cuda says why it cannot be used; auto
// has a note of that instead.
func placeOf(name string) (place, error) {
	if name == "cpu" {
		return place{name: name}, nil
	}
	all, err := cuda.Devices()
	return choose(name, all, err)
}

// choose is placeOf for the devices that the driver shows.
func choose(name string, all []cuda.Info, none error) (place, error) {
	if none == nil && len(all) == 0 {
		none = errors.New("the driver shows no device; CUDA_VISIBLE_DEVICES hides them, or there is none")
	}
	if name == "auto" {
		return automatic(all, none), nil
	}
	if none != nil {
		return place{}, fmt.Errorf("--device %s: %w; `encbench doctor` says more", name, none)
	}
	numbers, err := ordinals(name)
	if err != nil {
		return place{}, err
	}
	if numbers == nil {
		for i := range all {
			numbers = append(numbers, i)
		}
	}
	var p place
	var errs []error
	for _, n := range numbers {
		if n >= len(all) {
			errs = append(errs, fmt.Errorf("--device %s: the driver shows %s, numbered from 0", name, count(int64(len(all)), "device")))
			continue
		}
		if err := all[n].Supported(); err != nil {
			errs = append(errs, fmt.Errorf("--device %s: %w", name, err))
			continue
		}
		p.cuda = append(p.cuda, all[n])
	}
	p.name = placeName(p.cuda)
	return p, errors.Join(errs...)
}

// automatic takes every device that can be used.
func automatic(all []cuda.Info, none error) place {
	var p place
	var why []string
	if none != nil {
		why = append(why, none.Error())
	}
	for _, info := range all {
		if err := info.Supported(); err != nil {
			why = append(why, err.Error())
			continue
		}
		p.cuda = append(p.cuda, info)
	}
	if p.name = placeName(p.cuda); len(p.cuda) == 0 {
		p.name, p.note = "cpu", "CUDA is off: "+strings.Join(why, "; ")
	}
	return p
}

// placeName names devices as --device does.
func placeName(devices []cuda.Info) string {
	name := "cuda:"
	for i, d := range devices {
		if i > 0 {
			name += ","
		}
		name += strconv.Itoa(d.Ordinal)
	}
	return name
}
