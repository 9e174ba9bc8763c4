package corpus

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of opening.
var (
	// ErrFormat: the format is unknown, or the content is of none that can be read.
	ErrFormat = errors.New("unknown corpus format")
	// ErrUnknownCorpus: the name is neither a file nor an embedded corpus.
	ErrUnknownCorpus = errors.New("unknown corpus")
	// ErrNoToolchain: gostd was asked for where no Go toolchain is.
	ErrNoToolchain = errors.New("no Go toolchain")
)

// Errors of reading.
var (
	// ErrCorrupt: a compressed stream is damaged or cut short.
	ErrCorrupt = errors.New("compressed stream is damaged or cut short")
	// ErrTrailing: a complete gzip stream is followed by something else.
	ErrTrailing = errors.New("trailing garbage")
	// ErrBomb: a compressed stream grows beyond MaxExpand or wants more memory than MaxWindow.
	ErrBomb = errors.New("decompression bomb guard")
)

// Errors of building.
var (
	// ErrWheel: a file is not the botocore wheel, or its API description is not as expected.
	ErrWheel = errors.New("not a usable botocore wheel")
)

// LineError is one broken line of an input. Line counts from 1; it is 0 where a
// whole file is meant.
type LineError struct {
	Path string
	Line int64
	What string
}

// Error gives "path:line: what".
func (e *LineError) Error() string {
	switch {
	case e.Line == 0 && strings.Contains(e.What, e.Path): // errors of the system name the file
		return e.What
	case e.Line == 0:
		return e.Path + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.What)
}

// sizeText writes a number of bytes as people read it, exact for whole units.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
