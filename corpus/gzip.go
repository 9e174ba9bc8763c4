package corpus

import (
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMembers unpacks a gzip file as gzip(1) does: its members one after the
// other, then zero bytes, with which tapes and some writers fill a block. Anything
// else behind the last member is ErrTrailing.
type gzipMembers struct {
	in  *counter
	z   *gzip.Reader
	err error // met between members; it stays
}

func newGzipMembers(in *counter) (*gzipMembers, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gzipMembers{in: in, z: z}, nil
}

// Read gives unpacked bytes, across members.
func (m *gzipMembers) Read(p []byte) (int, error) {
	for m.err == nil {
		n, err := m.z.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 { // the end of the member is met again
			return n, nil
		}
		m.err = m.next()
	}
	return 0, m.err
}

// next moves to the next member: io.EOF when there is none.
func (m *gzipMembers) next() error {
	// At the end of a member the decompressor has read that far and no further.
	head, err := m.in.buf.Peek(2)
	switch {
	case len(head) == 0:
		return err
	case head[0] == 0x1f && (len(head) == 1 || head[1] == 0x8b):
		if err := m.z.Reset(m.in); err != nil {
			if err == io.EOF { // it begins and does not go on
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		m.z.Multistream(false)
		return nil
	case head[0] != 0:
		return ErrTrailing
	}
	for {
		b, err := m.in.buf.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return ErrTrailing
		}
		m.in.n++
	}
}

func (m *gzipMembers) close() { m.z.Close() }
