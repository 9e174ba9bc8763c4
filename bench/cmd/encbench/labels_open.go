package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"encbench/bench/bm25"
	"encbench/bench/collection"
	"encbench/bench/inhouse"
	"encbench/corpus"
)

// openUnlabelled opens a collection of which also queries without a label are
// wanted: a folder's corpus.jsonl and queries.jsonl, and its labels where they are
// asked for; anything else as collections are. Its hash is then over documents and
// queries alone, so that labels do not change it.
func (a *app) openUnlabelled(ctx context.Context, dir string, labels bool) (*collection.Collection, error) {
	docs, queries := partOf(dir, "corpus.jsonl"), partOf(dir, "queries.jsonl")
	if docs == "" || queries == "" {
		return a.openCollection(ctx, dir, collection.Options{})
	}
	c := &collection.Collection{Name: filepath.Base(filepath.Clean(dir)), Path: dir}
	if abs, err := filepath.Abs(dir); err == nil {
		c.Name = filepath.Base(abs)
	}
	f, err := corpus.Open(queries)
	if err != nil {
		return nil, err
	}
	c.Queries, err = inhouse.ReadQueries(f, queries)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	c.Open = func() (corpus.Source, error) {
		return corpus.OpenCorpus(docs, corpus.Options{Format: "jsonl", Strict: true})
	}
	if c.SHA256, err = hashUnlabelled(ctx, c); err != nil {
		return nil, err
	}
	c.Qrels, err = readLabels(dir, labels)
	return c, err
}

// partOf finds a file of a folder, plain or compressed; "" where there is none.
func partOf(dir, name string) string {
	for _, ext := range []string{"", ".gz", ".zst"} {
		path := filepath.Join(dir, name+ext)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// hashUnlabelled is the hash of documents and queries: sha256 over that of the
// documents (corpus.Manifest) and each query's id and text, lengths before them.
func hashUnlabelled(ctx context.Context, c *collection.Collection) (string, error) {
	src, err := c.Open()
	if err != nil {
		return "", err
	}
	defer src.Close()
	m, err := corpus.Scan(src, c.Name, "", func(corpus.Doc) error { return ctx.Err() })
	if err != nil {
		return "", fmt.Errorf("read documents of %s: %w", c.Name, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "encbench unlabelled 1\x00%s", m.SHA256)
	for _, q := range c.Queries {
		fmt.Fprintf(h, "%d:%s%d:%s", len(q.ID), q.ID, len(q.Text), q.Text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// poolBM25 adds the first documents that BM25 finds for every query to the pool,
// and gives the name of the method.
func poolBM25(ctx context.Context, c *collection.Collection, depth int, pool *inhouse.Pool) (string, error) {
	src, err := c.Open()
	if err != nil {
		return "", err
	}
	defer src.Close()
	index, err := bm25.Build(src, bm25.Options{})
	if err != nil {
		return "", err
	}
	queries := make([]string, len(c.Queries))
	for i := range queries {
		queries[i] = c.Queries[i].Text
	}
	return index.Name(), index.SearchAll(ctx, queries, depth, func(q int, hits []bm25.Hit) error {
		docs := make([]string, len(hits))
		for i, h := range hits {
			docs[i] = string(index.ID(h.Doc))
		}
		pool.Add(c.Queries[q].ID, docs)
		return nil
	})
}
