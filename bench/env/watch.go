package env

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// userHz is the unit of /proc/stat, which Linux fixes for user space.
const userHz = 100

// Watch measures how undisturbed a run is, from Start to Stop. It reads a few
// files at both ends and costs nothing between.
type Watch struct {
	t     *tree
	cpus  []int    // those the process may run on
	cpu   []string // control groups, for throttling
	start counters
}

// Disturbance is what kept a run from having its CPUs to itself.
type Disturbance struct {
	WallS       float64 `json:"wall_s"`
	CPUs        int     `json:"cpus"`                   // that the process may run on
	Own         float64 `json:"own_cpu"`                // shares of the time of those CPUs, 0..1: this process
	Others      float64 `json:"other_cpu"`              // other processes and the kernel's own work
	Steal       float64 `json:"steal"`                  // taken by the hypervisor for other guests
	ThrottledN  int64   `json:"throttled_periods"`      // quota periods in which a control group was stopped
	ThrottledS  float64 `json:"throttled_s"`            // time stopped, summed over CPUs
	Preempted   float64 `json:"involuntary_switches_s"` // involuntary context switches of this process, per second
	MajorFaults int64   `json:"major_faults"`           // pages read from disk
	Unknown     bool    `json:"unknown"`                // no counters on this machine: nothing above is known
}

// counters are cumulative, in seconds.
type counters struct {
	at                time.Time
	busy, steal       float64
	own               float64
	throttledN        int64
	throttledS        float64
	involuntary, majr int64
	ok                bool
}

// StartWatch begins a watch over the CPUs of the process's affinity mask.
func StartWatch() *Watch {
	t := hostTree()
	w := &Watch{t: t, cpus: t.allowed(), cpu: t.cgroups().cpu}
	w.start = w.read()
	return w
}

// Stop gives what happened since StartWatch. It may be called again later.
func (w *Watch) Stop() Disturbance { return disturbance(w.start, w.read(), len(w.cpus)) }

func (w *Watch) read() counters {
	c := counters{at: time.Now()}
	c.busy, c.steal, c.ok = cpuTimes(w.t.read("proc/stat"), w.cpus)
	for _, dir := range w.cpu {
		stat := w.t.read(dir + "/cpu.stat")
		n, _ := fieldInt(stat, "nr_throttled")
		us, _ := fieldInt(stat, "throttled_usec")
		ns, _ := fieldInt(stat, "throttled_time")
		c.throttledN += n
		c.throttledS += float64(us)/1e6 + float64(ns)/1e9
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		c.ok = false
		return c
	}
	c.own = seconds(ru.Utime) + seconds(ru.Stime)
	c.involuntary, c.majr = int64(ru.Nivcsw), int64(ru.Majflt)
	return c
}

func seconds(tv syscall.Timeval) float64 { return time.Duration(tv.Nano()).Seconds() }

// cpuTimes sums, over the given CPUs, the busy time and the stolen time of
// /proc/stat: "cpu0 user nice system idle iowait irq softirq steal guest …".
// Guest time is part of user time already.
func cpuTimes(stat string, cpus []int) (busy, steal float64, ok bool) {
	seen := 0
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		n, err := strconv.Atoi(f[0][3:])
		if err != nil || !slices.Contains(cpus, n) {
			continue // the sum over all CPUs, or one we may not use
		}
		seen++
		for i, v := range f[1:9] {
			ticks, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return 0, 0, false
			}
			switch i {
			case 3, 4: // idle, iowait
			case 7:
				steal += ticks / userHz
			default:
				busy += ticks / userHz
			}
		}
	}
	return busy, steal, seen > 0 && seen == len(cpus)
}

func disturbance(a, b counters, cpus int) Disturbance {
	d := Disturbance{WallS: b.at.Sub(a.at).Seconds(), CPUs: cpus, Unknown: !a.ok || !b.ok}
	if total := d.WallS * float64(cpus); total > 0 && !d.Unknown {
		share := func(s float64) float64 { return min(max(s/total, 0), 1) }
		d.Own = share(b.own - a.own)
		d.Others = share(b.busy - a.busy - (b.own - a.own))
		d.Steal = share(b.steal - a.steal)
	}
	if d.WallS > 0 {
		d.Preempted = float64(b.involuntary-a.involuntary) / d.WallS
	}
	d.ThrottledN, d.ThrottledS = b.throttledN-a.throttledN, b.throttledS-a.throttledS
	d.MajorFaults = b.majr - a.majr
	return d
}

// Quiet tells whether the run had its CPUs to itself, and if not, why not: facts,
// without advice. Runs of less than a second are too short for the kernel's
// counters and pass, but for throttling.
func (d Disturbance) Quiet() (bool, []string) {
	var why []string
	if d.Unknown {
		why = append(why, "this machine does not tell how busy its CPUs were")
	}
	if d.ThrottledN > 0 {
		why = append(why, fmt.Sprintf("the CPU quota stopped the process in %s, %.2f s in all", counted(int(d.ThrottledN), "period"), d.ThrottledS))
	}
	if d.WallS >= quietMinWall && d.Steal > quietSteal {
		why = append(why, fmt.Sprintf("the hypervisor took %.1f %% of the CPU time for other guests (limit %.0f %%)", 100*d.Steal, 100*quietSteal))
	}
	if d.WallS >= quietMinWall && d.Others > quietOthers {
		why = append(why, fmt.Sprintf("other processes took %.1f %% of the CPU time (limit %.0f %%)", 100*d.Others, 100*quietOthers))
	}
	return len(why) == 0, why
}
