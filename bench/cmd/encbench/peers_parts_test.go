package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/metrics/judge"
)

func TestPeersUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--part all", "encbench peers: --part all: expected speed, tokenizers, models, search, score or quality\n"},
		{"--part score --pairs 0", "encbench peers: --pairs 0: at least 1\n"},
		{"--part score --only nonesuch", `encbench peers: --only "nonesuch": no arm's name contains that` + "\n"},
	} {
		r := encbench("", append([]string{"peers"}, strings.Fields(c.args)...)...)
		if r.code != 2 || !strings.HasPrefix(r.stderr, c.want) {
			t.Errorf("%s: exit %d, %q\nwant %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// TestPeersWithoutPeers: what needs another program names it, what needs none runs.
func TestPeersWithoutPeers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENCBENCH_CACHE", filepath.Join(dir, "cache"))
	python := filepath.Join(dir, "bin", "python")
	r := encbench("", "peers", "--part", "score", "--small", "--only", "TREC text", "--python", python)
	if want := "encbench peers: trec_eval: no file " + filepath.Join(dir, "bin", "trec_eval") + "; " + peers.ErrMissing.Error() + "\n"; r.code != 1 || r.stderr != want {
		t.Errorf("exit %d, %q\nwant %q", r.code, r.stderr, want)
	}
	r = encbench("", "peers", "--part", "search", "--small", "--only", "64 Gaussian, k 10,", "--python", python)
	if r.code != 1 || !strings.Contains(r.stderr, peers.ErrMissing.Error()) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	out := filepath.Join(dir, "score.json")
	r = encbench("", "peers", "--part", "score", "--small", "--only", "writing", "--pairs", "6", "--out", out)
	if r.code != 0 || !strings.HasPrefix(r.stdout, "writing a compressed run, 300 queries × 100: MB/s of the text it stands for ") {
		t.Fatalf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	text, err := os.ReadFile(out)
	var res bench.Result // not by ReadResult: a test has no commit
	if err = errors.Join(err, json.Unmarshal(text, &res)); err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 1 || len(res.Rows[0].Ours) != 6 || *res.Rows[0].Bar != 200 || !strings.HasSuffix(res.Command, " --part score --small") {
		t.Errorf("%+v", res)
	}
	r = encbench("", "peers", "--part", "quality", "--only", "Cranfield", "--collections", filepath.Join(dir, "none"))
	if want := "Cranfield was left out: no folder " + filepath.Join(dir, "none", "cranfield") + "; --collections names the one that holds it\n"; r.code != 0 || r.stderr != want {
		t.Errorf("exit %d, %q\nwant %q", r.code, r.stderr, want)
	}
}

// TestSearchCases: every row has a name of its own, and as many bars as cut-offs.
func TestSearchCases(t *testing.T) {
	for _, small := range []bool{false, true} {
		s := &searchRun{peersRun: &peersRun{peersFlags: &peersFlags{small: small}}, levels: []searchLevel{{name: "best", isa: "avx512vnni"}, {name: "AVX2 only", isa: "avx2"}}}
		seen := map[string]bool{}
		for _, c := range s.cases() {
			for _, bars := range [][]float64{c.bars.best, c.bars.avx2} {
				if len(bars) > 0 && len(bars) != len(c.ks) {
					t.Errorf("%s: %d bars for %d cut-offs", c.name, len(bars), len(c.ks))
				}
			}
			for _, a := range s.arms(c) {
				if seen[a.name] || a.bar == 0 {
					t.Errorf("%q: seen before, or without a bar", a.name)
				}
				seen[a.name] = true
			}
		}
		if len(seen) != 23 && !small || len(seen) != 21 && small {
			t.Errorf("small %v: %d rows", small, len(seen))
		}
	}
	s := &searchRun{peersRun: &peersRun{peersFlags: &peersFlags{}}, levels: []searchLevel{{name: "AVX2 only", isa: "avx2"}}}
	if arms := s.arms(s.cases()[0]); len(arms) != 4 || arms[2].bar != 1.8 {
		t.Errorf("a machine with AVX2 alone: %+v", arms)
	}
}

// TestOurSearchCheck: a wrong row or score of ours is found before it is timed.
func TestOurSearchCheck(t *testing.T) {
	ctx := context.Background()
	v := &vectorSet{dim: 16, n: 500, count: 8}
	var err error
	if v.rows, v.queries, err = peers.Vectors(peers.Gaussian, v.n, v.count, v.dim, 1); err != nil {
		t.Fatal(err)
	}
	s := &searchRun{}
	if err := s.plain(ctx, searchCase{sample: 5, ks: []int{7}}, v); err != nil {
		t.Fatal(err)
	}
	ours, err := cpu.NewSearcher(cpu.Options{Dim: v.dim})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := ours.Append(ctx, 0, nil, engine.HostRows(v.rows, v.dim)); err != nil {
		t.Fatal(err)
	}
	for _, one := range []bool{false, true} {
		o := newOurSearch(ours, v, searchArm{k: 7, queries: 8, one: one})
		if seconds, err := o.pass(ctx); err != nil || !(seconds > 0) {
			t.Fatalf("%v s, %v", seconds, err)
		}
		if err := o.check(v); err != nil {
			t.Errorf("one by one %v: %v", one, err)
		}
		o.scores[6]++
		if err := o.check(v); !errors.Is(err, errPlain) {
			t.Errorf("one by one %v: another score passes: %v", one, err)
		}
		o.scores[6]--
		o.found[4*7+6]++
		if err := o.check(v); !errors.Is(err, errPlain) {
			t.Errorf("another row passes: %v", err)
		}
	}
}

func TestComparable(t *testing.T) {
	kept, known, unknown := comparable([]peers.Value{
		{Query: "1", Measure: "map", Value: 0.5}, {Query: "1", Measure: "gm_map", Value: -2}, {Query: "1", Measure: "num_q", Value: 1}, {Query: "1", Measure: "binG", Value: 0.1}, {Query: "2", Measure: "map", Value: 1},
	})
	if len(kept) != 2 || !slices.Equal(known, []string{"map"}) || !slices.Equal(unknown, []string{"binG", "gm_map", "num_q"}) {
		t.Errorf("%v, %v, %v", kept, known, unknown)
	}
	if got := asked([]string{"ndcg_cut_10", "recip_rank", "map", "ndcg@10"}); !slices.Equal(got, []string{"ndcg_cut.10", "recip_rank", "map", "ndcg@10"}) {
		t.Errorf("asked: %v", got)
	}
}

// TestCodedRun: lists with document numbers are judged as the text they came from.
func TestCodedRun(t *testing.T) {
	dir := t.TempDir()
	lists := peers.Lists{Queries: 40, Depth: 50, Judged: 12, Documents: 300, Seed: 5, Ties: true}
	s := &scoreRun{peersRun: &peersRun{peersFlags: &peersFlags{small: true}, dir: dir}}
	qrels, text, err := s.made(t.Context(), lists)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := readRun(text)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := coded(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(numbers) == 0 || !numbers[0].Sorted || numbers[0].Doc == nil {
		t.Fatal("no document numbers")
	}
	q, err := readQrels(qrels)
	if err != nil {
		t.Fatal(err)
	}
	measures, err := parsed([]string{"nDCG@10", "AP", "Judged@5"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := judgeAll(t.Context(), q, measures, judge.Options{}, &inMemory{blocks: plain}, 2)
	if err != nil {
		t.Fatal(err)
	}
	b, err := judgeAll(t.Context(), q, measures, judge.Options{}, &inMemory{blocks: numbers}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for m := range measures {
		if !slices.Equal(a.Values[m], b.Values[m]) || !(a.Mean[m] > 0) {
			t.Errorf("%v: %v and %v", measures[m], a.Mean[m], b.Mean[m])
		}
	}
	size, err := compressed(text, filepath.Join(dir, "x.ebrun"))
	if st, statErr := os.Stat(filepath.Join(dir, "x.ebrun")); err != nil || statErr != nil || float64(st.Size()) != size {
		t.Errorf("%v bytes, %v, %v", size, err, statErr)
	}
}
