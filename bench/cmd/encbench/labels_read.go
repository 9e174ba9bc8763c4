package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"encbench/bench/inhouse"
	"encbench/corpus"
	"encbench/metrics/judge"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var labelsImportCommand = &command{
	name:  "labels import",
	args:  "SHEET…",
	short: "read filled sheets back as judgements",
	long: `
Reads one sheet or several of one key, for instance of two labellers, as TSV or CSV
(comma or semicolon). Unknown rows, rows given twice, labels outside the grades and
labels that contradict each other are refused with their lines, and nothing is
written. Rows without a label stay unjudged. Judgements that --out has already stay;
a label that differs from one of them is an error unless --replace is given. eval
reads what lies in the qrels folder of the collection: test.tsv, or another name that
--split then gives.`,
	examples: []example{
		{"encbench labels import filled.csv --key sheet.key.json --out mydata/qrels/test.tsv", "add the labels to the collection"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &labelsImport{}
		fs.StringVar(&f.key, "key", "", "`FILE` that labels export wrote beside the sheet")
		fs.StringVar(&f.out, "out", "", "`FILE` for the judgements: TSV with a header")
		fs.BoolVar(&f.replace, "replace", false, "let a new label take the place of a different old one")
		fs.BoolVar(&f.ignoreText, "ignore-text", false, "do not compare the texts of the sheet with those that were exported")
		return f
	},
}

type labelsImport struct {
	key, out            string
	replace, ignoreText bool
}

func (f *labelsImport) run(ctx context.Context, a *app, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("labels import takes one sheet or more, none given")
	case f.key == "":
		return usagef("--key: name the file that labels export wrote beside the sheet")
	case f.out == "":
		return usagef("--out: name the file for the judgements, such as DIR/qrels/test.tsv of the collection")
	}
	data, split := qrelsPlace(f.out)
	fresh, err := f.folder(data)
	if err != nil {
		return err
	}
	if !fresh {
		// Nothing is written yet; what is there may change until it is locked.
		if _, err := openOutOf("--out", f.out, isQrels, append(slices.Clone(args), f.key)...); err != nil {
			return err
		}
	}
	r, err := os.Open(f.key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	key, err := inhouse.ReadKey(r, f.key)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	m := inhouse.NewImport(key, !f.ignoreText)
	for _, path := range args {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, name, err := a.openText(path)
		if err != nil {
			return fmt.Errorf("sheet: %w", err)
		}
		if err := errors.Join(m.Read(in, name), in.Close()); err != nil {
			return err
		}
	}
	labels := m.Labels()
	if len(labels) == 0 {
		return fmt.Errorf("no row of %s has a label; nothing was written", strings.Join(args, ", "))
	}
	if fresh {
		if err := os.Mkdir(filepath.Dir(f.out), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("--out: %w", err)
		}
	}
	var n inhouse.Merged
	err = inhouse.Locked(ctx, filepath.Dir(f.out), func() (err error) {
		n, err = f.add(labels)
		return err
	})
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "sheets\t%d, %s of %d\n", m.Sheets, count(len(labels), "label"), len(key.Rows))
	fmt.Fprintf(t, "unjudged\t%s\n", count(m.Unjudged(), "row"))
	fmt.Fprintf(t, "grades\t%s\n", gradeCounts(key, labels))
	if m.Sheets > 1 {
		fmt.Fprintf(t, "given twice\t%s, all alike\n", count(m.Agreed, "label"))
	}
	fmt.Fprintf(t, "judgements\t%s: %d added, %d there already, %d replaced\n", f.out, n.Added, n.Same, n.Replaced)
	switch {
	case data == "":
		fmt.Fprintf(t, "use\tencbench score %s RUN; eval reads it as DIR/qrels/test.tsv of the collection\n", f.out)
	case split == "test":
		fmt.Fprintf(t, "use\tencbench eval --data %s\n", data)
	default:
		fmt.Fprintf(t, "use\tencbench eval --data %s --split %s\n", data, split)
	}
	return t.Flush()
}

// qrelsPlace gives the collection whose judgements a file is, and its split: the
// file lies in the qrels folder beside documents or queries. "" is none.
func qrelsPlace(path string) (data, split string) {
	dir, name := filepath.Split(filepath.Clean(path))
	if ext := filepath.Ext(name); filepath.Base(dir) == "qrels" && slices.Contains([]string{".tsv", ".txt", ".trec", ".qrels"}, ext) {
		data = filepath.Dir(filepath.Clean(dir))
		if partOf(data, "corpus.jsonl") != "" || partOf(data, "queries.jsonl") != "" {
			return data, strings.TrimSuffix(name, ext)
		}
	}
	return "", ""
}

// folder says whether the folder of --out has to be made: the qrels folder of a
// collection without labels. Any other has to be there.
func (f *labelsImport) folder(data string) (fresh bool, err error) {
	dir := filepath.Dir(f.out)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // openOut says what is wrong with it
	}
	if data == "" {
		return false, usagef("--out %s: there is no folder %s; name a file in the qrels folder of the collection, as in DIR/qrels/test.tsv", f.out, dir)
	}
	return true, nil
}

// add merges labels into the judgements of --out.
func (f *labelsImport) add(labels []inhouse.Label) (n inhouse.Merged, err error) {
	out, err := openOutOf("--out", f.out, isQrels)
	if err != nil {
		return n, err
	}
	var old *judge.Qrels
	if out.exist {
		if old, err = readQrelsFile(out.path); err != nil {
			return n, err
		}
	}
	merged, n, err := inhouse.Merge(old, labels, f.replace)
	if err != nil {
		return n, fmt.Errorf("add to %s: %w", f.out, err)
	}
	return n, out.replace(func(w io.Writer) error { return inhouse.WriteQrels(w, merged) })
}

// gradeCounts counts the labels of each grade.
func gradeCounts(key *inhouse.Key, labels []inhouse.Label) string {
	n := map[float64]int{}
	for _, l := range labels {
		n[l.Grade]++
	}
	var s []string
	for _, g := range key.Grades {
		s = append(s, fmt.Sprintf("%s: %d", strconv.FormatFloat(g, 'g', -1, 64), n[g]))
	}
	return strings.Join(s, ", ")
}

// isQrels says whether a file is judgements as we write them.
func isQrels(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r"))) == inhouse.QrelsHeader
}

func readQrelsFile(path string) (q *judge.Qrels, err error) {
	f, err := corpus.Open(path)
	if err != nil {
		return nil, fmt.Errorf("judgements: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return trec.ReadQrels(f, path)
}

// readLabels reads the judgements in the qrels folder of a collection as one set,
// none where there is no such folder or they are not wanted.
func readLabels(dir string, wanted bool) (*judge.Qrels, error) {
	all := &judge.Qrels{}
	if !wanted {
		return all, nil
	}
	entries, err := os.ReadDir(filepath.Join(dir, "qrels"))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("judgements: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, "qrels", e.Name())
		q, err := readQrelsFile(path)
		if err != nil {
			return nil, err
		}
		for j := range q.Len() {
			docs, grades := q.Judged(j)
			for i, d := range docs {
				if err := all.Add(q.Query(j), d, grades[i]); err != nil {
					return nil, fmt.Errorf("judgements %s: %w", path, err)
				}
			}
		}
	}
	return all, nil
}
