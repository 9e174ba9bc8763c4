package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/env"
)

func TestBatchUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--batch-size 8 --batch-tokens 4096":      "--batch-size and --batch-tokens: a batch is limited by one of them",
		"--batch 8 --batch-tokens 4096":           "--batch-size and --batch-tokens: a batch is limited by one of them",
		"--batch-tokens 511":                      "--batch-tokens 511 is smaller than --chunk 512: a batch must hold the longest chunk",
		"--batch-tokens 0":                        "--batch-tokens 0: 1 to 16777216, and at least --chunk",
		"--batch-tokens 16777217":                 "--batch-tokens 16777217: 1 to 16777216, and at least --chunk",
		"--batch many":                            "--batch-size many: 1 to 65536, or auto",
		"--batch-size 8,-1":                       "--batch-size -1: 1 to 65536, or auto",
		"--batch-tokens 1024 --ubatch 2000":       "--ubatch-size 2000 is more rows than the 1024 tokens of --batch-tokens",
		"--batch-tokens 600,512 --chunk 512,1024": "--batch-tokens 600 is smaller than --chunk 1024: a batch must hold the longest chunk\n--batch-tokens 512 is smaller than --chunk 1024: a batch must hold the longest chunk",
	} {
		r := encbench("", append([]string{"speed"}, strings.Fields(args)...)...)
		if want := "encbench speed: " + want + "\nSee `encbench speed --help`.\n"; r.code != exitUsage || r.stderr != want || r.stdout != "" {
			t.Errorf("speed %s: exit %d, standard error %q, want %q", args, r.code, r.stderr, want)
		}
	}
}

// lengthsCorpus writes documents of many lengths.
func lengthsCorpus(t *testing.T, path string) {
	t.Helper()
	var docs strings.Builder
	for i := range 24 {
		fmt.Fprintf(&docs, "{\"_id\":\"%d\",\"text\":%q}\n", i, strings.Repeat("some text ", 1+i*i%41))
	}
	if err := os.WriteFile(path, []byte(docs.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Batches of tokens: the record says so, what is fed and what is packed beforehand are
// the same batches, and no batch is larger than it may be.
func TestBatchTokens(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	lengthsCorpus(t, "d.jsonl")
	padded := map[bench.Region]int64{}
	for _, region := range []bench.Region{bench.RegionEndToEnd, bench.RegionTokenizeEncode, bench.RegionEncode} {
		// Physical batches of 128 rows: each batch is one.
		rec := speedRecord(t, "", "--corpus", "d.jsonl", "--sample", "100", "--chunk", "64", "--overlap", "0", "--batch-tokens", "128", "--ubatch", "128", "--region", string(region))
		p := rec.Protocol
		if p.Name != "64/0x128t" || p.BatchTokens != 128 || p.Batch != 128 {
			t.Errorf("protocol %+v", p)
		}
		if want := "batches of up to 128 tokens, run as groups of 128 rows, one run at a time on"; !strings.HasPrefix(rec.Engine.HowRun, want) && rec.Engine.Threads > 1 {
			t.Errorf("run as %q, want %q", rec.Engine.HowRun, want)
		}
		s := rec.Samples[0]
		padded[region] = s.PaddedTokens
		if s.PaddedTokens <= s.RealTokens || s.Chunks < 24 {
			t.Errorf("%s: %d chunks, %d tokens padded to %d", region, s.Chunks, s.RealTokens, s.PaddedTokens)
		}
	}
	if padded[bench.RegionEndToEnd] != padded[bench.RegionEncode] || padded[bench.RegionTokenizeEncode] != padded[bench.RegionEncode] {
		t.Errorf("tokens issued, by region: %v", padded)
	}
	rec := speedRecord(t, "", "--corpus", "d.jsonl", "--sample", "100", "--chunk", "64", "--overlap", "0", "--batch-tokens", "64", "--ubatch", "64", "--out", "t.json")
	if s := rec.Samples[0]; s.PaddedTokens > padded[bench.RegionEncode] {
		t.Errorf("half the budget pads %d tokens, the whole %d", s.PaddedTokens, padded[bench.RegionEncode])
	}
	speedRecord(t, "", "--corpus", "d.jsonl", "--sample", "100", "--chunk", "64", "--overlap", "0", "--batch", "64", "--out", "c.json")
	if r := encbench("", "compare", "t.json", "c.json"); r.code != exitFailure || !strings.Contains(r.stderr, "protocol.batch_tokens: 64 against 0") {
		t.Errorf("batches of tokens against batches of chunks: exit %d, %s", r.code, r.stderr)
	}
}

// --batch auto tries several ways, says so, and measures with the one that it chose.
func TestBatchAuto(t *testing.T) {
	needAll(t)
	tiny := []string{"--model", tinyEmbedder(t, "tiny-bert-mean"), "--sample", "20"}
	t.Chdir(t.TempDir())
	lengthsCorpus(t, "d.jsonl")
	args := []string{"speed", "--corpus", "d.jsonl", "--chunk", "64", "--overlap", "0", "--repeats", "1", "--min-time", "0s", "--format", "json", "--batch", "auto"}
	r := encbench("", append(args, tiny...)...)
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	var rec bench.Record
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	s := rec.Search
	if s == nil || s.Chunks != 16 || s.Rounds < 3 || s.Tokens == 0 {
		t.Fatalf("search %+v", s)
	}
	measured, excluded := 0, 0
	for _, trial := range s.Trials {
		switch trial.Outcome {
		case bench.TrialChosen:
			if trial.Batch != rec.Protocol.Batch || trial.UBatch != rec.Engine.UBatch {
				t.Errorf("chosen batch %d ubatch %s, measured with %d and %s", trial.Batch, trial.UBatch, rec.Protocol.Batch, rec.Engine.UBatch)
			}
			fallthrough
		case bench.TrialFast, bench.TrialSlower:
			measured++
			if trial.Chunks.N < 3 || trial.ToFastest.N < 3 || trial.Predicted == 0 {
				t.Errorf("trial %+v", trial)
			}
		case bench.TrialExcluded:
			excluded++
			if trial.Reason != "the 20 chunks of a pass do not fill it" {
				t.Errorf("batch %d ubatch %s is excluded: %s", trial.Batch, trial.UBatch, trial.Reason)
			}
		default:
			t.Errorf("trial %+v", trial)
		}
	}
	if measured < 4 || excluded < 4 {
		t.Errorf("%d trials were measured, %d excluded: %+v", measured, excluded, s.Trials)
	}
	if !strings.Contains(r.stderr, "batch search: 16 chunks a pass, ") || !strings.Contains(r.stderr, "excluded: the 20 chunks of a pass do not fill it") || !strings.Contains(r.stderr, "chosen\n") {
		t.Errorf("standard error:\n%s", r.stderr)
	}
	// With a physical batch given, only batches are searched for.
	r = encbench("", append(append(args, tiny...), "--ubatch", "2")...)
	rec = bench.Record{}
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	for _, trial := range rec.Search.Trials {
		if trial.UBatch != "2" {
			t.Errorf("ubatch 2 was asked for, tried was %+v", trial)
		}
	}
	// What the memory does not hold is listed and not opened; nothing is left where not
	// even the smallest fits. A larger model, on few chunks.
	small := func(room int64) result {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, memory: func() env.Room { return env.Room{Bytes: room, Total: 8e9, From: env.RoomMachine} }}
		code := a.run(context.Background(), append(args, "--sample", "3"))
		return result{out.String(), errs.String(), code}
	}
	r = small(230e6)
	rec = bench.Record{}
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	large := 0
	for _, trial := range rec.Search.Trials {
		if strings.Contains(trial.Reason, " of memory predicted, ") {
			large++
		}
	}
	if large == 0 {
		t.Errorf("with 230 MB of memory all is tried: %+v", rec.Search.Trials)
	}
	r = small(1e6)
	if r.code != exitFailure || r.stdout != "" || !strings.Contains(r.stderr, "encbench speed: not enough memory: ") {
		t.Errorf("without memory: exit %d, %s", r.code, r.stderr)
	}
	r = encbench(someDocs, "speed", "--batch", "auto", "--corpus", "-", "--corpus-format", "jsonl", "--sample", "all")
	want := "encbench speed: --batch-size auto reads its chunks many times: standard input with --sample all comes once; name a file, or give --batch-size a number\nSee `encbench speed --help`.\n"
	if r.code != exitUsage || r.stderr != want {
		t.Errorf("standard input: exit %d, %q, want %q", r.code, r.stderr, want)
	}
}
