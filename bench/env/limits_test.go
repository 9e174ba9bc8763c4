package env

import (
	"slices"
	"testing"
)

func TestQuota(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
	const v1 = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
	for _, c := range []struct {
		name    string
		files   map[string]string
		quota   float64
		from    string
		version string
		memory  int64
	}{
		{"none", nil, 0, "", "", 0},
		{"v2, no limit anywhere", map[string]string{
			"proc/self/cgroup": "0::/a/b", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/cpu.max": "max 100000"}, 0, "", "v2", 0},
		{"v2, tightest above", map[string]string{
			"proc/self/cgroup": "0::/a/b", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000", "sys/fs/cgroup/a/cpu.max": "150000 100000",
			"sys/fs/cgroup/a/memory.max": "5000", "sys/fs/cgroup/a/b/memory.max": "9000"}, 1.5, "sys/fs/cgroup/a", "v2", 5000},
		{"v2, in a container with its own name space", map[string]string{
			"proc/self/cgroup": "0::/", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5, "sys/fs/cgroup", "v2", 0},
		{"v2, in a container that sees the host's paths", map[string]string{
			"proc/self/cgroup":      "0::/docker/0123/inner",
			"proc/self/mountinfo":   "30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup2 rw",
			"sys/fs/cgroup/cpu.max": "300000 100000", "sys/fs/cgroup/inner/cpu.max": "200000 100000"}, 2, "sys/fs/cgroup/inner", "v2", 0},
		{"v2, a path outside of what is mounted", map[string]string{
			"proc/self/cgroup":      "0::/../other",
			"proc/self/mountinfo":   "30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup2 rw",
			"sys/fs/cgroup/cpu.max": "300000 100000"}, 3, "sys/fs/cgroup", "v2", 0},
		{"v1", map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/job\n5:memory:/job\n1:name=systemd:/", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":  "120000",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "50000",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":      "-1",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":     "100000",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":  "7000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":      "9223372036854771712"}, 2.4, "sys/fs/cgroup/cpu,cpuacct/job", "v1", 7000},
		{"hybrid", map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/\n0::/u", "proc/self/mountinfo": v1 + "\n33 23 0:29 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "100000",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/uni fied/u/cpu.max":            "80000 100000"}, 0.8, "sys/fs/cgroup/uni fied/u", "hybrid", 0},
		{"garbage", map[string]string{
			"proc/self/cgroup": "nonsense\n0::/a", "proc/self/mountinfo": "short line\n" + v2,
			"sys/fs/cgroup/a/cpu.max": "ten 100000"}, 0, "", "v2", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := machine(nil, c.files).limits()
			if l.Quota != c.quota || l.QuotaFrom != c.from || l.Cgroup != c.version || l.MemoryBytes != c.memory {
				t.Errorf("quota %g from %q, cgroup %q, memory %d; expected %g from %q, %q, %d",
					l.Quota, l.QuotaFrom, l.Cgroup, l.MemoryBytes, c.quota, c.from, c.version, c.memory)
			}
		})
	}
}

// TestMemoryLimitBeyondFloats: what a float64 cannot hold is no limit.
func TestMemoryLimitBeyondFloats(t *testing.T) {
	for text, want := range map[string]int64{"9007199254740991": 1<<53 - 1, "9007199254740992": 0, "9223372036854771712": 0, "max": 0, "-1": 0} {
		if got := machine(nil, map[string]string{"a/memory.max": text}).memoryLimit("a"); got != want {
			t.Errorf("%s: %d, expected %d", text, got, want)
		}
	}
}

func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		logical, affinity int
		quota             float64
		want              int
	}{{8, 8, 0, 8}, {8, 4, 0, 4}, {8, 8, 2, 2}, {8, 8, 1.5, 1}, {8, 8, 2.1, 2}, {8, 8, 2.999, 2}, {8, 8, 1e300, 8}, {8, 2, 4, 2}, {8, 0, 0, 8}, {8, 8, 0.2, 1}, {0, 0, 0, 1}} {
		f := Facts{CPU: CPU{Logical: c.logical}, Limits: Limits{Affinity: c.affinity, Quota: c.quota}}
		if got := CPUs(f); got != c.want {
			t.Errorf("%+v: %d, expected %d", c, got, c.want)
		}
	}
}

func TestParseList(t *testing.T) {
	for s, want := range map[string][]int{
		"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,4-5\n": {2, 4, 5}, "": nil, "x": nil, "3-1": nil, "1-": nil, "0-99999999": nil,
	} {
		if got := parseList(s); !slices.Equal(got, want) {
			t.Errorf("%q: %v, expected %v", s, got, want)
		}
	}
}

func TestFormatList(t *testing.T) {
	for want, l := range map[string][]int{"": nil, "0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,4-5": {2, 4, 5}, "0,2,4": {0, 2, 4}} {
		if got := formatList(l); got != want || !slices.Equal(parseList(got), l) {
			t.Errorf("%v: %q, expected %q", l, got, want)
		}
	}
}

// TestAffinityBeyondOnline: a mask often names CPUs that could be plugged in.
func TestAffinityBeyondOnline(t *testing.T) {
	l := machine(nil, map[string]string{"proc/self/status": "Cpus_allowed_list:\t0-255", "sys/devices/system/cpu/online": "0-3"}).limits()
	if l.Affinity != 4 || l.AffinityList != "0-3" {
		t.Errorf("%+v, expected the four that are online", l)
	}
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{"0-3,8", "cpu0 1 2 3 4 5 6 7 8 9 10", "30 23 0:26 / /sys rw - cgroup2 x rw", "4:cpu,cpuacct:/../a", "MemTotal: 5 kB", "a [b] c", "max 100000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// Whatever a kernel writes, nothing panics and no share leaves 0..1.
		m := machine(nil, map[string]string{"proc/self/cgroup": s, "proc/self/mountinfo": s, "proc/cpuinfo": s, "proc/loadavg": s,
			"proc/meminfo": s, "proc/self/status": s, "proc/self/stat": s, "sys/devices/system/cpu/online": s})
		c := m.collect()
		if n := CPUs(c); n < 1 {
			t.Errorf("%d CPUs", n)
		}
		for _, n := range []int64{c.Memory.TotalBytes, c.Memory.AvailableBytes, c.Memory.SwapTotalBytes, c.Limits.MemoryBytes} {
			if n < 0 || n >= maxExact {
				t.Errorf("%d bytes, expected less than 2^53", n)
			}
		}
		_, _, _ = cpuTimes(s, parseList(s))
		if q := ratio(s, s); q < 0 {
			t.Errorf("quota %g", q)
		}
	})
}
