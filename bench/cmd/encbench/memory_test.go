package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/bench/env"
	"encbench/engine/feed"
	"encbench/engine/ort"
)

// What does not fit is refused with need, room, the largest part and what to change.
func TestMemoryRefusal(t *testing.T) {
	machine := env.Room{Total: 8e9, From: env.RoomMachine}
	group := env.Room{Total: 4e9, From: env.RoomGroup}
	layout := func(threads, batch, ubatch int) ort.Layout { return ort.Plan(threads, batch, ubatch) }
	one := plannedEncoder{layout: layout(2, 128, 32), longest: 8192, limit: feed.Limit{Rows: 128}}
	for _, c := range []struct {
		room     env.Room
		parts    []int64 // in the order of the names below
		encoders []plannedEncoder
		want     string
	}{
		{machine, []int64{100e6, 500e6, 50e6, 9e9, 20e6}, []plannedEncoder{one},
			"not enough memory: 9.67 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 9.00 GB of what is needed are values of 2 runs at a time, of 32 rows of 8,192 tokens each; use less of the runs"},
		{group, []int64{100e6, 500e6, 50e6, 9e9, 20e6}, []plannedEncoder{{layout: layout(1, 1, 0), longest: 8192, limit: feed.Limit{Rows: 1}}, one},
			"not enough memory: 9.67 GB are needed at the peak, 6.00 GB are available of the control group's limit of 4.00 GB; 9.00 GB of what is needed are values of 2 runs at a time, of 32 rows of 8,192 tokens each; use less of the runs"},
		{machine, []int64{100e6, 10e9, 50e6, 9e9, 20e6}, []plannedEncoder{one},
			"not enough memory: 19.2 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 10.0 GB of what is needed are weights of 1 encoder; use a smaller model"},
		{machine, []int64{100e6, 1e9, 7e9, 50e6, 20e6}, []plannedEncoder{one, one},
			"not enough memory: 8.17 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 7.00 GB of what is needed are weights of 2 encoders; measure fewer configurations at once, or a smaller model"},
		{machine, []int64{100e6, 1e9, 1e6, 50e6, 20e9}, []plannedEncoder{one},
			"not enough memory: 21.2 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 20.0 GB of what is needed are batches in flight; use less of the batches"},
		{machine, []int64{100e6, 1e9, 1e6, 50e6, 20e6, 30e9}, []plannedEncoder{one},
			"not enough memory: 31.2 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 30.0 GB of what is needed are vectors of the documents; use less of the vectors"},
		{machine, []int64{9e9, 0, 0, 0, 0, 0, 7e9}, []plannedEncoder{one},
			"not enough memory: 16.0 GB are needed at the peak, 6.00 GB are available of the machine's 8.00 GB; 7.00 GB of what is needed are the reference encoder's weights in float32 (computed once, cached afterwards); use a smaller model, or compute the reference on a larger machine and bring its cache"},
	} {
		p := memoryPlan{encoders: c.encoders}
		p.advice.runs, p.advice.batches, p.advice.vectors = "less of the runs", "less of the batches", "less of the vectors"
		m := bench.Memory{Available: 6e9}
		for i, n := range c.parts {
			if n > 0 {
				name := []string{partProcess, partWeights, partTables, partRuns, partBatches, partVectors, partReference}[i]
				m.Parts, m.Predicted = append(m.Parts, bench.MemoryPart{Name: name, Bytes: n}), m.Predicted+n
			}
		}
		if err := p.refusal(m, c.room); err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// The largest run of an encoder: as many rows as a physical batch has, of the longest
// length, as far as the batch holds them.
func TestLargestRun(t *testing.T) {
	for _, c := range []struct {
		ubatch, longest int
		limit           feed.Limit
		rows            int
	}{
		{0, 512, feed.Limit{Rows: 128}, 1},
		{0, 8192, feed.Limit{Rows: 128}, 1},
		{0, 32, feed.Limit{Rows: 128}, 16},
		{0, 32, feed.Limit{Rows: 4}, 4},
		{1, 32, feed.Limit{Rows: 128}, 1},
		{32, 512, feed.Limit{Rows: 128}, 32},
		{32, 512, feed.Limit{Rows: 8192, Tokens: 8192}, 16},
		{32, 512, feed.Limit{Rows: 8192, Tokens: 512}, 1},
		{128, 512, feed.Limit{Rows: 128}, 128},
	} {
		p := plannedEncoder{layout: ort.Layout{UBatch: c.ubatch}, longest: c.longest, limit: c.limit}
		if rows, tokens := p.run(); rows != c.rows || tokens != c.longest {
			t.Errorf("ubatch %d, %+v: %d rows of %d tokens, want %d of %d", c.ubatch, c.limit, rows, tokens, c.rows, c.longest)
		}
	}
}

// The library counts once, and a group's limit is all that there is, however much of
// what is resident lies in no account of the group.
func TestPredictedParts(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	a := &app{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	m, err := a.openModel(context.Background(), modelOptions{name: tinyEmbedder(t, "tiny-bert-mean")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	p := &memoryPlan{encoders: []plannedEncoder{{model: m, layout: ort.Plan(1, 8, 0), longest: 32, limit: feed.Limit{Rows: 8}}}}
	sum := func() (n int64) {
		for _, part := range p.predict(10e6, 1e6, 0) {
			n += part.Bytes
		}
		return n
	}
	fresh := sum()
	p.loaded = true
	if again := sum(); fresh-again != libraryBytes {
		t.Errorf("%d bytes in a fresh process, %d in one that had a session, the library takes %d", fresh, again, libraryBytes)
	}
	const limit = 1 << 20
	a.memory = func() env.Room { return env.Room{Bytes: limit - 1000, Total: limit, From: env.RoomGroup} }
	got, err := a.admit(context.Background(), p)
	if err == nil || got.Available != limit || !strings.Contains(err.Error(), "1.05 MB are available of the control group's limit of 1.05 MB") {
		t.Errorf("%+v, %v", got, err)
	}
}

var sizes = regexp.MustCompile(`[\d.]+ (kB|MB|GB)`)

// Every command that opens an encoder predicts its memory and refuses, before it loads
// anything, what does not fit.
func TestNotEnoughMemory(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	// With room the prediction is said, and recorded beside what was taken. Afterwards the
	// references are in the cache.
	for _, args := range [][]string{
		{"speed", "--corpus", "labelled.jsonl", "--sample", "4", "--repeats", "1", "--min-time", "0s"},
		{"eval", "--data", "labelled.jsonl"},
		{"latency", "--data", "labelled.jsonl", "--samples", "6", "--cold", "1"},
		{"rerank", "--model", "reranker", "--data", "labelled.jsonl", "--run", "first.run", "--top", "20"},
	} {
		r := encbench("", append(args, "--format", "json")...)
		var rec struct{ Memory bench.Memory }
		if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, r.stderr)
		}
		m := rec.Memory
		var sum int64
		for _, p := range m.Parts {
			sum += p.Bytes
		}
		// Where references are missing and take more than all else, they are what is said.
		few := len(m.Parts) < 5 && (len(m.Parts) != 2 || m.Parts[1].Name != partReference)
		if m.Predicted == 0 || sum != m.Predicted || m.PeakRSS == 0 || m.Available < m.Predicted || few {
			t.Errorf("%v: memory %+v", args, m)
		}
		if got := sizes.ReplaceAllString(r.stderr, "SIZE"); !strings.Contains(got, "memory: SIZE predicted at the peak, SIZE available\n") {
			t.Errorf("%v: standard error %q", args, r.stderr)
		}
	}
	for args, advice := range map[string]string{
		"speed --corpus labelled.jsonl --out r.json":                             "values of 2 runs at a time, of 128 rows of 512 tokens each; use a smaller --ubatch-size or --chunk, or fewer --threads",
		"eval --data labelled.jsonl --out r.json":                                "weights of 1 encoder; use a smaller model",
		"rerank --model reranker --data labelled.jsonl --run first.run --top 20": "weights of 1 encoder; use a smaller model",
		"latency --data labelled.jsonl --out r.json":                             "weights of 1 encoder; use a smaller model",
	} {
		words := strings.Fields(args)
		if words[0] == "speed" {
			words = append(words, "--ubatch", "128", "--batch", "256", "--threads", "2")
			if env.CPUs(env.Collect()) < 2 {
				words[len(words)-1], advice = "1", strings.Replace(advice, "2 runs", "1 run", 1)
			}
		}
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, memory: func() env.Room { return env.Room{Bytes: 20e6, Total: 64e6, From: env.RoomGroup} }}
		code := a.run(context.Background(), words)
		want := "encbench " + words[0] + ": not enough memory: SIZE are needed at the peak, SIZE are available of the control group's limit of SIZE; SIZE of what is needed are " + advice + "\n"
		if got := sizes.ReplaceAllString(errs.String(), "SIZE"); code != exitFailure || out.Len() > 0 || got != want {
			t.Errorf("%s: exit %d, standard output %q, standard error\n%swant\n%s", args, code, out.String(), errs.String(), want)
		}
		if _, err := os.Stat("r.json"); err == nil {
			t.Errorf("%s: a record was written", args)
		}
	}
}

// memoryChild names the test's own process that measures one configuration.
const memoryChild = "ENCBENCH_TEST_MEMORY"

// What a fresh process takes lies between two thirds of what was predicted, less
// 100 MB, and all of it.
func TestMemoryHoldsInAFreshProcess(t *testing.T) {
	if line := os.Getenv(memoryChild); line != "" {
		os.Exit((&app{stdin: strings.NewReader(""), stdout: os.Stdout, stderr: os.Stderr}).run(context.Background(), strings.Fields(line)))
	}
	needAll(t)
	t.Chdir(t.TempDir())
	var docs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&docs, "{\"_id\":\"%d\",\"text\":%q}\n", i, strings.Repeat(fmt.Sprintf("sentence %d of a text. ", i), 1+i*3))
	}
	if err := os.WriteFile("d.jsonl", []byte(docs.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// Once, so that the references are there.
	speedRecord(t, "", "--corpus", "d.jsonl", "--chunk", "128")
	speedRecord(t, "", "--corpus", "d.jsonl", "--chunk", "256")
	speedRecord(t, "", "--corpus", "d.jsonl", "--chunk", "512")
	for _, args := range []string{"--chunk 128 --ubatch 16", "--chunk 256 --ubatch 32 --batch-tokens 4096", "--chunk 512", "--chunk 256 --ubatch 1 --region encode"} {
		line := "speed --corpus d.jsonl --sample 40 --repeats 1 --min-time 0s --format json " + args
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryHoldsInAFreshProcess$")
		cmd.Env = append(os.Environ(), memoryChild+"="+line)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args, err, errs.String())
		}
		var rec bench.Record
		if err := json.Unmarshal(out, &rec); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		m := rec.Memory
		t.Logf("%s: predicted %.0f MB, measured %.0f MB: %+v", args, float64(m.Predicted)/1e6, float64(m.PeakRSS)/1e6, m.Parts)
		if m.PeakRSS > m.Predicted || float64(m.Predicted) > 1.5*float64(m.PeakRSS)+100e6 {
			t.Errorf("%s: predicted %d bytes, the process took %d", args, m.Predicted, m.PeakRSS)
		}
	}
}
