package peers

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
)

// IndexConfig is what a flat index of faiss is made from.
type IndexConfig struct {
	Rows    string `json:"rows"`    // .npy file, float32 [rows, dim]
	Queries string `json:"queries"` // .npy file, float32 [queries, dim]
	Threads int    `json:"threads"`
}

// Indexed is the answer to Index.
type Indexed struct {
	IndexS  float64 `json:"index_s"`
	Rows    int     `json:"rows"`
	Dim     int     `json:"dim"`
	Version string  `json:"version"`
	SIMD    string  `json:"simd"` // instruction level of faiss's own kernels, as it reports it
	Threads int     `json:"threads"`
	BLAS    []BLAS  `json:"blas"`
}

// BLAS is a library of linear algebra that a process has loaded.
type BLAS struct {
	Library string `json:"library"`
	Kernels string `json:"kernels"` // the processor that its kernels are for, as it reports it
	Version string `json:"version"`
	Threads int    `json:"threads"`
}

// String names the kernels in use.
func (i Indexed) String() string {
	s := "faiss " + i.SIMD
	for _, b := range i.BLAS {
		s += fmt.Sprintf(", OpenBLAS %s %s", b.Version, b.Kernels)
	}
	return s
}

// Query is one search of the index.
type Query struct {
	Queries  int    `json:"queries"`   // the first of those that Index named
	K        int    `json:"k"`         //
	Single   bool   `json:"single"`    // a call for each query instead of one for all
	RowBlock int    `json:"row_block"` // rows a matrix product; 1024 is faiss's default
	Out      string `json:"out"`       // file for the row numbers, "" for none
}

// Index reads rows and queries and fills a flat inner-product index of faiss.
func (w *Worker) Index(ctx context.Context, c IndexConfig) (Indexed, error) {
	var a Indexed
	w.peer = "faiss"
	err := w.ask(ctx, "index", c, &a)
	return a, err
}

// Search makes one timed search: calls of the index alone, from float32 queries in
// memory to row numbers and scores in memory.
func (w *Worker) Search(ctx context.Context, q Query) (Run, error) {
	var a Run
	err := w.ask(ctx, "search", q, &a)
	if err == nil && !(a.WallS > 0) {
		return a, fmt.Errorf("peer %s: search: wall time is %v s", orUnknown(w.peer), a.WallS)
	}
	return a, err
}

// ReadRows reads the row numbers that Search wrote: queries lists of k.
func ReadRows(path string, queries, k int) ([]int64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("peer's row numbers: %w", err)
	}
	if len(raw) != 8*queries*k {
		return nil, fmt.Errorf("peer's row numbers: %s has %d bytes, expected %d for %d queries at k %d", path, len(raw), 8*queries*k, queries, k)
	}
	rows := make([]int64, queries*k)
	for i := range rows {
		rows[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return rows, nil
}
