package env

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree reads small files of /proc and /sys, below a root that tests replace, and
// remembers which facts could not be read.
type tree struct {
	fs      fs.FS
	getenv  func(string) string
	unknown []string
}

func hostTree() *tree { return &tree{fs: os.DirFS("/"), getenv: os.Getenv} }

// read gives a file's text without surrounding space, "" when there is none.
// Paths are relative to the root.
func (t *tree) read(p string) string {
	b, err := fs.ReadFile(t.fs, p)
	if err != nil {
		return ""
	}
	// Some firmware strings end in zero bytes.
	return strings.Trim(string(b), " \t\n\x00")
}

func (t *tree) exists(p string) bool {
	_, err := fs.Stat(t.fs, p)
	return err == nil
}

// glob gives the paths that match, in numerical order of their digits.
func (t *tree) glob(pattern string) []string {
	m, err := fs.Glob(t.fs, pattern)
	if err != nil {
		return nil
	}
	slices.SortFunc(m, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return m
}

// entries gives the names in a directory.
func (t *tree) entries(dir string) []string {
	es, err := fs.ReadDir(t.fs, dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range es {
		out = append(out, path.Base(e.Name()))
	}
	return out
}

// int gives the first number of a file; ok is false when there is none.
func (t *tree) int(p string) (n int64, ok bool) { return firstInt(t.read(p)) }

func firstInt(s string) (int64, bool) {
	f := strings.Fields(s)
	if len(f) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(f[0], 0, 64)
	return n, err == nil
}

// miss notes a fact that could not be read, unless known.
func (t *tree) miss(name string, known bool) {
	if !known && !slices.Contains(t.unknown, name) {
		t.unknown = append(t.unknown, name)
	}
}

// text notes the fact when it is empty, and gives it.
func (t *tree) text(name, value string) string {
	t.miss(name, value != "")
	return value
}

// field gives the value of "key: value" or "key value" lines, as in
// /proc/self/status, /proc/meminfo and cpu.stat.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, key)
		if !ok || rest == "" || !strings.ContainsRune(": \t", rune(rest[0])) {
			continue
		}
		return strings.TrimSpace(strings.TrimLeft(rest, ": \t"))
	}
	return ""
}

func fieldInt(text, key string) (int64, bool) { return firstInt(field(text, key)) }

// parseList reads a list of numbers as the kernel writes it: "0-3,8".
func parseList(s string) []int {
	var out []int
	for _, part := range strings.Split(strings.TrimSpace(s), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return nil
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(hi); err != nil || b < a || b-a > 1<<16 {
				return nil
			}
		}
		for i := a; i <= b; i++ {
			out = append(out, i)
		}
	}
	return out
}

// formatList is the reverse of parseList, for a list in rising order.
func formatList(l []int) string {
	var parts []string
	for i := 0; i < len(l); {
		j := i
		for j+1 < len(l) && l[j+1] == l[j]+1 {
			j++
		}
		part := strconv.Itoa(l[i])
		if j > i {
			part += "-" + strconv.Itoa(l[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
