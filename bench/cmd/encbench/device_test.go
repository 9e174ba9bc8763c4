package main

import (
	"errors"
	"slices"
	"testing"

	"encbench/cuda"
)

func TestSplitDevices(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
		err  string
	}{
		{"auto", []string{"auto"}, ""},
		{"cpu,cuda:0", []string{"cpu", "cuda:0"}, ""},
		{"cuda:0,1,3", []string{"cuda:0,1,3"}, ""},
		{"cuda:0,cuda:1,2,cpu", []string{"cuda:0", "cuda:1,2", "cpu"}, ""},
		{"cuda", []string{"cuda"}, ""},
		{"gpu", nil, `--device "gpu": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
		{"cpu,1", nil, `--device "1": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
		{"cuda:", nil, `--device "cuda:": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
		{"cuda:-1", nil, `--device "cuda:-1": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
		{"cuda:1,1", nil, `--device "cuda:1,1": device 1 twice`},
		{"", nil, `--device "": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
	} {
		got, err := splitDevices(c.list)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %q, %v; want %q, %s", c.list, got, err, c.want, c.err)
		}
	}
	if err := oneDevice("cpu,cuda:0"); err == nil || err.Error() != `--device "cpu,cuda:0": one of them; cuda:0,1 is two devices at a time` {
		t.Errorf("two groups where one is meant: %v", err)
	}
	if err := oneDevice("cuda:0,1"); err != nil {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	h100, a10 := cuda.Info{Ordinal: 0, Name: "NVIDIA H100 PCIe", Major: 9}, cuda.Info{Ordinal: 1, Name: "NVIDIA A10", Major: 8, Minor: 6}
	t4 := cuda.Info{Ordinal: 2, Name: "Tesla T4", Major: 7, Minor: 5}
	absent := errors.New("no CUDA driver: libcuda.so.1 was not found")
	const old = "cuda:2 is a Tesla T4 (sm_75): encbench needs sm_80 or later (A100, L4, L40S, H100, ...)"
	for _, c := range []struct {
		name            string
		all             []cuda.Info
		none            error
		want, note, err string
	}{
		{"auto", []cuda.Info{h100, a10, t4}, nil, "cuda:0,1", "", ""},
		{"auto", []cuda.Info{t4}, nil, "cpu", "CUDA is off: " + old, ""},
		{"auto", nil, absent, "cpu", "CUDA is off: no CUDA driver: libcuda.so.1 was not found", ""},
		{"auto", nil, nil, "cpu", "CUDA is off: the driver shows no device; CUDA_VISIBLE_DEVICES hides them, or there is none", ""},
		{"cuda", []cuda.Info{h100, a10}, nil, "cuda:0,1", "", ""},
		{"cuda:1", []cuda.Info{h100, a10}, nil, "cuda:1", "", ""},
		{"cuda:1,0", []cuda.Info{h100, a10}, nil, "cuda:1,0", "", ""},
		{"cuda:2", []cuda.Info{h100, a10, t4}, nil, "", "", "--device cuda:2: " + old},
		{"cuda:2", []cuda.Info{h100, a10}, nil, "", "", "--device cuda:2: the driver shows 2 devices, numbered from 0"},
		{"cuda:0", nil, absent, "", "", "--device cuda:0: no CUDA driver: libcuda.so.1 was not found; `encbench doctor` says more"},
	} {
		p, err := choose(c.name, c.all, c.none)
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if err == nil && (p.name != c.want || p.note != c.note) {
			t.Errorf("%s: %q with note %q, want %q with %q", c.name, p.name, p.note, c.want, c.note)
		}
	}
}
