//go:build !(cgo && amd64) || noasm

package cpu

// available lists the kernels of this build: those in Go.
func available() []*kernels { return []*kernels{plainKernels} }

// scan exists where there is a scanner.
type scan struct{}

func newScan(*scan, []asked, int, int, int, raising) (*scan, error) {
	panic("cpu: scan without kernels")
}

func (s *scan) list(int) ([]float32, []uint32, float32, bool) { return nil, nil, 0, false }

func (s *scan) err() error { return nil }

func (s *scan) free() {}
