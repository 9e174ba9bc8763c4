package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// TestModelFacts prints the directories that have more to say than MiniLM.
func TestModelFacts(t *testing.T) {
	const testdata = "../../../engine/model/testdata"
	synthetic := modeltest.Damage(t, filepath.Join(testdata, "micro-nomic-mean"), modeltest.Fault{Config: map[string]any{
		"encbench_synthetic": map[string]any{"shape": "nomic", "seed": 7, "tokenizer": "stand-in"}}})
	modeltest.WriteJSON(t, filepath.Join(synthetic, "config_sentence_transformers.json"), map[string]any{
		"prompts": map[string]any{"query": "search_query: ", "document": "search_document: "}, "truncate_dim": 8})
	modeltest.WriteJSON(t, filepath.Join(synthetic, "sentence_bert_config.json"), map[string]any{"max_seq_length": 40})
	var b bytes.Buffer
	for _, dir := range []string{
		filepath.Join(testdata, "tiny-bert-cls"), filepath.Join(testdata, "micro-bert-dense"),
		filepath.Join(testdata, "micro-modernbert-reranker"), filepath.Join(testdata, "micro-mpnet-reranker"),
		filepath.Join(testdata, "micro-qwen3-last"), synthetic,
	} {
		m, err := model.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, m.Name)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, f := range modelFacts(m) {
			fmt.Fprintf(w, "%s\t%s\n", f.name, f.text)
		}
		w.Flush()
		fmt.Fprintln(&b)
		m.Close()
	}
	if err := listFamilies(&b); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "model.txt")
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("differs from %s:\n%s", golden, got)
	}
}

func TestModelPoolingFlag(t *testing.T) {
	for _, args := range [][]string{{"model", "show"}, {"model", "import"}, {"model", "verify"}} {
		r := encbench("", append(args, "--pooling", "median")...)
		if want := "--pooling \"median\": mean, cls, last or max"; r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: exit %d, %s", args, r.code, r.stderr)
		}
	}
}
