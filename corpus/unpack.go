package corpus

import "io"

// Unpack is Open for a stream that is open already: it unpacks gzip and zstd,
// recognised by their first bytes; name stands in messages. The caller closes the
// result, which leaves r open.
func Unpack(r io.Reader, name string) (io.ReadCloser, error) {
	u, err := unpack(name, r)
	if err != nil {
		return nil, err
	}
	return &stream{Reader: u}, nil
}
