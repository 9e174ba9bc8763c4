package cuda

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// What is found of drivers, with the exact text that a user meets.
func TestDriverFindings(t *testing.T) {
	good := Driver{Built: true, Path: "libcuda.so.1", Version: 12040, Release: "550.54.15", Missing: []string{"cuCtxCreate_v4"}}
	with := func(change func(*Driver)) Driver {
		d := good
		change(&d)
		return d
	}
	functions := Finding{"functions", Good, "all 50 that are called", ""}
	for _, c := range []struct {
		name string
		d    Driver
		want []Finding
	}{
		{"good", good, []Finding{{"driver", Good, "libcuda.so.1, CUDA 12.4, release 550.54.15", ""}, functions}},
		{"absent", Driver{Path: "libcuda.so.1", Error: "libcuda.so.1: cannot open shared object file: No such file or directory", Init: 100}, []Finding{
			{"driver", Missing, "libcuda.so.1: cannot open shared object file: No such file or directory", "install NVIDIA's driver, 525 or later (no toolkit is needed); in a container, start it with --gpus all"},
		}},
		{"no device", with(func(d *Driver) { d.Init = 100 }), []Finding{
			{"driver", Missing, "libcuda.so.1, CUDA 12.4, release 550.54.15, does not start: 100", "the driver sees no GPU: look at nvidia-smi and CUDA_VISIBLE_DEVICES; in a container, start it with --gpus all"},
		}},
		{"of an update", with(func(d *Driver) { d.Init = 803 }), []Finding{
			{"driver", Missing, "libcuda.so.1, CUDA 12.4, release 550.54.15, does not start: 803", "the driver's library and kernel module are of different releases: restart the machine after an update"},
		}},
		{"old", with(func(d *Driver) { d.Version, d.Release = 11020, "" }), []Finding{
			{"driver", Missing, "the driver libcuda.so.1 is for CUDA 11.2: encbench needs CUDA 11.4 (driver 470) or later", "install driver 525 or later, which reads PTX 8.0; PTX 7.0 alone needs 470"},
		}},
		{"without a version", with(func(d *Driver) { d.Version = 0 }), []Finding{
			{"driver", Missing, "the driver libcuda.so.1 does not say which CUDA it is for: encbench needs CUDA 11.4 (driver 470) or later", "install driver 525 or later, which reads PTX 8.0; PTX 7.0 alone needs 470"},
		}},
		{"before Hopper", with(func(d *Driver) { d.Version, d.Release, d.Missing = 11080, "", []string{"cuTensorMapEncodeTiled"} }), []Finding{
			{"driver", Warning, "libcuda.so.1, CUDA 11.8", "the kernels for sm_90a need CUDA 12.0 and PTX 8.0 (driver 525 or later); the portable ones, of PTX 7.0, are used"},
			{"functions", Warning, "the driver has no cuTensorMapEncodeTiled", "the kernels for sm_90a need them (driver 525 or later); the portable ones are used"},
		}},
		{"function missing", with(func(d *Driver) { d.Missing = []string{"cuLaunchKernelEx", "cuMemHostAlloc", "cuTexRefGetArray"} }), []Finding{
			{"driver", Good, "libcuda.so.1, CUDA 12.4, release 550.54.15", ""},
			{"functions", Missing, "the driver has no cuMemHostAlloc, cuLaunchKernelEx", "install driver 525 or later; calls of these fail with 500"},
		}},
		{"fake", with(func(d *Driver) { d.Fake = true }), []Finding{
			{"driver", Warning, "libcuda.so.1, CUDA 12.4, release 550.54.15", "a driver of tests, no GPU: unset ENCBENCH_CUDA_DRIVER to use a real one"}, functions,
		}},
	} {
		got, ready := driverFindings(c.d)
		if !slices.Equal(got, c.want) || ready != (c.want[0].State != Missing) {
			t.Errorf("%s: ready %v\n got %q\nwant %q", c.name, ready, got, c.want)
		}
	}
	if notBuilt[0] != (Finding{"CUDA", Missing, "built without CUDA", "`make build` adds it where the CUDA header can be had (BUILD.md)"}) {
		t.Errorf("%q", notBuilt)
	}
	for code, want := range map[int]string{802: "nvidia-fabricmanager", 804: "LD_LIBRARY_PATH", 999: "nvidia-modprobe", 1: "dmesg"} {
		if got := initAdvice(code); !strings.Contains(got, want) {
			t.Errorf("code %d: %s, want %s", code, got, want)
		}
	}
}

func TestDeviceFindings(t *testing.T) {
	h100 := Info{Ordinal: 1, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-1", PCI: "0000:1b:00.0", Major: 9, SMs: 132, Memory: 80 << 30, ECC: true, Watts: 700, FormFactor: "SXM"}
	const all = "NVIDIA H100 80GB HBM3, sm_90, 132 multiprocessors, 80.0 GiB, SXM, limit 700 W, ECC on, 0000:1b:00.0, GPU-1"
	slice := Info{Name: "NVIDIA A100 MIG 1g.10gb", Major: 8, SMs: 14, Memory: 10 << 30, MIG: true}
	for _, c := range []struct {
		name        string
		i           Info
		free, total int64
		err         error
		want        Finding
	}{
		{"free", h100, 79 << 30, 80 << 30, nil, Finding{"cuda:1", Good, all, ""}},
		{"taken", h100, 20 << 30, 80 << 30, nil, Finding{"cuda:1", Warning, all + "; 60.0 of 80.0 GiB are taken", "other processes hold memory of it (nvidia-smi): less is left for rows, and rates measured beside them are not its own"}},
		{"slice", slice, 10 << 30, 10 << 30, nil, Finding{"cuda:0", Warning, "NVIDIA A100 MIG 1g.10gb, sm_80, 14 multiprocessors, 10.0 GiB, ECC off", "a MIG slice: rates are those of the slice, and no share of the whole device's peak is given"}},
		{"old", Info{Name: "Tesla T4", Major: 7, Minor: 5}, 0, 0, nil, Finding{"cuda:0", Missing, "cuda:0 is a Tesla T4 (sm_75): encbench needs sm_80 or later (A100, L4, L40S, H100, ...)", "leave it out with --device or CUDA_VISIBLE_DEVICES"}},
		{"silent", Info{Ordinal: 1}, 0, 0, &Error{Op: "ask for an attribute", Device: 1, Code: 999}, Finding{"cuda:1", Missing, "cuda: ask for an attribute on device 1: 999", "look at nvidia-smi and the kernel's log (dmesg | grep NVRM)"}},
		{"full", h100, 0, 0, &Error{Op: "create the context", Device: 1, Code: 2}, Finding{"cuda:1", Missing, all + ": cuda: create the context on device 1: 2", "other processes hold its memory: see nvidia-smi, end them or choose another device"}},
		{"held", h100, 0, 0, &Error{Op: "create the context", Device: 1, Code: 46}, Finding{"cuda:1", Missing, all + ": cuda: create the context on device 1: 46", "another process has it for itself (nvidia-smi -q -d COMPUTE): end that process, or nvidia-smi -c DEFAULT"}},
		{"broken", h100, 0, 0, &Error{Op: "create the context", Device: 1, Code: 214}, Finding{"cuda:1", Missing, all + ": cuda: create the context on device 1: 214", "its memory has an error that ECC does not correct: reset it (nvidia-smi -r) or have it replaced"}},
		{"other", h100, 0, 0, errors.New("no"), Finding{"cuda:1", Missing, all + ": no", "look at nvidia-smi and the kernel's log (dmesg | grep NVRM)"}},
	} {
		if got := deviceFinding(c.i, c.free, c.total, c.err); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestCountFindings(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "7")
	for _, c := range []struct {
		n    int
		err  error
		want Finding
	}{
		{2, nil, Finding{"devices", Good, `2, CUDA_VISIBLE_DEVICES="7"`, ""}},
		{0, nil, Finding{"devices", Missing, `0, CUDA_VISIBLE_DEVICES="7"`, "CUDA_VISIBLE_DEVICES hides all devices: unset it, or name numbers or UUIDs of nvidia-smi -L"}},
		{0, &Error{Op: "count the devices", Device: -1, Code: 802}, Finding{"devices", Missing, "cuda: count the devices: 802", "the system is not ready: start nvidia-fabricmanager, which machines with NVSwitch need"}},
	} {
		if got := countFinding(c.n, c.err); got != c.want {
			t.Errorf("%d, %v:\n got %q\nwant %q", c.n, c.err, got, c.want)
		}
	}
}

func TestFormFactor(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "SXM", "NVIDIA H100 PCIe": "PCIe", "NVIDIA H100 NVL": "NVL", "NVIDIA H200": "SXM", "NVIDIA H200 NVL": "NVL",
		"NVIDIA A100-SXM4-80GB": "SXM", "NVIDIA A100 80GB PCIe": "PCIe", "NVIDIA A100-PCIE-40GB": "PCIe", "NVIDIA L4": "PCIe", "NVIDIA L40S": "PCIe",
		"NVIDIA A10": "PCIe", "NVIDIA GH200 480GB": "", "": "",
	} {
		if got := formFactor(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
