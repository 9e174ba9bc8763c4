package env

import (
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// limits reads what the process may use: its affinity mask and the tightest
// limits of all the control groups that it is in.
func (t *tree) limits() (l Limits) {
	cpus := t.allowed()
	l.AffinityList = t.text("limits.affinity_list", formatList(cpus))
	l.Affinity = len(cpus)
	if l.Affinity == 0 {
		// The runtime asked the kernel for the mask when the process started.
		l.Affinity = runtime.NumCPU()
	} else {
		_, l.AffinityCores = t.topology(cpus, "")
	}
	g := t.cgroups()
	l.Cgroup = t.text("limits.cgroup_version", g.version)
	for _, dir := range g.cpu {
		if q := t.quota(dir); q > 0 && (l.Quota == 0 || q < l.Quota) {
			l.Quota, l.QuotaFrom = q, dir
		}
	}
	for _, dir := range g.memory {
		if n := t.memoryLimit(dir); n > 0 && (l.MemoryBytes == 0 || n < l.MemoryBytes) {
			l.MemoryBytes, l.MemoryFrom = n, dir
		}
	}
	// Fields are counted from behind the command's name, which may hold spaces.
	stat := t.read("proc/self/stat")
	if i := strings.LastIndex(stat, ") "); i >= 0 {
		if f := strings.Fields(stat[i+2:]); len(f) > 16 {
			l.Nice, _ = strconv.Atoi(f[16])
		}
	}
	return l
}

// allowed gives the CPUs of the affinity mask that are online. The mask itself
// often names CPUs that a machine could have, but has not.
func (t *tree) allowed() []int {
	cpus := parseList(field(t.read("proc/self/status"), "Cpus_allowed_list"))
	online := parseList(t.read(cpuDir + "/online"))
	if len(online) == 0 {
		return cpus
	}
	return slices.DeleteFunc(cpus, func(n int) bool { return !slices.Contains(online, n) })
}

// groups are the directories of the process's control groups, from its own up to
// the topmost that is visible.
type groups struct {
	version     string // v1, v2, hybrid, ""
	cpu, memory []string
}

// cgroups finds the process's control groups. A limit may stand at any level
// above the process, so every level up to the mount is listed.
func (t *tree) cgroups() (g groups) {
	mounts := t.cgroupMounts()
	var v1, v2 bool
	for line := range strings.Lines(t.read("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		id, controllers, p := f[0], strings.Split(f[1], ","), f[2]
		if id == "0" && f[1] == "" {
			if dirs := mounts.dirs("", p); len(dirs) > 0 {
				v2 = true
				g.cpu, g.memory = append(g.cpu, dirs...), append(g.memory, dirs...)
			}
			continue
		}
		for _, c := range controllers {
			switch dirs := mounts.dirs(c, p); {
			case c == "cpu" && len(dirs) > 0:
				v1, g.cpu = true, append(g.cpu, dirs...)
			case c == "memory" && len(dirs) > 0:
				v1, g.memory = true, append(g.memory, dirs...)
			}
		}
	}
	switch {
	case v1 && v2:
		g.version = "hybrid"
	case v1:
		g.version = "v1"
	case v2:
		g.version = "v2"
	}
	return g
}

// cgroupMount is where a hierarchy, or a part of it, is mounted.
type cgroupMount struct{ root, point string }

// cgroupMounts are the mounts by controller; "" is version 2.
type cgroupMounts map[string]cgroupMount

// cgroupMounts reads /proc/self/mountinfo: "36 35 98:0 /root /point opts tags -
// type source superopts".
func (t *tree) cgroupMounts() cgroupMounts {
	m := cgroupMounts{}
	for line := range strings.Lines(t.read("proc/self/mountinfo")) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		mount := cgroupMount{unescape(l[3]), unescape(l[4])}
		switch r[0] {
		case "cgroup2":
			m.add("", mount)
		case "cgroup":
			for _, c := range strings.Split(r[2], ",") {
				m.add(c, mount)
			}
		}
	}
	return m
}

// add keeps the first mount of a hierarchy: later ones are bind mounts of parts.
func (m cgroupMounts) add(controller string, mount cgroupMount) {
	if _, ok := m[controller]; !ok {
		m[controller] = mount
	}
}

// unescape undoes mountinfo's octal escapes of space, tab, newline, backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// dirs gives the directories of the group at path p, itself first, relative to
// the root of the tree.
func (m cgroupMounts) dirs(controller, p string) []string {
	mount, ok := m[controller]
	if !ok {
		return nil
	}
	// In a container that shares the host's name space the path is the host's and
	// the mount shows only the part at its root. A path outside of it ("/..")
	// leaves what is mounted.
	rel := path.Clean("/" + p)
	if mount.root != "/" {
		if r, ok := strings.CutPrefix(rel, mount.root); ok && (r == "" || r[0] == '/') {
			rel = "/" + strings.TrimPrefix(r, "/")
		} else {
			rel = "/"
		}
	}
	var out []string
	for ; ; rel = path.Dir(rel) {
		out = append(out, strings.TrimPrefix(path.Join(mount.point, rel), "/"))
		if rel == "/" {
			return out
		}
	}
}

// quota is the number of CPUs that a group may use, 0 when it has no limit.
func (t *tree) quota(dir string) float64 {
	if f := strings.Fields(t.read(dir + "/cpu.max")); len(f) == 2 {
		return ratio(f[0], f[1])
	}
	return ratio(t.read(dir+"/cpu.cfs_quota_us"), t.read(dir+"/cpu.cfs_period_us"))
}

func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(quota, 64) // "max" and "-1" mean none
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// memoryLimit is a group's limit in bytes, 0 when it has none.
func (t *tree) memoryLimit(dir string) int64 {
	for _, name := range []string{"/memory.max", "/memory.limit_in_bytes"} {
		// Version 1 writes "none" as the largest multiple of the page size.
		if n, ok := t.int(dir + name); ok && n > 0 && n < maxExact {
			return n
		}
	}
	return 0
}

// CPUs is the number of threads that can run at once: the CPUs of the affinity
// mask, or fewer where a control group allows fewer. A part of a CPU counts as
// none, because one thread more than the quota pays for has all of them stopped
// in every period; the result is 1 at least.
func CPUs(f Facts) int {
	n := f.Limits.Affinity
	if n == 0 {
		n = f.CPU.Logical
	}
	if f.Limits.Quota > 0 {
		n = min(n, int(math.Min(f.Limits.Quota, math.MaxInt32)))
	}
	return max(n, 1)
}
