package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"encbench/bench/eval"
	"encbench/engine"
	"encbench/engine/vectors"
)

// vectorFiles are the vectors of a collection on their way to two files, which take
// their names only once the collection is done.
type vectorFiles struct {
	number    int // of the input
	docs, ask *vectorFile
}

// vectorFile is one of them.
type vectorFile struct {
	out  *outFile
	file *os.File
	to   *vectors.Writer
}

// isVectors says whether a file may be an earlier one of --vectors-out.
func isVectors(head []byte) bool { return bytes.HasPrefix(head, []byte("\x89EBVEC\r\n")) }

// vectorNames are where the vectors of a collection go, documents first.
func (e *evalRun) vectorNames(collection string) []string {
	prefix := e.vectorsOut
	if len(e.data) > 1 {
		prefix += "-" + safeName(collection)
	}
	return []string{prefix + "-docs.ebvec", prefix + "-queries.ebvec"}
}

// checkVectorFiles looks at the places of all vectors before the work.
func (e *evalRun) checkVectorFiles(context.Context) error {
	if e.vectorsOut == "" {
		return nil
	}
	taken := map[string]string{}
	for _, in := range e.inputs {
		if in.Collection == nil {
			continue
		}
		for _, path := range e.vectorNames(in.Name) {
			if other, ok := taken[path]; ok {
				return usagef("--vectors-out: the vectors of both %s and %s would go to %s; evaluate them one after the other", other, in.Name, path)
			}
			taken[path] = in.Name
			out, err := openOutOf("--vectors-out", path, isVectors, e.data...)
			if err != nil {
				return err
			}
			if e.out.path != "" && samePlace(out.path, e.out.path) {
				return usagef("--vectors-out and --out both name %s; give the record a name of its own", path)
			}
		}
	}
	return nil
}

// openVectors opens the files for the vectors of a collection and notes them there.
func (e *evalRun) openVectors(number int, c *eval.Collection) (eval.VectorWriter, error) {
	p := e.protocol()
	extra, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	f := &vectorFiles{number: number}
	e.vectors = append(e.vectors, f)
	names := e.vectorNames(c.Name)
	for i, to := range []**vectorFile{&f.docs, &f.ask} {
		out, err := openOutOf("--vectors-out", names[i], isVectors, e.data...)
		if err != nil {
			return nil, errors.Join(err, f.shut())
		}
		file, err := os.Create(out.partial())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--vectors-out: %w", err), f.shut())
		}
		*to = &vectorFile{out: out, file: file}
		(*to).to, err = vectors.NewWriter(file, vectors.Header{
			Dim: p.Dim, Type: vectors.TypeName(engine.F32), IDs: true, Model: e.model.label(), ModelSHA256: e.model.facts.SHA256,
			Corpus: c.Name, CorpusSHA256: c.SHA256, Notes: []string{[]string{"documents", "queries"}[i]}, Extra: extra,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--vectors-out: %w", err), f.shut())
		}
	}
	c.Vectors = names
	return f, nil
}

// Documents adds rows of documents.
func (f *vectorFiles) Documents(r engine.Rows, id func(i int) []byte) error {
	return f.docs.to.Write(r, id)
}

// Queries adds rows of queries.
func (f *vectorFiles) Queries(r engine.Rows, id func(i int) []byte) error {
	return f.ask.to.Write(r, id)
}

// Close completes the partial files.
func (f *vectorFiles) Close() error {
	return errors.Join(f.docs.to.Close(), f.ask.to.Close(), f.shut())
}

// shut closes what is open.
func (f *vectorFiles) shut() error {
	var errs []error
	for _, v := range []*vectorFile{f.docs, f.ask} {
		if v != nil {
			errs = append(errs, v.file.Close())
		}
	}
	return errors.Join(errs...)
}

// settleVectors gives the files of collections that are done their names and removes
// the others.
func (e *evalRun) settleVectors(r *eval.Record) error {
	var errs []error
	for _, f := range e.vectors {
		kept := r != nil && f.number < len(r.Collections) && r.Collections[f.number].Error == ""
		for _, v := range []*vectorFile{f.docs, f.ask} {
			switch {
			case v == nil:
			case kept:
				errs = append(errs, v.out.commit())
			default:
				os.Remove(v.out.partial())
			}
		}
	}
	return errors.Join(errs...)
}
