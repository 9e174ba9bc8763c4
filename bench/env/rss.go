package env

import "syscall"

// PeakRSS is the largest resident set of this process so far, in bytes, 0 when
// the system does not tell.
func PeakRSS() int64 {
	if n, ok := fieldInt(hostTree().read("proc/self/status"), "VmHWM"); ok {
		return n << 10
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return int64(ru.Maxrss) << 10
}
