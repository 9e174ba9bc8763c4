package nvidia

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// interval is how often a Watch looks. The tool averages power over about as long.
const interval = time.Second

// Load is what a Watch saw of a device.
type Load struct {
	UUID     string
	Samples  int
	Power    float64 // W, mean
	ClockMHz float64 // of the multiprocessors, mean
	Celsius  float64 // highest
	// HeldDown are the reasons that held the clock down, each with the share of the
	// samples in which it did, as "power limit (80 %)".
	HeldDown string
}

// Watch looks at all devices once a second, by one nvidia-smi that goes on until Stop.
type Watch struct {
	cancel context.CancelFunc
	done   chan struct{}

	mutex sync.Mutex
	seen  map[string][]GPU
}

// StartWatch begins to look. Where the tool is missing or fails nothing is seen.
func StartWatch(ctx context.Context) *Watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, done: make(chan struct{}), seen: map[string][]GPU{}}
	cmd := exec.CommandContext(ctx, "nvidia-smi", append(query(), fmt.Sprintf("-lms=%d", interval.Milliseconds()))...)
	cmd.WaitDelay = timeout
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		close(w.done)
		return w
	}
	go func() {
		defer close(w.done)
		w.read(out)
		cancel()
		// A tool that was ended has an error, which says nothing.
		_ = cmd.Wait()
	}()
	return w
}

// read takes the lines of the tool as they come.
func (w *Watch) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line, err := csv.NewReader(strings.NewReader(lines.Text())).Read()
		if err != nil || len(line) != len(fields) {
			continue
		}
		g := gpu(line)
		w.mutex.Lock()
		w.seen[g.UUID] = append(w.seen[g.UUID], g)
		w.mutex.Unlock()
	}
}

// Stop ends the watch and gives what was seen, by UUID.
func (w *Watch) Stop() []Load {
	w.cancel()
	<-w.done
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var out []Load
	for uuid, all := range w.seen {
		out = append(out, loadOf(uuid, all))
	}
	slices.SortFunc(out, func(a, b Load) int { return strings.Compare(a.UUID, b.UUID) })
	return out
}

func loadOf(uuid string, all []GPU) Load {
	l := Load{UUID: uuid, Samples: len(all)}
	held := map[string]int{}
	n := float64(len(all))
	for _, g := range all {
		l.Power += g.Power / n
		l.ClockMHz += g.ClockMHz / n
		l.Celsius = max(l.Celsius, g.Celsius)
		for r := range strings.SplitSeq(g.Throttled, ", ") {
			if r != "" {
				held[r]++
			}
		}
	}
	var reasons []string
	for _, t := range throttles {
		if c := held[t.name]; c > 0 {
			reasons = append(reasons, fmt.Sprintf("%s (%.0f %%)", t.name, 100*float64(c)/n))
		}
	}
	l.HeldDown = strings.Join(reasons, ", ")
	return l
}

// FindLoad gives what was seen of a device; nil where nothing was.
func FindLoad(all []Load, uuid string) *Load {
	for i := range all {
		if strings.EqualFold(all[i].UUID, uuid) {
			return &all[i]
		}
	}
	return nil
}
