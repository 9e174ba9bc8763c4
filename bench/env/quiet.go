package env

import (
	"fmt"
	"slices"
	"strings"
)

// Thresholds of a quiet machine. The aim is a rate that is good to 1 %.
const (
	quietLoadPerCPU = 0.5  // 1-minute load average before the run
	quietSteal      = 0.01 // of the CPU time of the run
	quietOthers     = 0.02 // of the CPU time of the run
	quietMinWall    = 1.0  // seconds below which the kernel's 10 ms ticks say nothing
)

// dynamicPowersave are the drivers whose governor of that name scales up under
// load.
var dynamicPowersave = []string{"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"}

// Quiet tells whether the machine looked fit for a measurement when the facts
// were collected, and if not, why not: facts, without advice. A load average is
// an echo of the last minute: it counts only while something runs beside this
// process. What happens during a run is for Watch.
func (f Facts) Quiet() (bool, []string) {
	var why []string
	cpus := CPUs(f)
	if f.Load.One > quietLoadPerCPU*float64(cpus) && f.Load.Running > 1 {
		why = append(why, fmt.Sprintf("load average %.2f on %s before the run, with %s running",
			f.Load.One, counted(cpus, "CPU"), counted(f.Load.Running-1, "other task")))
	}
	if slices.Contains(strings.Split(f.CPU.Governor, ","), "powersave") && !slices.Contains(dynamicPowersave, f.CPU.Driver) {
		why = append(why, "CPU governor powersave keeps the clock down")
	}
	if f.Limits.Nice > 0 {
		why = append(why, fmt.Sprintf("the process runs at nice %d, behind all others", f.Limits.Nice))
	}
	return len(why) == 0, why
}

// counted is n things, in words.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
