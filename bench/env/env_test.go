package env

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// machine makes a tree from paths and texts, with the given variables.
func machine(vars map[string]string, files ...map[string]string) *tree {
	m := fstest.MapFS{}
	for _, f := range files {
		for p, text := range f {
			m[p] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	return &tree{fs: m, getenv: func(k string) string { return vars[k] }}
}

// server is a two-socket x86 machine with SMT, cpufreq and a nested v2 quota.
func server() map[string]string {
	f := map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0", "proc/sys/kernel/hostname": "secret-name",
		"etc/os-release": "NAME=x\nPRETTY_NAME=\"Some Linux 9\"",
		"proc/loadavg":   "0.31 0.20 0.10 2/345 6789",
		"proc/meminfo":   "MemTotal:  16000 kB\nMemFree: 100 kB\nMemAvailable: 8000 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\nHugePages_Total: 3\nHugepagesize: 2048 kB",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never",
		"proc/self/status":                                                "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,6\nVmHWM:\t 77 kB",
		"proc/self/stat":                                                  "42 (a b) c) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 5 16 17",
		"sys/devices/system/cpu/online":                                   "0-7",
		"sys/devices/system/cpu/smt/control":                              "on",
		"sys/devices/system/cpu/intel_pstate/no_turbo":                    "1",
		"sys/devices/system/node/node0/cpulist":                           "0-1,4-5",
		"sys/devices/system/node/node1/cpulist":                           "2-3,6-7",
		"sys/devices/system/cpu/vulnerabilities/meltdown":                 "Not affected",
		"sys/devices/system/cpu/vulnerabilities/retbleed":                 "Mitigation: IBRS",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
		"sys/devices/system/cpu/cpu0/cache/index0/level":                  "1",
		"sys/devices/system/cpu/cpu0/cache/index0/type":                   "Data",
		"sys/devices/system/cpu/cpu0/cache/index0/size":                   "48K",
		"sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list":        "0,4",
		"sys/devices/system/cpu/cpu0/cache/index10/level":                 "3",
		"sys/devices/system/cpu/cpu0/cache/index10/type":                  "Unified",
		"sys/devices/system/cpu/cpu0/cache/index10/size":                  "30M",
		"sys/devices/system/cpu/cpu0/cache/index10/shared_cpu_list":       "0-1,4-5",
		"proc/self/cgroup":                                                "0::/system.slice/run.scope",
		"proc/self/mountinfo":                                             "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw",
		"sys/fs/cgroup/system.slice/run.scope/cpu.max":                    "max 100000",
		"sys/fs/cgroup/system.slice/cpu.max":                              "250000 100000",
		"sys/fs/cgroup/system.slice/memory.max":                           "1000000",
		"sys/fs/cgroup/system.slice/run.scope/memory.max":                 "max",
		"sys/class/dmi/id/sys_vendor":                                     "Amazon EC2",
	}
	info := ""
	for i := range 8 {
		n := string(rune('0' + i))
		dir := "sys/devices/system/cpu/cpu" + n + "/"
		f[dir+"topology/physical_package_id"] = string(rune('0' + i%4/2))
		f[dir+"topology/core_id"] = string(rune('0' + i%2))
		f[dir+"cpufreq/scaling_governor"] = []string{"performance", "powersave"}[i/7]
		f[dir+"cpufreq/scaling_driver"] = "intel_cpufreq"
		f[dir+"cpufreq/cpuinfo_min_freq"] = "800000"
		f[dir+"cpufreq/cpuinfo_max_freq"] = "350" + n + "000"
		f[dir+"cpufreq/scaling_cur_freq"] = "2000000"
		info += "processor\t: " + n + "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Some CPU @ 2.00GHz\nstepping\t: 8\nmicrocode\t: 0x2b\n" +
			"cpu MHz\t\t: 1000.0\nflags\t\t: fpu sse4_2 avx2 fma avx512f amx_bf16 notrelevant\n\n"
	}
	f["proc/cpuinfo"] = info
	return f
}

func TestCollectServer(t *testing.T) {
	f := machine(map[string]string{"OMP_NUM_THREADS": "4", "LD_PRELOAD": "/home/someone/libx.so:/y/libz.so", "HOME": "/home/someone"}, server()).collect()
	want := CPU{
		Vendor: "GenuineIntel", Model: "Some CPU @ 2.00GHz", Family: "6-143-8", Microcode: "0x2b",
		Sockets: 2, Cores: 4, Logical: 8, SMT: "on",
		ISA:      []string{"amx_bf16", "avx2", "avx512f", "fma", "sse4_2"},
		Caches:   []Cache{{1, "Data", 48, 2}, {3, "Unified", 30 << 10, 4}},
		Governor: "performance,powersave", Driver: "intel_cpufreq", Turbo: "off",
		MinMHz: 800, MaxMHz: 3507, CurrentMHz: 2000,
		NUMANodes: 2, NUMACPUs: []string{"0-1,4-5", "2-3,6-7"},
		Mitigations: []string{"retbleed: Mitigation: IBRS"}, ClockSource: "tsc",
	}
	if !reflect.DeepEqual(f.CPU, want) {
		t.Errorf("CPU\n   found: %+v\nexpected: %+v", f.CPU, want)
	}
	limits := Limits{Affinity: 4, AffinityList: "0-2,6", AffinityCores: 3,
		Quota: 2.5, QuotaFrom: "sys/fs/cgroup/system.slice", Cgroup: "v2",
		MemoryBytes: 1000000, MemoryFrom: "sys/fs/cgroup/system.slice", Nice: 5}
	if f.Limits != limits {
		t.Errorf("limits\n   found: %+v\nexpected: %+v", f.Limits, limits)
	}
	if m := (Memory{16000 << 10, 8000 << 10, 10 << 10, 6 << 10, "madvise", 3, 2048}); f.Memory != m {
		t.Errorf("memory %+v, expected %+v", f.Memory, m)
	}
	if l := (Load{0.31, 0.20, 0.10, 2}); f.Load != l {
		t.Errorf("load %+v, expected %+v", f.Load, l)
	}
	if f.Distribution != "Some Linux 9" || f.Kernel != "6.1.0" || f.Virtualization != "" || f.Container != "" {
		t.Errorf("system: %q %q %q %q (EC2's bare machines are no guests)", f.Distribution, f.Kernel, f.Virtualization, f.Container)
	}
	if len(f.HostHash) != 12 || strings.Contains(f.HostHash, "secret") {
		t.Errorf("host hash %q", f.HostHash)
	}
	if env := map[string]string{"OMP_NUM_THREADS": "4", "LD_PRELOAD": "…/libx.so:…/libz.so"}; !maps.Equal(f.Go.Env, env) {
		t.Errorf("variables %v, expected %v", f.Go.Env, env)
	}
	if len(f.Unknown) != 0 {
		t.Errorf("unknown: %v, expected nothing", f.Unknown)
	}
	if got := CPUs(f); got != 2 {
		t.Errorf("CPUs %d, expected 2: 2.5 of 4", got)
	}
}

// TestCollectNothing: a machine that tells nothing gives empty facts, all named,
// and valid JSON without nulls.
func TestCollectNothing(t *testing.T) {
	f := machine(nil).collect()
	want := []string{"cpu.caches", "cpu.clock_source", "cpu.current_mhz", "cpu.family", "cpu.freq_driver", "cpu.governor", "cpu.isa",
		"cpu.logical_cpus", "cpu.max_mhz", "cpu.min_mhz", "cpu.model", "cpu.numa_nodes", "cpu.physical_cores", "cpu.smt", "cpu.turbo", "cpu.vendor",
		"distribution", "host_hash", "kernel", "limits.affinity_list", "limits.cgroup_version", "load",
		"memory.memavailable", "memory.memtotal", "memory.swapfree", "memory.swaptotal", "memory.transparent_huge_pages"}
	if !slices.Equal(f.Unknown, want) {
		t.Errorf("unknown\n   found: %v\nexpected: %v", f.Unknown, want)
	}
	if f.CPU.Logical != runtime.NumCPU() || CPUs(f) != runtime.NumCPU() {
		t.Errorf("CPUs %d of %d, expected what the runtime says: %d", CPUs(f), f.CPU.Logical, runtime.NumCPU())
	}
	b, err := json.Marshal(f)
	if err != nil || strings.Contains(string(b), "null") {
		t.Errorf("JSON %s, %v", b, err)
	}
	if ok, why := f.Quiet(); !ok {
		t.Errorf("what is unknown is no reason: %v", why)
	}
}

func TestCollectHere(t *testing.T) {
	f := Collect()
	if f.OS != runtime.GOOS || f.Arch != runtime.GOARCH || f.Go.Version != runtime.Version() || f.Go.GOMAXPROCS < 1 {
		t.Errorf("facts of this machine: %+v", f)
	}
	if n := CPUs(f); n < 1 || n > f.CPU.Logical {
		t.Errorf("%d CPUs of %d", n, f.CPU.Logical)
	}
	if n := PeakRSS(); n < 1<<20 {
		t.Errorf("peak RSS of %d bytes", n)
	}
	if runtime.GOOS == "linux" && (f.Kernel == "" || f.Memory.TotalBytes == 0) {
		t.Errorf("Linux tells kernel and memory: %+v", f)
	}
	if l := LoadAverage(); l < 0 {
		t.Errorf("load average %g", l)
	}
}

// TestMemoryLimitOfGo: no limit is no number, because math.MaxInt64 does not
// survive tools that keep numbers as float64.
func TestMemoryLimitOfGo(t *testing.T) {
	old := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(old)
	b, err := json.Marshal(machine(nil).goRuntime())
	if err != nil || strings.Contains(string(b), "gomemlimit") {
		t.Errorf("without a limit: %s, %v", b, err)
	}
	debug.SetMemoryLimit(3 << 30)
	b, err = json.Marshal(machine(nil).goRuntime())
	if err != nil || !strings.Contains(string(b), `"gomemlimit":3221225472`) {
		t.Errorf("with a limit: %s, %v", b, err)
	}
}

func TestArm(t *testing.T) {
	block := "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd asimddp bf16 i8mm sve\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: %\nCPU revision\t: 1\n"
	for part, model := range map[string]string{"0xd40": "ARM Neoverse-V1", "0xfff": "arm64 0x41-0xfff"} {
		c := machine(nil, map[string]string{"proc/cpuinfo": strings.ReplaceAll(block, "%", part)}).cpu()
		if c.Model != model || c.Family != "0x41-"+part+"-1" || c.Logical != 1 {
			t.Errorf("%+v, expected %s", c, model)
		}
		if want := []string{"asimd", "asimddp", "bf16", "i8mm", "sve"}; !slices.Equal(c.ISA, want) {
			t.Errorf("ISA %v, expected %v", c.ISA, want)
		}
	}
}

func TestTopologyFromCPUInfo(t *testing.T) {
	c := machine(nil, map[string]string{"proc/cpuinfo": "processor : 0\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nphysical id : 0\ncore id : 0\n\nprocessor : 2\nphysical id : 1\ncore id : 0\ncpu MHz : 1500.5"}).cpu()
	if c.Logical != 3 || c.Sockets != 2 || c.Cores != 2 || c.CurrentMHz != 1500.5 {
		t.Errorf("%+v", c)
	}
}

func TestVirtualizationAndContainer(t *testing.T) {
	guest := map[string]string{"proc/cpuinfo": "processor : 0\nflags : fpu hypervisor"}
	for _, c := range []struct {
		virt, cont string
		vars       map[string]string
		files      map[string]string
	}{
		{"hypervisor", "", nil, guest},
		{"kvm", "", nil, map[string]string{"sys/class/dmi/id/sys_vendor": "QEMU"}},
		{"google", "", nil, map[string]string{"sys/class/dmi/id/product_name": "Google Compute Engine"}},
		{"xen", "", nil, map[string]string{"sys/hypervisor/type": "xen"}},
		{"kvm", "", nil, map[string]string{"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock acpi_pm"}},
		{"hypervisor", "docker", nil, map[string]string{".dockerenv": ""}},
		{"hypervisor", "docker", nil, map[string]string{"proc/self/cgroup": "3:cpu:/docker/0123"}},
		{"hypervisor", "podman", nil, map[string]string{"run/.containerenv": ""}},
		{"hypervisor", "lxc", nil, map[string]string{"proc/1/cgroup": "1:cpu:/lxc/box"}},
		{"hypervisor", "kubernetes", map[string]string{"KUBERNETES_SERVICE_HOST": "x"}, map[string]string{".dockerenv": ""}},
		{"hypervisor", "systemd-nspawn", map[string]string{"container": "systemd-nspawn"}, nil},
	} {
		f := machine(c.vars, guest, c.files).collect()
		if f.Virtualization != c.virt || f.Container != c.cont {
			t.Errorf("%v %v: %q in %q, expected %q in %q", c.vars, c.files, f.Container, f.Virtualization, c.cont, c.virt)
		}
	}
}

func TestTurbo(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"on":  {cpuDir + "/cpufreq/boost": "1"},
		"off": {cpuDir + "/cpufreq/policy0/boost": "0"},
		"":    {},
	} {
		if got := machine(nil, files).turbo(); got != want {
			t.Errorf("%v: %q, expected %q", files, got, want)
		}
	}
	if got := machine(nil, map[string]string{cpuDir + "/intel_pstate/no_turbo": "0"}).turbo(); got != "on" {
		t.Errorf("no_turbo 0: %q, expected on", got)
	}
}
