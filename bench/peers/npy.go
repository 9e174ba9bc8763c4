package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
)

const (
	npyMagic     = "\x93NUMPY"
	npyMaxHeader = 1 << 20 // bytes; numpy writes 64 to 128 for a matrix
	npyMaxValues = 1 << 33 // 32 GiB of float32
)

var (
	npyDescr   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape'\s*:\s*\(([^)]*)\)`)
	npyMatrix  = regexp.MustCompile(`^\s*(\d+)\s*,\s*(\d+)\s*,?\s*$`)
)

// ReadNPY reads a matrix of little-endian float32 in row order from numpy's .npy
// format, versions 1 to 3 (numpy's format description). data has rows × cols
// values and belongs to the caller. The input must end with the matrix. Any
// other type, order or number of dimensions is an error that says what was found.
// Memory grows with what is really there, whatever the header claims.
func ReadNPY(r io.Reader) (rows, cols int, data []float32, err error) {
	header, err := npyHeader(r)
	if err != nil {
		return 0, 0, nil, fmt.Errorf("read .npy header: %w", err)
	}
	if rows, cols, err = npyParse(header); err != nil {
		return 0, 0, nil, fmt.Errorf("read .npy header %q: %w", header, err)
	}
	want := rows * cols
	buf := make([]byte, 4*min(want+1, 64<<10)) // one value more than there is, to see the end
	for {
		n, err := io.ReadFull(r, buf[:4*min(want-len(data)+1, len(buf)/4)])
		if n%4 != 0 || len(data)+n/4 > want {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
				return 0, 0, nil, fmt.Errorf("read .npy: %d × %d float32 are %d bytes, found %s", rows, cols, 4*want, npyFound(len(data), n, want))
			}
		}
		for i := 0; i+4 <= n; i += 4 {
			data = append(data, math.Float32frombits(binary.LittleEndian.Uint32(buf[i:])))
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return 0, 0, nil, fmt.Errorf("read .npy: after %d of %d values: %w", len(data), want, err)
		case len(data) < want:
			return 0, 0, nil, fmt.Errorf("read .npy: %d × %d float32 are %d bytes, found %d", rows, cols, 4*want, 4*len(data))
		default:
			return rows, cols, data, nil
		}
	}
}

func npyFound(have, n, want int) string {
	if have+(n+3)/4 > want {
		return "more"
	}
	return strconv.Itoa(4*have + n)
}

func npyHeader(r io.Reader) (string, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", fmt.Errorf("first 8 bytes: %w", err)
	}
	if string(head[:6]) != npyMagic {
		return "", fmt.Errorf("starts with %q, want %q", head[:6], npyMagic)
	}
	size := 2
	switch head[6] {
	case 1:
	case 2, 3:
		size = 4
	default:
		return "", fmt.Errorf("format version %d.%d, know 1 to 3", head[6], head[7])
	}
	var raw [4]byte
	if _, err := io.ReadFull(r, raw[:size]); err != nil {
		return "", fmt.Errorf("header length: %w", err)
	}
	n := binary.LittleEndian.Uint32(raw[:])
	if n > npyMaxHeader {
		return "", fmt.Errorf("header length %d is above the limit of %d", n, npyMaxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", fmt.Errorf("%d bytes of header: %w", n, err)
	}
	return string(text), nil
}

func npyParse(header string) (rows, cols int, err error) {
	descr, order, shape := npyDescr.FindStringSubmatch(header), npyFortran.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if descr == nil || order == nil || shape == nil {
		return 0, 0, errors.New("want descr, fortran_order and shape")
	}
	if descr[1] != "<f4" {
		return 0, 0, fmt.Errorf("element type %s, want <f4 (save with .astype(\"float32\"))", descr[1])
	}
	if order[1] != "False" {
		return 0, 0, errors.New("column order, want row order (save with numpy.ascontiguousarray)")
	}
	m := npyMatrix.FindStringSubmatch(shape[1])
	if m == nil {
		return 0, 0, fmt.Errorf("shape (%s), want two dimensions", shape[1])
	}
	r, err1 := strconv.ParseInt(m[1], 10, 64)
	c, err2 := strconv.ParseInt(m[2], 10, 64)
	if err1 != nil || err2 != nil || r > npyMaxValues || c > npyMaxValues || c > 0 && r > npyMaxValues/c {
		return 0, 0, fmt.Errorf("shape (%s) is above the limit of %d values", shape[1], int64(npyMaxValues))
	}
	return int(r), int(c), nil
}
