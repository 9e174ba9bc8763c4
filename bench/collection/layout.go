package collection

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Layouts that Open tells apart, in the order in which it looks for them. Every
// file may be compressed (.gz, .zst).
var Layouts = []string{
	LayoutMTRAGUN, LayoutSMART, LayoutTREC, LayoutParts, LayoutLabelled, LayoutFile,
}

// The layouts. Parts are found by name, in the folder itself or one below.
const (
	// LayoutMTRAGUN is MTRAG-UN's reference.jsonl with qrels/*.tsv: the documents are
	// the union of the contexts, a closed pool.
	LayoutMTRAGUN = "mtrag-un"
	// LayoutSMART is a file of documents, one of queries (*.qry) and one of
	// judgements, the first two in records of .I and .W: Cranfield, CISI, CACM.
	LayoutSMART = "smart"
	// LayoutTREC is a file of <DOC>s, one of <top>s, and qrels.
	LayoutTREC = "trec"
	// LayoutParts is documents, queries and judgements in tables of their own, JSON
	// lines or TSV: BEIR, MTEB's and COIR's configurations, MS MARCO, MIRACL,
	// LongEmbed, IBM's table sets, MT-RAG, and folders of one's own. One
	// collection a folder: of several subsets or tasks each needs its own.
	LayoutParts = "parts"
	// LayoutLabelled is documents, and queries that bring their labels: MAIR, MLDR,
	// MIRACL's hub rows, and folders of one's own.
	LayoutLabelled = "labelled"
	// LayoutFile is one file of JSON lines, each a document with the queries that
	// it answers: techdocs-qa, and files of one's own.
	LayoutFile = "file"
)

// recognise finds the layout at path and reads its queries and judgements.
func recognise(path string, opt Options) (*raw, error) {
	if !isDir(path) {
		return labelledFile(path, opt)
	}
	l, err := list(path)
	if err != nil {
		return nil, err
	}
	for _, layout := range []func(*listing, Options) (*raw, error){mtragUN, smart, trecFiles, tables} {
		if r, err := layout(l, opt); r != nil || err != nil {
			return r, err
		}
	}
	return nil, l.unknown()
}

// listing is the files of a folder and of the folders in it.
type listing struct {
	root  string
	files []string // relative, with slashes, in natural order
	heads map[string][]byte
	fault error // of the first file whose beginning could not be read
}

func list(root string) (*listing, error) {
	l := &listing{root: root, heads: map[string][]byte{}}
	read := func(rel string) ([]os.DirEntry, error) {
		entries, err := os.ReadDir(filepath.Join(root, rel))
		return slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }), bare(err)
	}
	top, err := read("")
	if err != nil {
		return nil, err
	}
	for _, e := range top {
		if !isDir(filepath.Join(root, e.Name())) {
			if err := l.add(e.Name()); err != nil {
				return nil, err
			}
			continue
		}
		if ext := filepath.Ext(plain(e.Name())); (ext == ".jsonl" || ext == ".tsv") && isPart(e.Name()) {
			return nil, fmt.Errorf("%s: %w: it is a folder, a file is expected", filepath.Join(root, e.Name()), ErrLayout)
		}
		inner, err := read(e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(root, e.Name()), err)
		}
		for _, f := range inner {
			if err := l.add(e.Name() + "/" + f.Name()); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(l.files, natural)
	return l, nil
}

// add lists a regular file. Anything else is passed over, unless it has the name of
// a part.
func (l *listing) add(file string) error {
	info, err := os.Stat(l.path(file))
	switch {
	case err == nil && info.Mode().IsRegular():
		l.files = append(l.files, file)
	case !isPart(file):
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %w: it is a link to a file that is not there", l.path(file), ErrLayout)
	case err != nil:
		return fmt.Errorf("%s: %w", l.path(file), bare(err))
	case !info.IsDir():
		return fmt.Errorf("%s: %w: it is no regular file", l.path(file), ErrLayout)
	}
	return nil
}

// path gives the path of a listed file.
func (l *listing) path(file string) string { return filepath.Join(l.root, filepath.FromSlash(file)) }

// head gives the beginning of a listed file.
func (l *listing) head(file string) []byte {
	if h, ok := l.heads[file]; ok {
		return h
	}
	h, err := peek(l.path(file))
	if err != nil && l.fault == nil {
		l.fault = err
	}
	l.heads[file] = h
	return h
}

// begin lists the files at the top whose text begins like this.
func (l *listing) begin(with ...string) (files []string) {
	for _, f := range l.files {
		if strings.Contains(f, "/") || slices.Contains([]string{".jsonl", ".tsv", ".parquet"}, filepath.Ext(plain(f))) {
			continue
		}
		for _, w := range with {
			if h := l.head(f); len(h) >= len(w) && bytes.EqualFold(h[:len(w)], []byte(w)) {
				files = append(files, f)
				break
			}
		}
	}
	return files
}

// plain takes the extension of compression off a name. Those that are not read are
// among them: package corpus says so when it meets such a file.
func plain(name string) string {
	switch ext := filepath.Ext(name); ext {
	case ".gz", ".zst", ".bz2", ".xz", ".zip", ".lz4", ".7z":
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// unknown says what is missing from a folder that has no layout.
func (l *listing) unknown() error {
	for _, f := range l.files {
		if isParquet(f) {
			return parquet(f)
		}
	}
	if l.fault != nil {
		return fmt.Errorf("%w: %w", ErrLayout, l.fault)
	}
	return fmt.Errorf("%w: expected corpus.jsonl, queries.jsonl and qrels/test.tsv, or the files of MTEB, MS MARCO, MIRACL, MLDR, MAIR, LongEmbed, TREC or SMART; found %s",
		ErrLayout, firstFiles(l.files))
}

const parquetMagic = "PAR1"

// parquet refuses a file with the way to convert it: to its own name in JSON lines,
// under which it is found.
func parquet(file string) error {
	return fmt.Errorf("%w: %s is Parquet, which is not read; write each table as JSON lines, as in: python3 -c 'import pandas; pandas.read_parquet(\"%s\").to_json(\"%s.jsonl\", orient=\"records\", lines=True)'",
		ErrLayout, file, file, strings.TrimSuffix(file, ".parquet"))
}

// firstFiles names the first files of a folder.
func firstFiles(files []string) string {
	if len(files) == 0 {
		return "no file"
	}
	s := strings.Join(files[:min(len(files), 6)], ", ")
	if n := len(files) - 6; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// natural orders names as people do: runs of digits by their value.
func natural(a, b string) int {
	for a != "" && b != "" {
		i, j := digits(a), digits(b)
		if i > 0 && j > 0 {
			x, errX := strconv.ParseUint(a[:i], 10, 64)
			y, errY := strconv.ParseUint(b[:j], 10, 64)
			if errX == nil && errY == nil && x != y {
				if x < y {
					return -1
				}
				return 1
			}
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits gives the length of the run of digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
