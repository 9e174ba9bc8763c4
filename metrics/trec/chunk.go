package trec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// chunkSize is how much text a block takes. Note: with blocks of 4 MiB the text
// leaves the second-level cache between its reading and its parsing; below 256 KiB
// the border between blocks costs more.
const chunkSize = 1 << 20

// headBytes is how much is read before the format is told.
const headBytes = 4 << 10

// padding is readable behind every chunk, so that eight bytes may be loaded at its
// last byte.
const padding = 16

// chunker cuts a text into chunks of whole lines.
type chunker struct {
	in      io.Reader
	name    string
	carry   []byte // read and not yet given
	line    int    // number of the next line, from 1
	marks   int    // byte order marks removed
	eof     bool
	whole   bool // cut only where the first column changes
	comment bool
}

// begin reads the first bytes, removes a byte order mark, and gives the first byte
// that is no white space, 0 where none is near.
func (c *chunker) begin() (first byte, err error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(c.in, head)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		c.eof = true
	case err != nil:
		return 0, c.broken(err)
	}
	head = head[:n]
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		head = head[len(byteOrderMark):]
		c.marks++
	} else if other := otherMark(head); other != "" {
		return 0, &FormatError{c.name, 1, 1, utf8Expected(other)}
	}
	c.carry = head
	if text := bytes.TrimLeft(head, " \t\r\n"); len(text) > 0 {
		first = text[0]
	}
	return first, nil
}

// broken names the file of a failed read, unless the error does.
func (c *chunker) broken(err error) error {
	if strings.Contains(err.Error(), c.name) {
		return err
	}
	return fmt.Errorf("read %s: %w", c.name, err)
}

// next fills buf, which it may replace by a larger one, with whole lines, the last
// one ended; line is the number of the first. io.EOF is the end.
func (c *chunker) next(buf []byte) (text []byte, line int, err error) {
	buf = buf[:cap(buf)]
	size := chunkSize
	if c.eof { // a small file
		size = len(c.carry) + 1
	}
	if len(buf) < size+padding {
		buf = make([]byte, size+padding)
	}
	for len(buf) < len(c.carry)+padding+1 {
		buf = make([]byte, 2*len(buf))
	}
	n := copy(buf, c.carry)
	c.carry = c.carry[:0]
	for {
		for n < len(buf)-padding && !c.eof {
			m, err := c.in.Read(buf[n : len(buf)-padding])
			n += m
			switch {
			case err == io.EOF:
				c.eof = true
			case err != nil:
				return nil, 0, c.broken(err)
			}
		}
		if c.eof {
			if n == 0 {
				return nil, 0, io.EOF
			}
			if buf[n-1] != '\n' {
				buf[n] = '\n' // padding has room
				n++
			}
			return c.give(buf, n, n)
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if n-end > MaxLine {
			return nil, 0, &FormatError{c.name, c.line + bytes.Count(buf[:end], []byte{'\n'}), 0, longLine.text}
		}
		if c.whole {
			end = c.border(buf[:end])
		}
		if end > 0 {
			return c.give(buf, end, n)
		}
		if n > maxText {
			return nil, 0, &FormatError{c.name, c.line, 0, fmt.Sprintf("the rows of one query take more than %d bytes", maxText)}
		}
		larger := make([]byte, 2*len(buf))
		copy(larger, buf[:n])
		buf = larger
	}
}

// give hands out buf[:end] and keeps buf[end:n].
func (c *chunker) give(buf []byte, end, n int) (text []byte, line int, err error) {
	c.carry = append(c.carry, buf[end:n]...)
	line = c.line
	c.line += bytes.Count(buf[:end], []byte{'\n'})
	clear(buf[end : end+padding])
	return buf[:end], line, nil
}

// border gives the place in whole lines of text where the last query's rows begin,
// 0 where that is the first row.
func (c *chunker) border(text []byte) int {
	var last []byte
	border := 0
	for end := len(text); end > 0; {
		from := bytes.LastIndexByte(text[:end-1], '\n') + 1
		query := c.firstField(text[from : end-1])
		switch {
		case len(query) == 0: // blank: belongs to either side
		case last == nil:
			last = query
		case !bytes.Equal(query, last):
			return border
		}
		border, end = from, from
	}
	return 0
}

// firstField gives the first column of a line, nothing for a line without a row.
func (c *chunker) firstField(line []byte) []byte {
	from := 0
	for from < len(line) && isBlank(line[from]) {
		from++
	}
	to := from
	for to < len(line) && !isBlank(line[to]) && line[to] != '\r' {
		to++
	}
	if c.comment && from == 0 && to > 0 && line[0] == '#' {
		return nil
	}
	return line[from:to]
}
