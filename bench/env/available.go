package env

import (
	"os"
	"strings"
)

// Room is memory that this process can still take.
type Room struct {
	Bytes int64  // 0 = not known
	Total int64  // of what sets the limit
	From  string // what sets it: RoomMachine or RoomGroup
}

// What sets the limit of a Room.
const (
	RoomMachine = "machine"
	RoomGroup   = "control group"
)

// AvailableMemory gives the memory that this process can take before the system, or a
// control group above it, runs out: the least of what the kernel deems available
// without swapping, and of what every group's limit leaves beside what it uses. Cached
// pages of files that nothing has touched for a while do not count as used, since the
// kernel drops them first.
func AvailableMemory() Room { return hostTree().available() }

func (t *tree) available() Room {
	var r Room
	info := t.read("proc/meminfo")
	if n, ok := fieldInt(info, "MemAvailable"); ok && n >= 0 && n < maxExact>>10 {
		r.Bytes, r.From = n<<10, RoomMachine
		if n, ok := fieldInt(info, "MemTotal"); ok && n < maxExact>>10 {
			r.Total = n << 10
		}
	}
	for _, dir := range t.cgroups().memory {
		limit := t.memoryLimit(dir)
		if limit == 0 {
			continue
		}
		if left := max(0, limit-t.memoryUsed(dir)); r.From == "" || left < r.Bytes {
			r = Room{Bytes: left, Total: limit, From: RoomGroup}
		}
	}
	return r
}

// memoryUsed is what a control group uses and the kernel would not drop.
func (t *tree) memoryUsed(dir string) int64 {
	stat := t.read(dir + "/memory.stat")
	for _, v := range [][2]string{{"/memory.current", "inactive_file"}, {"/memory.usage_in_bytes", "total_inactive_file"}} {
		if used, ok := t.int(dir + v[0]); ok {
			idle, _ := fieldInt(stat, v[1])
			return max(0, used-idle)
		}
	}
	return 0
}

// RSS is the resident set of this process, in bytes, 0 when the system does not tell.
func RSS() int64 {
	n, _ := fieldInt(hostTree().read("proc/self/status"), "VmRSS")
	return n << 10
}

// ResetPeakRSS makes PeakRSS count from now on, and says whether the system did.
func ResetPeakRSS() bool {
	f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = strings.NewReader("5").WriteTo(f)
	return f.Close() == nil && err == nil
}
