//go:build cgo && (amd64 || arm64)

package peak

// #cgo CFLAGS: -O2 -std=gnu11
// #include "peak.h"
import "C"

// paths lists the kernels of this build, widest first.
func paths() []path {
	var out []path
	for i := range int(C.encbench_peak_paths()) {
		p := C.int(i)
		out = append(out, path{
			name:  C.GoString(C.encbench_peak_name(p)),
			has:   C.encbench_peak_has(p) != 0,
			lanes: int(C.encbench_peak_lanes(p)),
			count: int(C.encbench_peak_count(p)),
			run: func(iterations int64, m, c float32) float64 {
				return float64(C.encbench_peak_run(p, C.int64_t(iterations), C.float(m), C.float(c)))
			},
		})
	}
	return out
}
