package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"encbench/bench"
	"encbench/bench/report"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/gpu"
	"encbench/engine/vectors"
)

// search is one `encbench search` on its way.
type search struct {
	*searchFlags
	app    *app
	bar    *progress
	opt    cpu.Options
	format string
	out    *outFile

	place    place
	searcher searchEngine
	docName  names
	rows     int64
	given    engine.Elem // of the documents' file

	read, append, build, search time.Duration
	queries                     int64
}

func (s *search) close() {
	s.bar.clear()
	if s.searcher != nil {
		s.searcher.Close()
	}
}

// openVectors opens a file of vectors.
func (a *app) openVectors(path, tensor string, rows int) (*vectors.Reader, io.Closer, error) {
	f, name, err := a.openText(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := vectors.NewReader(f, name, vectors.Options{Tensor: tensor, BlockRows: rows})
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, f, nil
}

// load reads the documents into a searcher.
func (s *search) load(ctx context.Context) error {
	mark := time.Now()
	given, err := s.app.readNames(s.docIDs)
	if err != nil {
		return fmt.Errorf("--doc-ids: %w", err)
	}
	r, file, err := s.app.openVectors(s.docs, s.docTensor, 0)
	if err != nil {
		return fmt.Errorf("--docs: %w", err)
	}
	defer file.Close()
	info := r.Info()
	s.opt.Dim, s.given = info.Dim, info.Type
	if s.place, err = placeOf(s.device); err != nil {
		return err
	}
	if s.searcher, err = s.open(info); err != nil {
		return err
	}
	own := info.Header != nil && info.Header.IDs && !given.any
	s.docName = given
	s.docName.any = given.any || own
	var rows engine.Rows
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.Next(&rows); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("--docs: %w", err)
		}
		if own {
			for i := range rows.N {
				if err := s.docName.add(r.ID(i)); err != nil {
					return fmt.Errorf("--docs %s: row %d: %w", s.docs, s.rows+int64(i), err)
				}
			}
		}
		begun := time.Now()
		if err := s.searcher.Append(ctx, s.rows, nil, rows); err != nil {
			return fmt.Errorf("--docs %s: %w", s.docs, err)
		}
		s.append += time.Since(begun)
		s.rows += int64(rows.N)
		s.bar.show(share(s.rows, info.Rows), func() string { return "reading documents: " + bench.Thousands(s.rows) + " rows" })
	}
	if given.any && int64(given.ids.Len()) != s.rows {
		return fmt.Errorf("--doc-ids %s has %s, --docs %s has %s", s.docIDs, count(given.ids.Len(), "identifier"), s.docs, count(s.rows, "row"))
	}
	if s.rows == 0 {
		return fmt.Errorf("--docs %s has no rows", s.docs)
	}
	s.read = time.Since(mark) - s.append
	mark = time.Now()
	if err := s.searcher.build(ctx); err != nil {
		return err
	}
	s.build = time.Since(mark)
	return nil
}

func share(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// queryRows is how many queries are searched at a time.
const queryRows = 1024

// answer searches for every query and writes the result.
func (s *search) answer(ctx context.Context) error {
	given, err := s.app.readNames(s.queryIDs)
	if err != nil {
		return fmt.Errorf("--query-ids: %w", err)
	}
	r, file, err := s.app.openVectors(s.searchFlags.queries, s.queryTensor, queryRows)
	if err != nil {
		return fmt.Errorf("--queries: %w", err)
	}
	defer file.Close()
	info := r.Info()
	if info.Dim != s.opt.Dim {
		return fmt.Errorf("--queries %s has vectors of %s, --docs %s of %d", s.searchFlags.queries, count(info.Dim, "value"), s.docs, s.opt.Dim)
	}
	k := int(min(int64(s.k), s.rows))
	sink, err := s.sink(k)
	if err != nil {
		return err
	}
	defer sink.discard()
	var rows engine.Rows
	var hits engine.Hits
	for {
		if err := r.Next(&rows); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("--queries: %w", err)
		}
		if given.any && s.queries+int64(rows.N) > int64(given.ids.Len()) {
			return fmt.Errorf("--query-ids %s has %s, --queries %s more rows", s.queryIDs, count(given.ids.Len(), "identifier"), s.searchFlags.queries)
		}
		begun := time.Now()
		if err := s.searcher.Search(ctx, rows, k, &hits); err != nil {
			return fmt.Errorf("--queries %s: rows from %d: %w", s.searchFlags.queries, s.queries, err)
		}
		s.search += time.Since(begun)
		s.searcher.count()
		base := s.queries
		id := func(buf []byte, q int) []byte {
			if own := r.ID(q); own != nil && !given.any {
				return own
			}
			return given.at(buf, base+int64(q))
		}
		if err := sink.write(&hits, id); err != nil {
			return err
		}
		s.queries += int64(rows.N)
		s.bar.show(share(s.queries, info.Rows), func() string { return "searching: " + bench.Thousands(s.queries) + " queries" })
	}
	if given.any && int64(given.ids.Len()) != s.queries {
		return fmt.Errorf("--query-ids %s has %s, --queries %s has %s", s.queryIDs, count(given.ids.Len(), "identifier"), s.searchFlags.queries, count(s.queries, "row"))
	}
	s.bar.clear()
	line, err := sink.commit(s)
	if err != nil {
		return err
	}
	s.report()
	if line != "" {
		_, err = fmt.Fprintln(s.app.stdout, line)
	}
	return err
}

// report says on standard error how it went.
func (s *search) report() {
	w := s.app.stderr
	stored := s.store
	if s.opt.Store == cpu.StoreGiven {
		stored = vectors.TypeName(s.given)
	}
	fmt.Fprintf(w, "documents  %s of %s kept as %s, %s each; metric %s\n", count(s.rows, "row"), count(s.opt.Dim, "value"), stored, count(s.searcher.rowBytes(), "byte"), s.opt.Metric)
	fmt.Fprintf(w, "loading    %s reading, %s appending, %s building codes\n", report.Seconds(s.read.Seconds()), report.Seconds(s.append.Seconds()), report.Seconds(s.build.Seconds()))
	fmt.Fprintf(w, "search     %s in %s", count(s.queries, "query"), report.Seconds(s.search.Seconds()))
	if s.search > 0 && s.queries > 0 {
		fmt.Fprintf(w, ": %s queries/s", report.Number(float64(s.queries)/s.search.Seconds()))
	}
	fmt.Fprintln(w)
	s.searcher.report(w)
	if s.place.note != "" {
		fmt.Fprintf(w, "device     cpu; %s\n", s.place.note)
	}
}

// open opens the search where --device says.
func (s *search) open(info vectors.Info) (searchEngine, error) {
	if len(s.place.cuda) == 0 {
		e, err := newCPUSearch(s.opt)
		if err != nil {
			return nil, &usageError{err}
		}
		return e, nil
	}
	opt := gpu.Options{Dim: s.opt.Dim, Metric: s.opt.Metric, Store: s.opt.Store, Rows: max(0, info.Rows), Queries: queryRows, K: s.k}
	return newDeviceSearch(s.place, opt, func(text string) { fmt.Fprintf(s.app.stderr, "encbench search: %s\n", text) })
}
