package env

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// relevantISA are the flags, as the kernel spells them, that decide which
// kernels an encoder can run.
var relevantISA = []string{
	"sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx_vnni", "avx_vnni_int8", "avx_ifma",
	"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx10_1",
	"amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
	"asimd", "asimdhp", "asimddp", "asimdfhm", "bf16", "i8mm", "sve", "sve2", "svei8mm", "svebf16", "sme", "sme2",
}

// armParts names the cores of arm64 servers, whose /proc/cpuinfo has numbers only.
var armParts = map[string]string{
	"0x41-0xd08": "ARM Cortex-A72", "0x41-0xd0b": "ARM Cortex-A76", "0x41-0xd0c": "ARM Neoverse-N1",
	"0x41-0xd40": "ARM Neoverse-V1", "0x41-0xd49": "ARM Neoverse-N2", "0x41-0xd4f": "ARM Neoverse-V2",
	"0x41-0xd83": "ARM Neoverse-V3", "0x41-0xd8e": "ARM Neoverse-N3", "0xc0-0xac3": "Ampere-1", "0xc0-0xac4": "Ampere-1A",
	"0x46-0x001": "Fujitsu A64FX", "0x4e-0x004": "NVIDIA Carmel", "0x48-0xd01": "HiSilicon TSV110",
}

const cpuDir = "sys/devices/system/cpu"

func (t *tree) cpu() (c CPU) {
	info := t.read("proc/cpuinfo")
	first, _, _ := strings.Cut(info, "\n\n")
	c.Vendor, c.Model, c.Family = identity(first)
	t.text("cpu.vendor", c.Vendor)
	t.text("cpu.model", c.Model)
	t.text("cpu.family", c.Family)
	c.Microcode = field(first, "microcode")
	flags := strings.Fields(field(first, "flags") + " " + field(first, "Features"))
	c.ISA = []string{}
	for _, f := range relevantISA {
		if slices.Contains(flags, f) {
			c.ISA = append(c.ISA, f)
		}
	}
	slices.Sort(c.ISA)
	t.miss("cpu.isa", len(flags) > 0)

	online := t.online(info)
	c.Logical = len(online)
	c.Sockets, c.Cores = t.topology(online, info)
	t.miss("cpu.physical_cores", c.Cores > 0)
	c.SMT = t.text("cpu.smt", t.smt())
	c.Caches = t.caches(online)
	t.miss("cpu.caches", len(c.Caches) > 0)
	t.frequency(&c, online, info)

	c.NUMACPUs = []string{}
	for _, p := range t.glob("sys/devices/system/node/node[0-9]*/cpulist") {
		c.NUMACPUs = append(c.NUMACPUs, t.read(p))
	}
	c.NUMANodes = len(c.NUMACPUs)
	t.miss("cpu.numa_nodes", c.NUMANodes > 0)
	c.Mitigations = []string{}
	for _, name := range t.entries(cpuDir + "/vulnerabilities") {
		if s := t.read(cpuDir + "/vulnerabilities/" + name); s != "" && s != "Not affected" {
			c.Mitigations = append(c.Mitigations, name+": "+s)
		}
	}
	c.ClockSource = t.text("cpu.clock_source", t.read("sys/devices/system/clocksource/clocksource0/current_clocksource"))
	return c
}

// identity reads vendor, model and family from the first block of /proc/cpuinfo.
func identity(block string) (vendor, model, family string) {
	if vendor = field(block, "vendor_id"); vendor != "" {
		return vendor, field(block, "model name"),
			field(block, "cpu family") + "-" + field(block, "model") + "-" + field(block, "stepping")
	}
	vendor = field(block, "CPU implementer")
	if vendor == "" {
		return "", "", ""
	}
	part := vendor + "-" + field(block, "CPU part")
	if model = field(block, "model name"); model == "" {
		model = armParts[part]
	}
	if model == "" {
		model = "arm64 " + part
	}
	return vendor, model, part + "-" + field(block, "CPU revision")
}

// online gives the numbers of the CPUs that are online.
func (t *tree) online(info string) []int {
	if l := parseList(t.read(cpuDir + "/online")); len(l) > 0 {
		return l
	}
	var l []int
	for line := range strings.Lines(info) {
		if n, ok := fieldInt(line, "processor"); ok {
			l = append(l, int(n))
		}
	}
	if len(l) == 0 {
		t.miss("cpu.logical_cpus", false)
		for i := range runtime.NumCPU() {
			l = append(l, i)
		}
	}
	return l
}

// topology counts sockets and physical cores among the given CPUs.
func (t *tree) topology(cpus []int, info string) (sockets, cores int) {
	type core struct{ socket, die, cluster, id string }
	packages, ids := map[string]bool{}, map[core]bool{}
	for _, n := range cpus {
		dir := fmt.Sprintf("%s/cpu%d/topology/", cpuDir, n)
		c := core{t.read(dir + "physical_package_id"), t.read(dir + "die_id"), t.read(dir + "cluster_id"), t.read(dir + "core_id")}
		if c.id == "" {
			return fromCPUInfo(info)
		}
		packages[c.socket], ids[c] = true, true
	}
	return len(packages), len(ids)
}

func fromCPUInfo(info string) (sockets, cores int) {
	packages, ids := map[string]bool{}, map[string]bool{}
	for _, block := range strings.Split(info, "\n\n") {
		socket, id := field(block, "physical id"), field(block, "core id")
		if socket != "" && id != "" {
			packages[socket], ids[socket+"/"+id] = true, true
		}
	}
	return len(packages), len(ids)
}

func (t *tree) smt() string {
	if s := t.read(cpuDir + "/smt/control"); s != "" {
		return s
	}
	switch t.read(cpuDir + "/smt/active") {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return ""
}

func (t *tree) caches(online []int) []Cache {
	out := []Cache{}
	if len(online) == 0 {
		return out
	}
	for _, dir := range t.glob(fmt.Sprintf("%s/cpu%d/cache/index[0-9]*", cpuDir, online[0])) {
		level, ok := t.int(dir + "/level")
		size := strings.ToUpper(t.read(dir + "/size"))
		kib, err := strconv.Atoi(strings.TrimRight(size, "KMG"))
		if !ok || err != nil {
			continue
		}
		switch {
		case strings.HasSuffix(size, "M"):
			kib <<= 10
		case strings.HasSuffix(size, "G"):
			kib <<= 20
		}
		out = append(out, Cache{Level: int(level), Type: t.read(dir + "/type"), KiB: kib, Shared: len(parseList(t.read(dir + "/shared_cpu_list")))})
	}
	return out
}

// frequency fills what cpufreq tells; a virtual machine usually has none of it.
func (t *tree) frequency(c *CPU, online []int, info string) {
	var governors, drivers []string
	var current, n float64
	for _, i := range online {
		dir := fmt.Sprintf("%s/cpu%d/cpufreq/", cpuDir, i)
		governors = appendNew(governors, t.read(dir+"scaling_governor"))
		drivers = appendNew(drivers, t.read(dir+"scaling_driver"))
		if kHz, ok := t.int(dir + "cpuinfo_min_freq"); ok && (c.MinMHz == 0 || float64(kHz)/1e3 < c.MinMHz) {
			c.MinMHz = float64(kHz) / 1e3
		}
		if kHz, ok := t.int(dir + "cpuinfo_max_freq"); ok {
			c.MaxMHz = max(c.MaxMHz, float64(kHz)/1e3)
		}
		if kHz, ok := t.int(dir + "scaling_cur_freq"); ok {
			current, n = current+float64(kHz)/1e3, n+1
		}
	}
	if n == 0 {
		for line := range strings.Lines(info) {
			if v, err := strconv.ParseFloat(field(line, "cpu MHz"), 64); err == nil {
				current, n = current+v, n+1
			}
		}
	}
	if n > 0 {
		c.CurrentMHz = current / n
	}
	slices.Sort(governors)
	c.Governor = t.text("cpu.governor", strings.Join(governors, ","))
	c.Driver = t.text("cpu.freq_driver", strings.Join(drivers, ","))
	c.Turbo = t.text("cpu.turbo", t.turbo())
	t.miss("cpu.max_mhz", c.MaxMHz > 0)
	t.miss("cpu.min_mhz", c.MinMHz > 0)
	t.miss("cpu.current_mhz", c.CurrentMHz > 0)
}

func (t *tree) turbo() string {
	onOff := map[string]string{"0": "off", "1": "on"}
	if s := t.read(cpuDir + "/intel_pstate/no_turbo"); s != "" {
		return map[string]string{"0": "on", "1": "off"}[s]
	}
	for _, p := range append([]string{cpuDir + "/cpufreq/boost"}, t.glob(path.Join(cpuDir, "cpufreq/policy[0-9]*/boost"))...) {
		if s := t.read(p); s != "" {
			return onOff[s]
		}
	}
	return ""
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
