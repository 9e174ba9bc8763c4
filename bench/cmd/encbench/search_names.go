package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"encbench/metrics/ranking"
)

// names are identifiers of rows: those of a file, none of them twice, or row numbers
// when there are none.
type names struct {
	ids ranking.IDs
	any bool

	// seen is a table of 1 + identifier by hash, at most half full. A map of strings
	// took four times the memory, and there may be as many as rows of vectors.
	seen []uint32
	seed maphash.Seed
}

// maxNamesText bounds what identifiers take, which ranking.IDs counts in 32 bits.
const maxNamesText = 1<<32 - 1

// add appends an identifier, which must be a new one.
func (n *names) add(id []byte) error {
	if len(n.ids.Bytes)+len(id) > maxNamesText {
		return errors.New("identifiers of more than 4 GiB")
	}
	if 2*(n.ids.Len()+1) > len(n.seen) {
		n.grow()
	}
	at := n.slot(id)
	if earlier := n.seen[at]; earlier > 0 {
		return fmt.Errorf("identifier %.100q is that of row %d too; give every row its own", id, earlier-1)
	}
	n.ids.Append(id)
	n.seen[at] = uint32(n.ids.Len())
	return nil
}

// slot gives the place of an identifier, or the free one where it belongs.
func (n *names) slot(id []byte) uint64 {
	mask := uint64(len(n.seen) - 1)
	at := maphash.Bytes(n.seed, id) & mask
	for n.seen[at] > 0 && !bytes.Equal(n.ids.At(int(n.seen[at]-1)), id) {
		at = (at + 1) & mask
	}
	return at
}

func (n *names) grow() {
	if len(n.seen) == 0 {
		n.seed = maphash.MakeSeed()
	}
	n.seen = make([]uint32, max(1<<10, 2*len(n.seen)))
	for i := range n.ids.Len() {
		n.seen[n.slot(n.ids.At(i))] = uint32(i + 1)
	}
}

// at gives the identifier of a row, or its number, in buf.
func (n *names) at(buf []byte, row int64) []byte {
	if n.any {
		return n.ids.At(int(row))
	}
	return strconv.AppendInt(buf[:0], row, 10)
}

// readNames reads one identifier a line.
func (a *app) readNames(path string) (n names, err error) {
	if path == "" {
		return n, nil
	}
	r, name, err := a.openText(path)
	if err != nil {
		return n, err
	}
	defer r.Close()
	n.any = true
	in := bufio.NewReaderSize(r, 64<<10)
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return n, fmt.Errorf("%s:%d: an identifier of more than %d bytes", name, line, len(text)-1)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // or it would be of the first identifier
		}
		if err != nil && len(text) == 0 {
			n.seen = nil
			return n, nil
		}
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
		if len(text) == 0 {
			return n, fmt.Errorf("%s:%d: an empty line, want an identifier", name, line)
		}
		if at := bytes.IndexAny(text, " \t"); at >= 0 {
			return n, fmt.Errorf("%s:%d:%d: white space in identifier %.100q, want one identifier a line", name, line, at+1, text)
		}
		if err := n.add(text); err != nil {
			return n, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}
