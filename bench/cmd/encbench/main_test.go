package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/bench/assets"
	"encbench/bench/assets/assettest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result is what one run of the program printed.
type result struct {
	stdout, stderr string
	code           int
}

// encbench runs the program in-process.
func encbench(stdin string, args ...string) result {
	return encbenchContext(context.Background(), stdin, args...)
}

func encbenchContext(ctx context.Context, stdin string, args ...string) result {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, probe: 15 * time.Millisecond}
	code := a.run(ctx, args)
	return result{out.String(), errs.String(), code}
}

// needAll skips, or fails where assets are required, unless everything that speed
// needs is in the cache.
func needAll(tb testing.TB) {
	for _, name := range []string{"onnxruntime", "all-minilm-l6-v2", "techdocs"} {
		assettest.Need(tb, name)
	}
}

// Help and overview are goldens, standard output and standard error both.
func TestHelp(t *testing.T) {
	cases := [][]string{{}, {"--help"}, {"frob"}, {"model"}, {"speed", "--bogus"}, {"run", "--help"}, {"labels", "-h"}, {"help", "model"}, {"assets", "help"}, {"failures", "--help"}, {"corpus", "--help"}}
	for _, c := range commands() {
		cases = append(cases, append(strings.Fields(c.name), "--help"))
	}
	var got bytes.Buffer
	for _, args := range cases {
		r := encbench("", args...)
		fmt.Fprintf(&got, "$ encbench %s\n%s", strings.Join(args, " "), r.stdout)
		if r.stderr != "" {
			fmt.Fprintf(&got, "standard error:\n%s", r.stderr)
		}
		fmt.Fprintf(&got, "exit %d\n\n", r.code)
	}
	path := filepath.Join("testdata", "help.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("help differs from %s; run go test ./bench/cmd/encbench -run Help -update and read the difference\n%s", path, got.String())
	}
}

// Every example of every --help runs. Those of speed are cut short, in chunks too: the
// last of two equal flags counts.
func TestExamples(t *testing.T) {
	needAll(t)
	dir := t.TempDir()
	t.Chdir(dir)
	var docs strings.Builder
	for i := range 30 {
		fmt.Fprintf(&docs, "{\"_id\":\"%d\",\"text\":%q}\n", i, strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1+i*i%40))
	}
	if err := os.WriteFile("docs.jsonl", []byte(docs.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before.json", "after.json"} {
		r := encbench("", "speed", "--corpus", "docs.jsonl", "--chunk", "128", "--sample", "8", "--repeats", "2", "--min-time", "1ms", "--out", name)
		if r.code != 0 {
			t.Fatalf("speed --out %s: exit %d\n%s", name, r.code, r.stderr)
		}
	}
	writeLabelled(t)
	for _, name := range []string{"eval-before.json", "eval-after.json"} {
		if r := encbench("", "eval", "--data", "labelled.jsonl", "--out", name); r.code != 0 {
			t.Fatalf("eval --out %s: exit %d\n%s", name, r.code, r.stderr)
		}
	}
	if err := os.MkdirAll("docs/results", 0o755); err != nil {
		t.Fatal(err)
	}
	inhouseExamples(t)
	runExamples(t)
	scoreExamples(t)
	rerankExamples(t)
	for _, c := range commands() {
		if len(c.examples) == 0 {
			t.Errorf("%s has no example", c.name)
		}
		for _, e := range c.examples {
			line, stdin := e.line, ""
			if said, rest, ok := strings.Cut(line, " | "); ok {
				line = rest
				stdin = strings.Trim(strings.TrimPrefix(said, "echo "), "'") + "\n"
			}
			args := strings.Fields(line)
			if args[0] != "encbench" {
				t.Errorf("example %q does not call encbench", e.line)
				continue
			}
			args = args[1:]
			switch c.name {
			case "speed":
				args = append(args, "--chunk", "128", "--sample", "4", "--repeats", "1", "--min-time", "1ms")
			case "eval":
				args = append(args, "--docs", "30", "--queries", "4")
			case "latency":
				args = append(args, "--samples", "6", "--cold", "1")
			case "peers":
				continue // needs a Python environment of gigabytes: `make peers` runs it
			case "gpu-check":
				continue // needs a device: the tests of devices run it on the fake driver
			}
			if r := encbench(stdin, args...); r.code != 0 {
				t.Errorf("%s: exit %d\n%s", e.line, r.code, r.stderr)
			} else if r.stdout == "" && c.name != "results" {
				t.Errorf("%s printed nothing", e.line)
			}
		}
	}
}

func TestTokenizeLines(t *testing.T) {
	assettest.Need(t, "all-minilm-l6-v2")
	r := encbench("hello world\n\nA dog runs across the park.", "tokenize")
	want := "101 7592 2088 102\n101 102\n101 1037 3899 3216 2408 1996 2380 1012 102\n"
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit %d, printed %q, want %q\n%s", r.code, r.stdout, want, r.stderr)
	}
}

// The record has the fields that its readers rely on, and holds together.
func TestSpeedJSON(t *testing.T) {
	needAll(t)
	r := encbench("", "speed", "--sample", "8", "--repeats", "2", "--min-time", "1ms", "--format", "json")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.stdout), &top); err != nil {
		t.Fatalf("%v in\n%s", err, r.stdout)
	}
	for _, name := range strings.Fields("schema protocol model corpus env samples rates stages bottleneck padding overlap truncation mfu hfu accuracy warnings verdict") {
		if v, ok := top[name]; !ok || string(v) == "null" {
			t.Errorf("field %s is missing", name)
		}
	}
	var rates map[string]map[string]float64
	if err := json.Unmarshal(top["rates"], &rates); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("docs_per_s chunks_per_s tokens_per_s padded_tokens_per_s text_mb_per_s") {
		for _, part := range strings.Fields("median ci_low ci_high cv") {
			if _, ok := rates[name][part]; !ok {
				t.Errorf("rates.%s.%s is missing", name, part)
			}
		}
		if !(rates[name]["median"] > 0) {
			t.Errorf("rates.%s is %g", name, rates[name]["median"])
		}
	}
	var rec bench.Record
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	if rec.Corpus.Documents != 20027 || len(rec.Corpus.SHA256) != 64 || rec.Projection == nil || rec.Projection.Documents != 20027 {
		t.Errorf("corpus %+v, projection %+v", rec.Corpus, rec.Projection)
	}
	if rec.Verdict.Publishable || len(rec.Verdict.Reasons) == 0 {
		t.Errorf("two samples are publishable: %+v", rec.Verdict)
	}
	if !rec.Accuracy.Passed || rec.Accuracy.Level != bench.LevelReference || rec.Status != bench.StatusComplete {
		t.Errorf("accuracy %+v, status %s", rec.Accuracy, rec.Status)
	}
	// The ledger's identities (docs/protocol.md).
	var chunks, tokens int64
	for _, n := range rec.Corpus.Selection.Rows {
		chunks += n
	}
	for _, s := range rec.Samples {
		tokens += s.RealTokens
		if s.Chunks != chunks || s.Docs != 0 {
			t.Errorf("sample of %d chunks, %d documents; %d chunks were selected", s.Chunks, s.Docs, chunks)
		}
	}
	if o := rec.Overlap; o.Special != 2*rec.Corpus.Chunks || tokens != 2*rec.Corpus.Selection.Tokens || rec.Padding.Real != tokens {
		t.Errorf("overlap %+v of %d chunks; %d tokens timed in two passes over %d", o, rec.Corpus.Chunks, tokens, rec.Corpus.Selection.Tokens)
	}
	if rec.Padding.Real != rec.Padding.Padded {
		t.Errorf("automatic groups padded %d tokens to %d", rec.Padding.Real, rec.Padding.Padded)
	}
}

// The documents of docs are few: every region and physical batch times them all,
// and the vectors' input is the same.
func TestSpeedRegionsAgreeOnTheInput(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("d.tsv", []byte("a\tshort text\nb\t"+strings.Repeat("a longer text ", 100)+"\nc\t\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := encbench("", "speed", "--corpus", "d.tsv", "--region", "end-to-end,tokenize+encode,encode", "--ubatch-size", "auto,2",
		"--chunk", "128", "--overlap", "26", "--repeats", "1", "--min-time", "0s", "--format", "jsonl")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d records, want 6", len(lines))
	}
	hashes := map[string]bool{}
	for _, line := range lines {
		var rec bench.Record
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		hashes[rec.Corpus.Selection.SHA256] = true
		s := rec.Samples[0]
		if rec.Corpus.Documents != 3 || rec.Corpus.Chunks != 5 || s.Chunks != 5 || rec.Truncation.Empty != 1 {
			t.Errorf("%s: %d documents, %d chunks, %d timed, %d empty; want 3, 5, 5, 1", rec.Protocol.Region, rec.Corpus.Documents, rec.Corpus.Chunks, s.Chunks, rec.Truncation.Empty)
		}
		if padded := s.PaddedTokens > s.RealTokens; padded != (rec.Engine.UBatch == "2") {
			t.Errorf("micro-batch %s: %d tokens padded to %d", rec.Engine.UBatch, s.RealTokens, s.PaddedTokens)
		}
		if want := 3 / s.WallS; s.DocsPerS < 0.999*want || s.DocsPerS > 1.001*want {
			t.Errorf("%s: %g docs/s, 3 documents took %g s", rec.Protocol.Region, s.DocsPerS, s.WallS)
		}
	}
	if len(hashes) != 1 {
		t.Errorf("%d different input hashes", len(hashes))
	}
}

var machine = regexp.MustCompile(`this process may use \d+ CPUs \([^)]*\)`)

// Wrong usage exits 2 with one clear message, and nothing on standard output.
func TestUsageErrors(t *testing.T) {
	see := func(c string) string { return "\nSee `encbench " + c + " --help`.\n" }
	docs := filepath.Join(t.TempDir(), "d.jsonl")
	if err := os.WriteFile(docs, []byte(someDocs), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"speed --chunk 100 --overlap 100", "encbench speed: --overlap 100 is not smaller than --chunk 100" + see("speed")},
		{"speed --chunk 101 --overlap 100", "encbench speed: --chunk 101 leaves 99 content tokens beside 2 special and 0 prompt tokens: overlap of 100 tokens is not smaller than the window's 99 content tokens" + see("speed")},
		{"speed --chunk 600", "encbench speed: --chunk 600 is longer than the 512 positions of model minilm-l6; use --chunk 512 or less" + see("speed")},
		{"speed --threads 9999", "encbench speed: --threads 9999: this process may use N CPUs (LIMITS); ask for at most that many, or raise the limit" + see("speed")},
		{"speed --format xml", "encbench speed: unknown format \"xml\": text, json, jsonl, csv, md, bench" + see("speed")},
		{"speed --corpus nope", "encbench speed: unknown corpus \"nope\": neither a file nor one of: techdocs, techdocs-law, gostd, techdocs-qa" + see("speed")},
		{"speed --model nope", "encbench speed: unknown model \"nope\": give a directory, an .onnx file, org/name of your Hugging Face cache, or one of: minilm-l6" + see("speed")},
		{"speed --region x --device gpu --dtype fp8 --batch-size 0 --ubatch-size 0", "encbench speed: --ubatch-size \"0\": a number from 1, or auto\n--device \"gpu\": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time\n--dtype \"fp8\": auto, float32, float16, bfloat16, int8 or, on a CUDA device, tf32\n--region \"x\": end-to-end, tokenize+encode or encode\n--batch-size 0: 1 to 65536, or auto" + see("speed")},
		{"speed --batch-size 1000000000000", "encbench speed: --batch-size 1000000000000: 1 to 65536, or auto" + see("speed")},
		{"speed --ubatch-size 256", "encbench speed: --ubatch-size 256 is larger than --batch-size 128" + see("speed")},
		{"speed --corpus-format xml", "encbench speed: --corpus-format \"xml\": jsonl, tsv, text or dir" + see("speed")},
		{"speed --out /dev/null", "encbench speed: --out /dev/null is not a regular file; name a file" + see("speed")},
		{"speed --corpus DOCS --out DOCS", "encbench speed: --out DOCS is an input of this command; name another file" + see("speed")},
		{"model import --out DOCS", "encbench model import: --out DOCS exists and is no earlier result; name another file, or remove it" + see("model import")},
		{"compare DOCS#x DOCS", "encbench compare: DOCS#x: a record's number follows #, as in DOCS#2" + see("compare")},
		{"speed --sample 0 --profile fast", "encbench speed: unknown profile \"fast\": quick, standard or mlperf-like\n--sample \"0\": a number of chunks from 1, auto or all" + see("speed")},
		{"speed --region encode --sample all", "encbench speed: --region encode keeps its input in memory: give --sample a number of chunks" + see("speed")},
		{"speed extra", "encbench speed: unexpected argument \"extra\"" + see("speed")},
		{"compare one", "encbench compare: compare takes two records, 1 given" + see("compare")},
		{"model pull nope", "encbench model pull: \"nope\" is no pinned model (minilm-l6); for a model of the hub run `hf download nope`" + see("model pull")},
		{"assets get nope", "encbench assets get: unknown asset \"nope\": onnxruntime, all-minilm-l6-v2, techdocs, cuda-header, " + strings.Join(assets.Expand(assets.Groups()), ", ") + ", or cuda13, cuda12, which stand for several" + see("assets get")},
		{"corpus show nope", "encbench corpus show: unknown corpus \"nope\": neither a file nor one of: techdocs, techdocs-law, gostd, techdocs-qa" + see("corpus show")},
	} {
		if strings.Contains(test.args, "--chunk 101") || strings.Contains(test.args, "--chunk 600") || strings.Contains(test.args, "--corpus") || strings.Contains(test.args, "--sample all") {
			needAll(t)
		}
		r := encbench("", strings.Fields(strings.ReplaceAll(test.args, "DOCS", docs))...)
		r.stderr = strings.ReplaceAll(r.stderr, docs, "DOCS")
		got := machine.ReplaceAllString(r.stderr, "this process may use N CPUs (LIMITS)")
		if r.code != exitUsage || got != test.want || r.stdout != "" {
			t.Errorf("%s: exit %d, standard output %q, standard error\n%s\nwant\n%s", test.args, r.code, r.stdout, got, test.want)
		}
	}
}
