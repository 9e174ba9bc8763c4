package env

import (
	"runtime"
	"testing"
)

func TestAvailable(t *testing.T) {
	const info = "MemTotal:       16000 kB\nMemFree:         100 kB\nMemAvailable:   8000 kB\n"
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
	const v1 = "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Room
	}{
		{"nothing known", nil, Room{}},
		{"no limit", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a", "proc/self/mountinfo": v2, "sys/fs/cgroup/a/memory.max": "max"},
			Room{8000 << 10, 16000 << 10, RoomMachine}},
		{"v2, the group above has less left", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/memory.max": "7000000", "sys/fs/cgroup/a/b/memory.current": "1000000", "sys/fs/cgroup/a/b/memory.stat": "anon 5\ninactive_file 200000",
			"sys/fs/cgroup/a/memory.max": "6000000", "sys/fs/cgroup/a/memory.current": "3000000", "sys/fs/cgroup/a/memory.stat": "inactive_file 500000\nactive_file 9"},
			Room{3500000, 6000000, RoomGroup}},
		{"the machine has less than the group", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "90000000", "sys/fs/cgroup/a/memory.current": "5"}, Room{8000 << 10, 16000 << 10, RoomMachine}},
		{"v1, over its limit", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "5:memory:/job", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000000", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1200000",
			"sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 100000"}, Room{0, 1000000, RoomGroup}},
		{"v1", map[string]string{"proc/self/cgroup": "5:memory:/job", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000000", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "300000",
			"sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 100000"}, Room{800000, 1000000, RoomGroup}},
	} {
		if got := machine(nil, c.files).available(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The peak is that of the time since it was reset, and never below what is resident.
func TestResetPeakRSS(t *testing.T) {
	if runtime.GOOS != "linux" {
		if ResetPeakRSS() {
			t.Error("reset without /proc")
		}
		return
	}
	big := make([]byte, 64<<20)
	for i := 0; i < len(big); i += 4096 {
		big[i] = 1
	}
	if peak, now := PeakRSS(), RSS(); peak < 64<<20 || now < 64<<20 || peak < now-(1<<20) {
		t.Errorf("64 MiB are in use, the peak is %d, resident %d", peak, now)
	}
	runtime.KeepAlive(big)
	if !ResetPeakRSS() {
		t.Fatal("the peak was not reset")
	}
	if peak, now := PeakRSS(), RSS(); peak < now-(1<<20) {
		t.Errorf("after the reset the peak is %d, resident %d", peak, now)
	}
}
