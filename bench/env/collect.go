package env

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
)

// Variables are the environment variables that change what a run does. Those
// that hold paths are recorded by their last elements, so that a record shows no
// directory of its author's.
var Variables = []string{
	"CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
	"ENCBENCH_CACHE", "ENCBENCH_CUDA_DRIVER", "ENCBENCH_MODEL_DIR", "ENCBENCH_ORT_LIBRARY", "ENCBENCH_PYTHON",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT",
	"GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
	"KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_WAIT_POLICY",
	"OPENBLAS_NUM_THREADS", "ORT_DEFAULT_OPTIMIZATION_LEVEL",
}

// Collect gathers the facts. It takes a few milliseconds and never fails.
func Collect() Facts { return hostTree().collect() }

func (t *tree) collect() Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH}
	f.Kernel = t.text("kernel", t.read("proc/sys/kernel/osrelease"))
	f.Distribution = t.text("distribution", t.distribution())
	f.HostHash = t.text("host_hash", hostHash(t.read("proc/sys/kernel/hostname")))
	f.CPU = t.cpu()
	f.Limits = t.limits()
	f.Virtualization = t.virtualization(f.CPU)
	f.Container = t.container()
	f.Memory = t.memory()
	f.Load = t.load()
	f.Go = t.goRuntime()
	slices.Sort(t.unknown)
	f.Unknown = append([]string{}, t.unknown...)
	return f
}

func (t *tree) distribution() string {
	for _, p := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(t.read(p)) {
			if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				return strings.Trim(strings.TrimSpace(v), `"'`)
			}
		}
	}
	return ""
}

// hostHash tells machines apart without naming them.
func hostHash(name string) string {
	if name == "" {
		return ""
	}
	h := sha256.Sum256([]byte("encbench host\n" + name))
	return hex.EncodeToString(h[:])[:12]
}

// hypervisors are told by what the firmware calls the machine.
var hypervisors = [][2]string{
	{"kvm", "kvm"}, {"qemu", "kvm"}, {"amazon ec2", "amazon"}, {"google", "google"}, {"microsoft", "microsoft"},
	{"vmware", "vmware"}, {"innotek", "virtualbox"}, {"virtualbox", "virtualbox"}, {"xen", "xen"},
	{"openstack", "kvm"}, {"parallels", "parallels"}, {"bochs", "bochs"}, {"apple virtualization", "apple"},
}

func (t *tree) virtualization(c CPU) string {
	if typ := t.read("sys/hypervisor/type"); typ != "" {
		return typ
	}
	flagged := slices.Contains(strings.Fields(field(t.read("proc/cpuinfo"), "flags")), "hypervisor")
	// On x86 the flag decides: EC2's bare machines have the vendor's name too.
	if runtimeX86(t) && !flagged {
		return ""
	}
	dmi := strings.ToLower(t.read("sys/class/dmi/id/sys_vendor") + " " + t.read("sys/class/dmi/id/product_name"))
	for _, h := range hypervisors {
		if strings.Contains(dmi, h[0]) {
			return h[1]
		}
	}
	clocks := c.ClockSource + " " + t.read("sys/devices/system/clocksource/clocksource0/available_clocksource")
	switch {
	case strings.Contains(clocks, "kvm-clock"):
		return "kvm"
	case strings.Contains(clocks, "hyperv"):
		return "microsoft"
	case flagged:
		return "hypervisor"
	}
	return ""
}

// runtimeX86 tells x86 from the tree, not from this build, so that tests of one
// run on the other.
func runtimeX86(t *tree) bool { return field(t.read("proc/cpuinfo"), "flags") != "" }

func (t *tree) container() string {
	groups := t.read("proc/1/cgroup") + "\n" + t.read("proc/self/cgroup")
	switch {
	case t.getenv("KUBERNETES_SERVICE_HOST") != "", strings.Contains(groups, "kubepods"):
		return "kubernetes"
	case t.exists("run/.containerenv"), strings.Contains(groups, "libpod"):
		return "podman"
	case t.exists(".dockerenv"), strings.Contains(groups, "/docker"):
		return "docker"
	case strings.Contains(groups, "/lxc"):
		return "lxc"
	}
	return t.getenv("container") // set by systemd-nspawn, lxc and podman
}

func (t *tree) memory() (m Memory) {
	info := t.read("proc/meminfo")
	bytes := func(key string) int64 {
		n, ok := fieldInt(info, key)
		ok = ok && n >= 0 && n < maxExact>>10
		t.miss("memory."+strings.ToLower(key), ok)
		if !ok {
			return 0
		}
		return n << 10
	}
	m.TotalBytes, m.AvailableBytes = bytes("MemTotal"), bytes("MemAvailable")
	m.SwapTotalBytes = bytes("SwapTotal")
	m.SwapUsedBytes = m.SwapTotalBytes - bytes("SwapFree")
	pages, _ := fieldInt(info, "HugePages_Total")
	size, _ := fieldInt(info, "Hugepagesize")
	m.HugePagesTotal, m.HugePageKiB = int(pages), int(size)
	m.HugePages = t.text("memory.transparent_huge_pages", chosen(t.read("sys/kernel/mm/transparent_hugepage/enabled")))
	return m
}

// chosen gives the bracketed word of "always [madvise] never".
func chosen(s string) string {
	_, rest, ok := strings.Cut(s, "[")
	if !ok {
		return s
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func (t *tree) load() (l Load) {
	f := strings.Fields(t.read("proc/loadavg"))
	t.miss("load", len(f) >= 4)
	if len(f) < 4 {
		return l
	}
	for i, p := range []*float64{&l.One, &l.Five, &l.Fifteen} {
		*p, _ = strconv.ParseFloat(f[i], 64)
	}
	running, _, _ := strings.Cut(f[3], "/")
	l.Running, _ = strconv.Atoi(running)
	return l
}

// LoadAverage is the 1-minute load average now, 0 where there is none.
func LoadAverage() float64 { return hostTree().load().One }

func (t *tree) goRuntime() Go {
	g := Go{Version: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0), Env: map[string]string{}}
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	g.GOGC = -1
	if v := s[0].Value.Uint64(); v <= math.MaxInt32 {
		g.GOGC = int(v)
	}
	if v := s[1].Value.Uint64(); v < maxExact { // the runtime's "none" is math.MaxInt64
		g.GOMEMLIMIT = int64(v)
	}
	for _, name := range Variables {
		if v := t.getenv(name); v != "" {
			g.Env[name] = withoutDirs(v)
		}
	}
	return g
}

// withoutDirs cuts every path in a value down to its last element.
func withoutDirs(v string) string {
	if !strings.Contains(v, "/") {
		return v
	}
	parts := strings.FieldsFunc(v, func(r rune) bool { return r == ':' || r == ' ' })
	for i, p := range parts {
		if strings.Contains(p, "/") {
			parts[i] = "…/" + path.Base(p)
		}
	}
	return strings.Join(parts, ":")
}
