//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

import (
	"errors"

	"gorgonia.org/cu"
)

// Findings looks for everything that a device needs, from the driver on, and says what is
// there, what is not, and what to do. It never fails; it stops where nothing further can
// be asked. Each device is opened once, which takes about a quarter of a second.
func Findings() []Finding {
	out, ok := driverFindings(State())
	if !ok {
		return out
	}
	n, err := cu.NumDevices()
	out = append(out, countFinding(n, wrap(err, -1, "count the devices")))
	for i := range n {
		info, err := infoOf(i)
		var free, total int64
		if err == nil && info.Supported() == nil {
			free, total, err = memoryOf(i)
		}
		out = append(out, deviceFinding(info, free, total, err))
	}
	return out
}

// memoryOf opens a device for as long as it takes to ask for its memory.
func memoryOf(ordinal int) (free, total int64, err error) {
	w, err := Open(ordinal)
	if err != nil {
		return 0, 0, err
	}
	err = w.Do(func(c *Context) (err error) {
		free, total, err = c.Memory()
		return err
	})
	return free, total, errors.Join(err, w.Close())
}
