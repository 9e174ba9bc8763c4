package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// progress shows one line of long work: redrawn in place on a terminal, printed
// every few seconds elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	last     time.Time
	width    int // of the line on the screen
}

func (a *app) progress() *progress {
	p := &progress{w: a.stderr, terminal: a.terminal, every: 10 * time.Second}
	if p.terminal {
		p.every = 100 * time.Millisecond
	}
	p.last = time.Now()
	return p
}

// bar draws a share of 0 to 1.
func bar(share float64) string {
	const width = 24
	n := int(min(max(share, 0), 1) * width)
	return "[" + strings.Repeat("█", n) + strings.Repeat("·", width-n) + "]"
}

// show draws the line that text makes, when it is time for one.
func (p *progress) show(share float64, text func() string) {
	now := time.Now()
	if now.Sub(p.last) < p.every {
		return
	}
	p.last = now
	if !p.terminal {
		fmt.Fprintf(p.w, "%3.0f %%  %s\n", 100*share, text())
		return
	}
	line := fmt.Sprintf("%s %3.0f %%  %s", bar(share), 100*share, text())
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// clear removes a drawn line.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}

// left formats a remaining time.
func left(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	return fmt.Sprintf("%d:%02d left", int(d.Minutes()), int(d.Seconds())%60)
}
