package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Limits on compressed input, so that a small file cannot fill memory or run on
// without end.
const (
	// MaxExpand is how many times its compressed size a stream may grow, once it
	// has given MaxFree bytes. Text grows 3 to 20 times.
	MaxExpand = 200
	// MaxFree is the output that is allowed whatever the ratio.
	MaxFree = 64 << 20
	// MaxWindow is the largest zstd window, which is the memory a stream may come to
	// use: that of `zstd --long=31`, the largest that zstd writes.
	MaxWindow = 2 << 30
)

// Open opens path for reading and unpacks gzip and zstd, recognised by their
// first bytes whatever the name says; "-" is standard input. Other compressed
// formats are refused by name. A damaged or truncated stream fails with
// ErrCorrupt, one that expands beyond MaxExpand or MaxWindow with ErrBomb, a gzip
// stream with something other than zero bytes behind it with ErrTrailing; the
// errors name the file and the place. The caller closes the result, which closes
// the file.
func Open(path string) (io.ReadCloser, error) {
	if path == "-" {
		r, err := unpack(standardInput, os.Stdin)
		if err != nil {
			return nil, err
		}
		return &stream{Reader: r}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open input %s: it is a folder, a file is expected", path)
	}
	r, err := unpack(path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stream{Reader: r, file: f}, nil
}

// stream is an opened input.
type stream struct {
	io.Reader
	file io.Closer // nil for standard input
}

// Close frees the decompressor and closes the file.
func (s *stream) Close() error {
	if u, ok := s.Reader.(*unpacker); ok {
		u.close()
	}
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

// refused lists compressed formats that are told from text by a fixed beginning, and not read.
var refused = []struct{ name, magic string }{
	{"xz", "\xfd7zXZ\x00"}, {"lz4", "\x04\x22\x4d\x18"}, {"zip", "PK\x03\x04"}, {"7z", "7z\xbc\xaf\x27\x1c"},
}

// unpack gives the unpacked bytes of r; name stands in messages.
func unpack(name string, r io.Reader) (io.Reader, error) {
	in := &counter{buf: bufio.NewReaderSize(r, 256<<10)}
	head, err := in.buf.Peek(16)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	u := &unpacker{name: name, in: in}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		u.kind = "gzip"
		z, err := newGzipMembers(in)
		if err != nil {
			return nil, u.wrap(err)
		}
		u.out, u.close = z, z.close
		return u, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}): // skippable frame
		u.kind = "zstd"
		// One goroutine: the scanner's consumers already use every core.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxWindow))
		if err != nil {
			return nil, u.wrap(err)
		}
		u.out, u.close = z, z.Close
		return u, nil
	}
	if kind := refusedKind(head); kind != "" {
		return nil, fmt.Errorf("open input %s: it is compressed with %s; gzip, zstd and plain files are read", name, kind)
	}
	return in.buf, nil
}

// refusedKind names the compressed format of an input that is not read, "" for text.
func refusedKind(head []byte) string {
	if len(head) >= 10 && string(head[:3]) == "BZh" && string(head[4:10]) == "1AY&SY" {
		return "bzip2"
	}
	for _, f := range refused {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	return ""
}

// counter counts the compressed bytes handed to a decompressor. As it gives
// single bytes too, decompressors read no further than they need.
type counter struct {
	buf *bufio.Reader
	n   int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.buf.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.buf.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// unpacker is a decompressor under guard.
type unpacker struct {
	name, kind string
	in         *counter
	out        io.Reader
	n          int64 // unpacked bytes so far
	close      func()
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.out.Read(p)
	u.n += int64(n)
	if u.n > MaxFree && u.n/MaxExpand > u.in.n {
		return 0, fmt.Errorf("read %s: %w: %d bytes of %s have become %d, more than the limit of %d times; unpack it yourself if it is meant to",
			u.name, ErrBomb, u.in.n, u.kind, u.n, MaxExpand)
	}
	if err != nil && err != io.EOF {
		return n, u.wrap(err)
	}
	return n, err
}

// wrap names the file and the place of a decompressor's error.
func (u *unpacker) wrap(err error) error {
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("read %s: %w: %s at byte %d of the file wants a window larger than the limit of %s; compress it again with --long=31 or less",
			u.name, ErrBomb, u.kind, u.in.n, sizeText(MaxWindow))
	case errors.As(err, new(*os.PathError)):
		return fmt.Errorf("read %s: %w", u.name, err)
	case errors.Is(err, ErrTrailing):
		return fmt.Errorf("read %s: %w: the %s stream is complete at byte %d of the file, after %d unpacked bytes, and what follows is neither more of it nor zero bytes; cut it off, or get the file again",
			u.name, ErrTrailing, u.kind, u.in.n, u.n)
	}
	return fmt.Errorf("read %s: %w: %s at byte %d of the file, after %d unpacked bytes: %v", u.name, ErrCorrupt, u.kind, u.in.n, u.n, err)
}
