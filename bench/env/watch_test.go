package env

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestQuietFacts(t *testing.T) {
	quiet := Facts{CPU: CPU{Logical: 4, Governor: "performance"}, Limits: Limits{Affinity: 4}, Load: Load{One: 0.4, Running: 1}}
	for _, c := range []struct {
		name   string
		change func(*Facts)
		want   []string
	}{
		{"quiet", func(*Facts) {}, nil},
		{"an echo of the last run", func(f *Facts) { f.Load = Load{One: 3.5, Running: 1} }, nil},
		{"busy", func(f *Facts) { f.Load = Load{One: 2.5, Running: 3} },
			[]string{"load average 2.50 on 4 CPUs before the run, with 2 other tasks running"}},
		{"busy for the quota", func(f *Facts) { f.Load, f.Limits.Quota = Load{One: 1.5, Running: 2}, 2 },
			[]string{"load average 1.50 on 2 CPUs before the run, with 1 other task running"}},
		{"powersave", func(f *Facts) { f.CPU.Governor, f.CPU.Driver = "performance,powersave", "acpi-cpufreq" },
			[]string{"CPU governor powersave keeps the clock down"}},
		{"powersave that scales up", func(f *Facts) { f.CPU.Governor, f.CPU.Driver = "powersave", "intel_pstate" }, nil},
		{"nice", func(f *Facts) { f.Limits.Nice = 10 }, []string{"the process runs at nice 10, behind all others"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := quiet
			c.change(&f)
			ok, why := f.Quiet()
			if ok != (c.want == nil) || !slices.Equal(why, c.want) {
				t.Errorf("quiet %v, %q; expected %q", ok, why, c.want)
			}
		})
	}
}

func TestCPUTimes(t *testing.T) {
	const stat = `cpu  100 0 100 1000 0 0 0 0 0 0
cpu0 10 20 30 1000 500 1 2 3 4 5
cpu1 100 0 0 0 0 0 0 100 0 0
cpu2 7 7 7 7 7 7 7 7 7 7
intr 5 6 7 8 9 10 11 12 13`
	busy, steal, ok := cpuTimes(stat, []int{0, 1})
	if math.Abs(busy-1.63) > 1e-9 || math.Abs(steal-1.03) > 1e-9 || !ok {
		t.Errorf("busy %g, steal %g, %v; expected 1.63, 1.03", busy, steal, ok)
	}
	if _, _, ok := cpuTimes(stat, []int{0, 9}); ok {
		t.Error("a CPU that is not listed passes")
	}
	if _, _, ok := cpuTimes("", nil); ok {
		t.Error("no counters pass")
	}
}

func TestDisturbance(t *testing.T) {
	t0 := time.Now()
	a := counters{at: t0, busy: 5, steal: 1, own: 2, throttledN: 1, throttledS: 0.5, involuntary: 10, majr: 1, ok: true}
	b := counters{at: t0.Add(10 * time.Second), busy: 24, steal: 1.1, own: 20, throttledN: 1, throttledS: 0.5, involuntary: 30, majr: 3, ok: true}
	d := disturbance(a, b, 2)
	for _, v := range []struct {
		name      string
		got, want float64
	}{{"wall", d.WallS, 10}, {"own", d.Own, 0.9}, {"others", d.Others, 0.05}, {"steal", d.Steal, 0.005},
		{"preempted", d.Preempted, 2}, {"faults", float64(d.MajorFaults), 2}, {"throttled", float64(d.ThrottledN), 0}} {
		if math.Abs(v.got-v.want) > 1e-9 {
			t.Errorf("%s %g, expected %g", v.name, v.got, v.want)
		}
	}
	ok, why := d.Quiet()
	if want := []string{"other processes took 5.0 % of the CPU time (limit 2 %)"}; ok || !slices.Equal(why, want) {
		t.Errorf("%q, expected %q", why, want)
	}

	b.busy, b.steal, b.throttledN, b.throttledS = 23.2, 1.8, 4, 1.25
	_, why = disturbance(a, b, 2).Quiet()
	if want := []string{"the CPU quota stopped the process in 3 periods, 0.75 s in all",
		"the hypervisor took 4.0 % of the CPU time for other guests (limit 1 %)"}; !slices.Equal(why, want) {
		t.Errorf("%q, expected %q", why, want)
	}

	// Ticks are too coarse for a short run, and rounding cannot make a share
	// negative.
	b = counters{at: t0.Add(50 * time.Millisecond), busy: 5.05, steal: 1, own: 2.09, throttledN: 1, throttledS: 0.5, ok: true}
	d = disturbance(a, b, 2)
	if ok, why := d.Quiet(); !ok || d.Others != 0 {
		t.Errorf("others %g, %q", d.Others, why)
	}
	b.ok = false
	d = disturbance(a, b, 2)
	if ok, why := d.Quiet(); ok || !d.Unknown || d.Others != 0 || d.Own != 0 || why[0] != "this machine does not tell how busy its CPUs were" {
		t.Errorf("without counters: %+v, %q", d, why)
	}
}

// TestWatchHere: a thread that works shows as this process's own time.
func TestWatchHere(t *testing.T) {
	w := StartWatch()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}
	d := w.Stop()
	if d.Unknown {
		t.Skip("this system has no counters")
	}
	if d.WallS < 0.1 || d.CPUs < 1 || d.Own <= 0 || d.Own > 1 || d.Others < 0 || d.Others > 1 || d.Steal < 0 || d.Steal > 1 {
		t.Errorf("%+v", d)
	}
}

func TestWatchReadsThrottling(t *testing.T) {
	m := machine(nil, map[string]string{
		"proc/stat":  "cpu0 1 0 0 0 0 0 0 0 0 0",
		"a/cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 1500000",
		"b/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 500000000"})
	w := &Watch{t: m, cpus: []int{0}, cpu: []string{"a", "b", "none"}}
	if c := w.read(); !c.ok || c.throttledN != 5 || c.throttledS != 2 || c.own <= 0 {
		t.Errorf("%+v, expected 5 periods and 2 s", c)
	}
}
