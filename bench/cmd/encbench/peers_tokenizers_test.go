package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/corpus/tokenize"
	"encbench/corpus/tokenize/tokentest"
)

// tinyTokenizers is the folder that the Makefile gives for --tokenizers.
var tinyTokenizers = filepath.Join("..", "..", "..", "corpus", "tokenize", "testdata")

func tinyTokenizer(t *testing.T, name string) (string, tokenize.Tokenizer, tokenize.Info) {
	t.Helper()
	file := filepath.Join(tinyTokenizers, name+tinySuffix)
	tok, info, err := tokenize.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, tok, info
}

// TestTokenizerCases: every kind of tokenizer is compared, each under a name of its own,
// and those of public models are timed.
func TestTokenizerCases(t *testing.T) {
	flags := &peersFlags{tokenizersDir: tinyTokenizers, tokenizer: []string{"Mine=/models/x.json", "/models/other/tokenizer.json"}}
	run := &tokenizersRun{peersRun: &peersRun{peersFlags: flags}, trained: 60_000}
	cases, err := run.cases()
	if err != nil {
		t.Fatal(err)
	}
	var all, timed []string
	for _, c := range cases {
		if slices.Contains(all, c.name) {
			t.Errorf("%s is listed twice", c.name)
		}
		all = append(all, c.name)
		if c.speed {
			timed = append(timed, c.name)
		}
	}
	for _, name := range []string{"bert-cased-wordpiece", "roberta-like-bpe", "llama3-split-bpe", "gemma-like-bpe", "xlmr-like-unigram"} {
		if !slices.Contains(all, name) || slices.Contains(timed, name) {
			t.Errorf("%s: compared %v, timed %v", name, slices.Contains(all, name), slices.Contains(timed, name))
		}
	}
	want := []string{
		"MiniLM", "ModernBERT stand-in", "Granite 97M multilingual stand-in", "Granite 311M multilingual stand-in", "Qwen3 stand-in", "XLM-RoBERTa stand-in",
		"Unigram of 60,000 pieces", "Mine", "other",
	}
	if !slices.Equal(timed, want) {
		t.Errorf("timed %q\nwant  %q", timed, want)
	}
	if file, err := cases[len(cases)-1].file(t.Context()); err != nil || file != "/models/other/tokenizer.json" {
		t.Errorf("file %q, %v", file, err)
	}
	flags.small = true
	if small, err := run.cases(); err != nil || len(small) != len(cases)-4 {
		t.Errorf("small: %d cases of %d, %v", len(small), len(cases), err)
	}
}

func TestTokenizerCasesWithoutFolder(t *testing.T) {
	var said bytes.Buffer
	run := &tokenizersRun{peersRun: &peersRun{peersFlags: &peersFlags{}, app: &app{stderr: &said}}}
	cases, err := run.cases()
	if err != nil || len(cases) != 6 {
		t.Errorf("%d cases, %v", len(cases), err)
	}
	if want := "The small tokenizers, and a Unigram model in the manner of one of them, were left out: --tokenizers names their folder.\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	run.tokenizersDir = t.TempDir()
	if _, err := run.cases(); err == nil || err.Error() != "--tokenizers "+run.tokenizersDir+": no file *.tokenizer.json there" {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestTokenizerBar(t *testing.T) {
	for name, want := range map[string]float64{"bert-cased-wordpiece": 40, "roberta-like-bpe": 60, "llama3-split-bpe": 60, "gemma-like-bpe": 0, "xlmr-like-unigram": 20} {
		_, _, info := tinyTokenizer(t, name)
		if got := tokenizerBar(info); got != want {
			t.Errorf("%s: bar %v, want %v", name, got, want)
		}
	}
}

// TestParityFiles: the strings reach the peer as they are, and ids of its file are held
// against ours.
func TestParityFiles(t *testing.T) {
	file, tok, _ := tinyTokenizer(t, "roberta-like-bpe")
	special, err := addedTokens(file)
	if err != nil || !slices.Contains(special, "<mask>") {
		t.Fatalf("added tokens %q, %v", special, err)
	}
	dir := t.TempDir()
	job := peers.TokenizeJob{Tokenizer: file, Texts: filepath.Join(dir, "strings"), Out: filepath.Join(dir, "ids")}
	g := tokentest.New(1, special)
	var texts [][]byte
	var packed []byte
	if err := writeTexts(job.Texts, func(write func([]byte)) {
		for range 200 {
			text := g.Text()
			write(text)
			texts = append(texts, text)
			ids := tok.AppendIDs(nil, text)
			packed = binary.LittleEndian.AppendUint32(packed, uint32(len(ids)))
			for _, id := range ids {
				packed = binary.LittleEndian.AppendUint32(packed, uint32(id))
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(job.Out, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := compareIDs(job, tok)
	if err != nil || p.Texts != 200 || p.Bytes != int64(len(bytes.Join(texts, nil))) || p.Tokens != int64(len(packed)/4-200) {
		t.Errorf("%+v, %v", p, err)
	}
	last := packed[len(packed)-4:]
	binary.LittleEndian.PutUint32(last, binary.LittleEndian.Uint32(last)+1)
	if err := os.WriteFile(job.Out, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	var d *peers.Disagreement
	if _, err := compareIDs(job, tok); !errors.As(err, &d) || d.Number != 199 || !bytes.Equal(d.Text, texts[199]) || d.Theirs[len(d.Theirs)-1] != d.Ours[len(d.Ours)-1]+1 {
		t.Errorf("another last id: %v", err)
	}
	// The peer is told of a file that is no tokenizer before it is asked.
	if _, err := addedTokens(job.Out); err == nil || !strings.HasPrefix(err.Error(), "added tokens of "+job.Out+": ") {
		t.Errorf("no JSON: %v", err)
	}
}

// TestTokenizersRefuse: what cannot be read is named, and nothing is made for rows that
// nobody asks for.
func TestTokenizersRefuse(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	t.Setenv("ENCBENCH_CACHE", t.TempDir())
	run := &tokenizersRun{peersRun: &peersRun{peersFlags: &peersFlags{only: []string{"ids: Mine"}}, app: &app{stderr: &bytes.Buffer{}}}}
	none := tokenizerCase{name: "Yours", speed: true, cores: true}
	if err := run.run(t.Context(), none); err != nil { // its file would be asked for
		t.Error(err)
	}
	if err := os.WriteFile(out, []byte(`{"model": {"type": "Rune"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run.tokenizer = []string{"Mine=" + out}
	cases, err := run.cases()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.run(t.Context(), cases[len(cases)-1]); !errors.Is(err, tokenize.ErrUnsupported) {
		t.Errorf("an unknown model: %v", err)
	}
}

// docs is a corpus of a few documents.
func testCorpora(t *testing.T, texts ...string) peerCorpora {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docs.jsonl")
	if err := writeLines(path, len(texts), func(i int) any { return map[string]string{"_id": string(rune('a' + i)), "text": texts[i]} }); err != nil {
		t.Fatal(err)
	}
	return peerCorpora{corpus.Techdocs: &input{name: corpus.Techdocs, path: path, opt: corpus.Options{Format: corpus.FormatJSONL}}}
}

func TestTokenizeSide(t *testing.T) {
	_, tok, _ := tinyTokenizer(t, "bert-cased-wordpiece")
	c := testCorpora(t, "The first text.", "A second one.")
	s, err := c.tokenizeSide(t.TempDir(), tok, corpus.Techdocs, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	hash := bench.NewIDsHash()
	for _, text := range []string{"The first text.", "A second one."} {
		hash.Add(tok.AppendIDs(nil, []byte(text)))
	}
	if s.unit != "MB/s" || s.amount != 28e-6 || s.idsHash != hash.Hex() {
		t.Errorf("%s of %g, ids %s, want %s", s.unit, s.amount, s.idsHash, hash.Hex())
	}
	if seconds, err := s.pass(t.Context()); err != nil || !(seconds > 0) {
		t.Errorf("a pass took %v s, %v", seconds, err)
	}
	if _, err := c.tokenizeSide(t.TempDir(), tok, corpus.Gostd, 1<<20); err == nil || err.Error() != "peers: corpus gostd is not available here" {
		t.Errorf("a missing corpus: %v", err)
	}
}

func TestLongRows(t *testing.T) {
	_, tok, _ := tinyTokenizer(t, "roberta-like-bpe")
	var texts []string
	for i := range 12 {
		texts = append(texts, strings.Repeat("Package errors wraps and joins errors; it returns what was wrapped. ", 1+i))
	}
	rows, err := longRows(testCorpora(t, texts...), tok, 4, 100)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		content := tok.AppendIDs(nil, r.Text)
		if len(r.IDs) != 100 || len(content) < 98 || len(content) > 120 || !slices.Equal(r.IDs, tok.Template().AppendSingle(nil, content[:98])) {
			t.Errorf("row %d: %d ids, its text makes %d", i, len(r.IDs), len(content))
		}
	}
	if _, err := longRows(testCorpora(t, "A short text."), tok, 4, 100); err == nil || err.Error() != "peers: techdocs gave 0 of 4 rows of 100 tokens" {
		t.Errorf("a short corpus: %v", err)
	}
}

func TestTwoCores(t *testing.T) {
	seen := make([]bool, 3)
	if d := together(len(seen), func(core int) { seen[core] = true }); d <= 0 || slices.Contains(seen, false) {
		t.Errorf("%v, ran on %v", d, seen)
	}
	// One, two, two, one: ten seconds on one core and five on two.
	var order []int
	got, err := gain(func(cores int) time.Duration {
		order = append(order, cores)
		return 10 * time.Second / time.Duration(cores)
	})()
	if err != nil || got != 2 || !slices.Equal(order, []int{1, 2, 2, 1}) {
		t.Errorf("gain %v in the order %v, %v", got, order, err)
	}
	if got := xorshift(1, 3); got != 0x9b1e842f6e862629 {
		t.Errorf("xorshift: %#x", got)
	}
}
