package report

import (
	"math"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
)

func share(x float64) *float64 { return &x }

func sha(digit string) string { return strings.Repeat(digit, 64) }

// full is a synthetic record with every field set: a publishable run that was
// projected from a sample. Its figures agree with each other but were measured
// nowhere.
func full() *bench.Record {
	r := &bench.Record{
		Schema:  bench.SchemaVersion,
		Tool:    bench.Tool{Version: "v0.1.0", Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8"},
		Status:  bench.StatusComplete,
		Command: []string{"encbench", "speed", "--profile", "standard"},
		Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Protocol: bench.Protocol{
			Name: "512/100x128", Chunk: 512, Overlap: 100, Batch: 128, Region: bench.RegionEndToEnd, DType: "float32",
			Pooling: "mean", Normalize: true, Dim: 384, SpecialTk: 2,
		},
		Schedule: bench.Schedule{Profile: "standard", Repeats: 10, MinTime: 60 * time.Second},
		Model: bench.Model{
			Name: "minilm-l6", Source: "asset", Architecture: "BertModel", SHA256: sha("a"), ConfigSHA256: sha("b"), TokenizerSHA256: sha("c"),
			Tokenizer: "WordPiece", Parameters: 22_565_376, Layers: 6, Hidden: 384, Heads: 12, FFN: 1536, Vocab: 30522, MaxPositions: 512,
			Stored: "float32", Computed: "float32", LinearFLOP: 21_233_664, AttentionFLOP: 9216,
		},
		Corpus: bench.Corpus{
			Name: "techdocs", Rule: "techdocs-1", SHA256: sha("d"), Documents: 20_027, Chunks: 48_726, Tokens: 16_622_410, TextBytes: 75_001_315, LongestTk: 101_835,
			Selection: bench.Selection{Kind: "stratified", Chunks: 130, Tokens: 47_000, Seed: 1, SHA256: sha("e"), Rows: []int64{3, 9, 118}, Corpus: []int64{1_124, 3_373, 44_229}},
			Repeats:   "",
		},
		Engine: bench.Engine{
			Backend: "onnxruntime", Version: "1.32.0", Library: "libonnxruntime.so.1.32.0", LibrarySHA256: sha("f"), Device: "cpu", Threads: 2, Workers: 2, Intra: 1,
			UBatch: "auto", HowRun: "batch 128, run as 64 × 2", Optimization: "all", Slots: 2,
		},
		Env: env.Facts{
			OS: "linux", Arch: "amd64", Kernel: "6.1.0", Distribution: "Debian GNU/Linux 12", HostHash: "5f2a90c1d3e4", Virtualization: "kvm", Container: "docker",
			CPU: env.CPU{Vendor: "GenuineExample", Model: "Example CPU @ 2.60GHz", Sockets: 1, Cores: 2, Logical: 2, SMT: "notsupported", ISA: []string{"avx2", "fma"},
				Governor: "performance", Driver: "example_pstate", Turbo: "off", MinMHz: 800, MaxMHz: 2600, CurrentMHz: 2600, NUMANodes: 1, NUMACPUs: []string{"0-1"}},
			Limits:  env.Limits{Affinity: 2, AffinityList: "0-1", Quota: 2, Cgroup: "v2", MemoryBytes: 8 << 30},
			Memory:  env.Memory{TotalBytes: 16 << 30, AvailableBytes: 12 << 30, HugePages: "madvise"},
			Load:    env.Load{One: 0.12, Five: 0.08, Fifteen: 0.05, Running: 1},
			Go:      env.Go{Version: "go1.26.8", GOMAXPROCS: 2, GOGC: 100},
			Unknown: []string{"cpu.microcode"},
		},
		Cold:   bench.Cold{ModelLoad: 0.187, Import: 0.034, SessionCreate: 0.412, FirstRun: 0.0215, CorpusScan: 4.31, Total: 0.6545},
		Warmup: bench.Warmup{Seconds: 5.13, Buckets: []bench.BucketWarmup{{Tokens: 32, First: 0.012, Second: 0.004}, {Tokens: 512, First: 0.31, Second: 0.29}}},
		Projection: &bench.Projection{FromDocs: 96, Documents: 20_027, CorpusS: 4_754,
			Formula: "documents ÷ Σ over length buckets (rows in the corpus × measured time per row)"},
		Stages: []bench.Stage{
			{Name: "read", Workers: 1, BusyS: 0.21, WaitS: 84.9, Overlap: share(0.99)},
			{Name: "tokenize", Workers: 2, BusyS: 1.93, WaitS: 168.2, Overlap: share(0.98)},
			{Name: "chunk", Workers: 2, BusyS: 0.02, WaitS: 170.1, Overlap: share(0.97)},
			{Name: "pack", Workers: 1, BusyS: 0.09, WaitS: 85, Overlap: share(0.9)},
			{Name: "encode", Workers: 2, BusyS: 168.4, WaitS: 1.8, Overlap: share(1)},
			{Name: "collect", Workers: 1, BusyS: 0.0004, WaitS: 85.1, Overlap: nil},
		},
		Bottleneck: "the encoder: its workers were busy 98.9 % of the timed seconds",
		Padding:    bench.Padding{Real: 564_000, Padded: 571_900, Linear: 1.01401, Quadratic: 1.0213},
		Overlap:    bench.Overlap{Factor: 1.1724, Tokens: 2_869_900, Special: 97_452},
		Truncation: bench.Truncation{Policy: "chunk", Empty: 3},
		MFU:        bench.Utilization{Value: 0.621, FLOPS: 112.4e9, Peak: 181e9, Source: "probe: AVX2 FMA, 2 threads, 0.2 s", Formula: "Σ len × (linear + attention × len) ÷ wall ÷ peak"},
		HFU:        bench.Utilization{Value: 0.63, FLOPS: 114e9, Peak: 181e9, Source: "probe: AVX2 FMA, 2 threads, 0.2 s", Formula: "FLOP issued ÷ wall ÷ peak"},
		Accuracy: bench.Accuracy{Level: bench.LevelReference, Passed: true, Threshold: 0.999999, Min: 0.99999999999976, Mean: 0.9999999999999, MaxDiff: 1.2e-7, DiffLimit: 2e-6, Reference: "plain fp32 encoder",
			Probes: []bench.Probe{{Tokens: 3, Alone: 1, Batch: 0.99999999999993}, {Tokens: 512, Alone: 0.9999999999998, Batch: 0.99999999999976}}},
		Memory: bench.Memory{PeakRSS: 412_000_000, Weights: 90_900_000, GoHeap: 38_000_000},
	}
	for i := range 12 {
		wall := 7.1 + 0.004*float64((i*5)%12)
		r.Samples = append(r.Samples, bench.Sample{
			Round: i, WallS: wall, Chunks: 130, RealTokens: 47_000, PaddedTokens: 47_658, TextBytes: 211_000, ModelFLOP: 112.4e9 * wall, IssuedFLOP: 114e9 * wall,
			DocsPerS: 30.1 / wall, Rows: []int64{3, 9, 118}, BusyS: []float64{0.01, 0.4, 13.2}, LoadAvg: 2.01,
		})
	}
	return settle(r)
}

// settle computes what follows from the rest of the record.
func settle(r *bench.Record) *bench.Record {
	r.Rates = bench.RatesOf(r.Samples)
	r.Warnings = bench.Warnings(r)
	r.Verdict = bench.Judge(r, nil)
	return r
}

// faster is a run of the same command with another batch.
func faster() *bench.Record {
	r := full()
	r.Protocol.Name, r.Protocol.Batch = "512/100x32", 32
	r.Engine.HowRun = "batch 32, run as 16 × 2"
	for i := range r.Samples {
		r.Samples[i].WallS *= 0.93
		r.Samples[i].DocsPerS /= 0.93
	}
	return settle(r)
}

// budgeted is a run in batches of tokens, on a machine whose memory was looked at.
func budgeted() *bench.Record {
	r := full()
	r.Protocol.Name, r.Protocol.Batch, r.Protocol.BatchTokens = "512/100x16384t", 16384, 16384
	r.Engine.HowRun = "batches of up to 16384 tokens, run as equal-length groups of up to 512 tokens, on 2 one-thread workers"
	r.Memory.Predicted, r.Memory.Available = 530_000_000, 12_900_000_000
	r.Memory.Parts = []bench.MemoryPart{{Name: "process", Bytes: 120_000_000}, {Name: "weights", Bytes: 410_000_000}}
	return settle(r)
}

// searched is a run whose batch was searched for.
func searched() *bench.Record {
	r := full()
	r.Search = &bench.BatchSearch{Chunks: 64, Tokens: 23_100, Rounds: 6, Seconds: 41.2, Rule: "the least memory within noise of the fastest", Trials: []bench.BatchTrial{
		{Batch: 128, UBatch: "auto", Predicted: 310_000_000, Outcome: bench.TrialChosen, Chunks: bench.Estimate{Median: 18.12, N: 6}, ToFastest: bench.Ratio{Value: 0.998, Low: 0.991, High: 1.004, N: 6}},
		{Batch: 128, UBatch: "2", Predicted: 345_000_000, Outcome: bench.TrialFast, Chunks: bench.Estimate{Median: 18.16, N: 6}, ToFastest: bench.Ratio{Value: 1, Low: 1, High: 1, N: 6}},
		{Batch: 128, UBatch: "4", Predicted: 412_000_000, Outcome: bench.TrialSlower, Chunks: bench.Estimate{Median: 15.3, N: 3}, ToFastest: bench.Ratio{Value: 0.843, Low: 0.84, High: 0.85, N: 3}},
		{Batch: 128, UBatch: "128", Predicted: 9_412_000_000, Outcome: bench.TrialExcluded, Reason: "9.41 GB of memory predicted, 8.01 GB available"},
		{Batch: 512, UBatch: "auto", Predicted: 320_000_000, Outcome: bench.TrialFailed, Reason: "accuracy gate failed: 3 tokens: cosine 0.5"},
	}}
	return settle(r)
}

// quantised is a run of the same command with int8 weights that were measured.
func quantised() *bench.Record {
	r := faster()
	r.Protocol.Name, r.Protocol.Batch, r.Protocol.DType = "512/100x128", 128, "int8"
	r.Model.Stored, r.Model.Computed, r.Engine.ActivationBits = "int8", "int8", 8
	r.MFU.Value, r.MFU.Source = 1.04, r.MFU.Source+"; float32's, which the int8 layers can exceed"
	r.Accuracy = bench.Accuracy{Level: "reference-int8", Passed: true, Threshold: 0.96, MeanLimit: 0.97, Min: 0.9932, Mean: 0.995, MaxDiff: 0.0196,
		BatchDiff: 7.4e-8, BatchLimit: 2e-6, Reference: "plain fp32 encoder on the weights before they became int8",
		Probes: []bench.Probe{{Tokens: 3, Alone: 0.997, Batch: 0.997}, {Tokens: 512, Alone: 0.9932, Batch: 0.9932}},
		Retrieval: &bench.Retrieval{Collection: "techdocs-qa", SHA256: sha("5"), Documents: 1200, Queries: 300, Measure: "nDCG@10", Value: 0.3150, Original: 0.3093,
			Ratio: 1.0184, RatioLimit: 0.99, Texts: 1500, Min: 0.99197, P1: 0.99552, Mean: 0.99793, Least: 0.97, Average: 0.99}}
	return settle(r)
}

// halved is one with float16 weights that were not.
func halved() *bench.Record {
	r := full()
	r.Model.Stored, r.Model.WidenedBytes, r.Memory.Weights = "float16", 45_200_000, 45_400_000
	r.Accuracy.Level, r.Accuracy.BatchLimit, r.Accuracy.BatchDiff = "reference-float16", 2e-6, 6e-8
	return settle(r)
}

// devices is a run on two GPUs of which one is limited, in another type than was asked for.
func devices() *bench.Record {
	r := full()
	r.Engine.Device, r.Engine.Requested, r.Engine.Engaged = "cuda:0,1", "auto", "float16"
	d := bench.Device{
		Name: "cuda:0", Model: "NVIDIA H100 80GB HBM3", Part: "H100 SXM", UUID: "GPU-1", PCI: "0000:1b:00.0", Capability: "9.0", Memory: 85_017_624_576, SMs: 132, ECC: true,
		CUDA: "13.0", Driver: "580.65.06", PowerLimit: 700, DefaultLimit: 700,
		Peak: 989.4e12, PeakSource: "NVIDIA H100 Tensor Core GPU architecture, dense", Measured: 612e12, HowPeak: "1,024 × 131,072 × 768, median of 9",
		Power: 611.3, ClockMHz: 1902, Celsius: 63,
		MinCosine: 0.9999981, Batches: 812, Rows: 103_936, Tokens: 41_574_400, BusyS: 30.4, IdleS: 0.6, ComputeS: 30.39,
		In: bench.Transfer{Bytes: 700_000_000, Seconds: 0.014}, Out: bench.Transfer{Bytes: 160_000_000, Seconds: 0.0031},
	}
	second := d
	second.Name, second.UUID, second.PCI, second.PowerLimit = "cuda:1", "GPU-2", "0000:3b:00.0", 500
	second.Batches, second.Rows, second.Tokens, second.IdleS, second.BusyS = 601, 76_928, 30_771_200, 0.2, 30.8
	second.HeldDown, second.Power, second.ClockMHz = "power limit (82 %)", 498.4, 1522
	r.Engine.Devices = []bench.Device{d, second}
	return settle(r)
}

// noCUDA is a run on a machine whose driver has no device.
func noCUDA() *bench.Record {
	r := full()
	r.Engine.DeviceNote = "CUDA is off: no CUDA driver: libcuda.so.1: cannot open shared object file: No such file or directory"
	return settle(r)
}

// standIn is a run of random weights with a tokenizer that is not the model's.
func standIn() *bench.Record {
	r := full()
	r.Model.Name, r.Model.Source, r.Model.Architecture = "modernbert-base", "directory", "ModernBertModel"
	r.Model.Synthetic, r.Model.StandInTokenizer = true, true
	r.Model.AddLocal(129, 45_056)
	r.Projection = nil
	for i := range r.Samples {
		r.Samples[i].DocsPerS, r.Samples[i].TextBytes = 0, 0
	}
	return settle(r)
}

// failed is a run whose gate did not pass: it has no samples.
func failed() *bench.Record {
	r := full()
	r.Model.Name, r.Model.SHA256 = "org/broken-model", sha("9")
	r.Protocol.Pooling = "cls"
	r.Status = bench.StatusFailed
	r.Accuracy.Passed, r.Accuracy.Min, r.Accuracy.Mean, r.Accuracy.MaxDiff = false, 0.613, 0.702, 0.31
	r.Accuracy.Probes = []bench.Probe{{Tokens: 3, Alone: 0.613, Batch: 0.613}, {Tokens: 512, Alone: 0.791, Batch: 0.791}}
	r.Samples, r.Stages, r.Projection, r.Bottleneck = nil, nil, nil, ""
	r.Padding, r.MFU, r.HFU = bench.Padding{}, bench.Utilization{}, bench.Utilization{}
	return settle(r)
}

// interrupted stopped after one sample of a whole, messy corpus of the user's, on
// a machine of which little is known.
func interrupted() *bench.Record {
	r := full()
	r.Status = bench.StatusInterrupted
	r.Tool = bench.Tool{Version: "devel", Go: "go1.26.8"}
	r.Protocol.Prompt, r.Protocol.PromptTk = "passage: ", 3
	r.Schedule.Profile = bench.ProfileQuick
	r.Model = bench.Model{Name: "model.onnx", Source: "onnx", SHA256: sha("7"), Tokenizer: "WordPiece", Computed: "float32"}
	r.Corpus = bench.Corpus{Name: "my corpus", Rule: "jsonl", SHA256: sha("8"), Documents: 1, Chunks: 1, Tokens: 12, TextBytes: 61, LongestTk: 12,
		Selection: bench.Selection{Kind: bench.SelectionAll, Chunks: 1, Tokens: 14, SHA256: sha("6")}, Repeats: "each paragraph is used 1.9 times on average"}
	r.Projection = nil
	r.Samples = []bench.Sample{{WallS: 0.25, Docs: 1, Chunks: 1, RealTokens: 14, PaddedTokens: 14, TextBytes: 61, DocsPerS: 4, LoadAvg: 9.5}}
	r.Env = env.Facts{CPU: env.CPU{Governor: "powersave"}, Limits: env.Limits{Affinity: 1, AffinityList: "3"}}
	r.Accuracy = bench.Accuracy{Level: bench.LevelConsistency, Passed: true, Threshold: 0.9999, Min: 1, Mean: 1, Reference: "itself, alone and in a batch", Probes: []bench.Probe{{Tokens: 3, Alone: 1, Batch: 1}}}
	r.Padding = bench.Padding{Real: 14, Padded: 14, Linear: 1, Quadratic: 1}
	r.Overlap = bench.Overlap{Factor: 1, Special: 2, Prompt: 3}
	r.Truncation = bench.Truncation{Policy: "chunk", BadLines: 2, Repaired: 1, Empty: 1}
	r.Stages, r.Bottleneck = []bench.Stage{{Name: "encode", Workers: 1, BusyS: 0.24}}, "the encoder: it was busy 96 % of the timed seconds"
	r.MFU, r.HFU, r.Cold, r.Warmup, r.Memory = bench.Utilization{}, bench.Utilization{}, bench.Cold{}, bench.Warmup{}, bench.Memory{}
	return settle(r)
}

// hollow holds values that no formula should give; nothing of them may be shown.
func hollow() *bench.Record {
	r := full()
	nan, inf := math.NaN(), math.Inf(1)
	r.Rates.Chunks = bench.Estimate{Median: nan, Low: nan, High: inf, CV: nan, Min: -inf, Max: inf, N: 12}
	r.Padding.Linear, r.Padding.Quadratic, r.Overlap.Factor = nan, inf, inf
	r.MFU.Value, r.HFU.FLOPS = nan, inf
	r.Stages[0].BusyS, r.Stages[1].Overlap = nan, share(nan)
	r.Projection.CorpusS, r.Accuracy.Min, r.Cold.Total = inf, nan, inf
	r.Samples[3].DocsPerS = inf
	return r
}
