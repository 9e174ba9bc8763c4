package collection

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"encbench/corpus"
)

// maxLine is the longest line of queries or judgements that is read, in bytes.
const maxLine = 256 << 20

// eachLine calls visit with each line of a file that is not blank, without its line
// break and byte order mark, and its number from 1. The line is valid during the
// call. An error of visit ends the reading and gets file and line in front.
func eachLine(path string, visit func(line []byte, number int) error) (err error) {
	f, err := corpus.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 256<<10)
	var long []byte
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		for long = long[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = r.ReadSlice('\n') {
			if long = append(long, line...); len(long) > maxLine {
				return fmt.Errorf("%s:%d: a line of more than %d bytes", path, number, maxLine)
			}
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if err != nil && err != io.EOF {
			return err
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(bytes.TrimSpace(line)) > 0 {
			if err := visit(line, number); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// object is a line of JSON lines.
type object map[string]json.RawMessage

// checkUTF8 refuses a line that is not UTF-8.
func checkUTF8(line []byte) error {
	if utf8.Valid(line) {
		return nil
	}
	at := 0
	for r, n := utf8.DecodeRune(line); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(line[at:]) {
		at += n
	}
	return fmt.Errorf("not UTF-8 at byte %d; convert the file to UTF-8", at+1)
}

// parseObject reads one line of JSON lines.
func parseObject(line []byte) (object, error) {
	if err := checkUTF8(line); err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(line, &o); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("not JSON at byte %d: %w", syntax.Offset, err)
		}
		return nil, errors.New("expected a JSON object")
	}
	return o, nil
}

// field gives the first of the fields that is there and not null.
func (o object) field(names []string) (name string, value json.RawMessage) {
	for _, n := range names {
		if v, ok := o[n]; ok && string(v) != "null" {
			return n, v
		}
	}
	return "", nil
}

// id reads an id: a string, or a number, whose text is kept as written.
func (o object) id(names []string) (string, error) {
	n, v := o.field(names)
	if n == "" {
		return "", fmt.Errorf("no id (one of %s)", strings.Join(names, ", "))
	}
	return idOf(n, v)
}

func idOf(name string, v json.RawMessage) (string, error) {
	switch {
	case v[0] == '"':
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return "", err
		}
		if s == "" {
			return "", fmt.Errorf("%s is empty", name)
		}
		return s, nil
	case v[0] == '-' || '0' <= v[0] && v[0] <= '9':
		return string(v), nil
	}
	return "", fmt.Errorf("%s is neither a string nor a number: %.40s", name, v)
}

// text reads a text; ok says whether there is one.
func (o object) text(names []string) (text string, ok bool, err error) {
	n, v := o.field(names)
	if n == "" {
		return "", false, nil
	}
	if v[0] != '"' {
		return "", false, fmt.Errorf("%s is not a string: %.40s", n, v)
	}
	err = json.Unmarshal(v, &text)
	return text, true, err
}

// peek gives the beginning of a file, unpacked, without byte order mark and the
// white space around it.
func peek(path string) ([]byte, error) {
	f, err := corpus.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))), err
}

// isDir says whether path is a folder.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
