package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/corpus/tokenize"
	"encbench/corpus/tokenize/tokentest"
	"encbench/engine/synth"
)

// tokenizersRun is the tokenizers part at work.
type tokenizersRun struct {
	*peersRun
	corpora peerCorpora
	strings int64 // generated for each tokenizer
	bytes   int64 // of a corpus in a timed pass
	trained int   // pieces of the Unigram model that the peer trains
}

// tokenizers runs the arms against the tokenizers package.
func (r *peersRun) tokenizers(ctx context.Context) error {
	t := &tokenizersRun{peersRun: r, strings: 200_000, bytes: 16 << 20, trained: 60_000}
	if r.small {
		t.strings, t.bytes, t.trained = 2000, 128<<10, 2000
	}
	var err error
	if t.corpora, err = r.app.peerCorpora(ctx); err != nil {
		return err
	}
	cases, err := t.cases()
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := t.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// tokenizerCase is a tokenizer that both sides read.
type tokenizerCase struct {
	name  string
	speed bool // timed, beside having its ids compared
	cores bool // timed on two cores, too
	file  func(context.Context) (string, error)
}

// cases lists the tokenizers: MiniLM's, the small ones of --tokenizers, stand-ins for
// the vocabularies of public models, one that the peer trains, those of --tokenizer.
func (t *tokenizersRun) cases() ([]tokenizerCase, error) {
	cases := []tokenizerCase{{name: "MiniLM", speed: true, cores: true, file: t.miniLM}}
	tiny, err := t.tiny()
	if err != nil {
		return nil, err
	}
	cases = append(cases, tiny...)
	for _, s := range []struct{ name, shape string }{
		{"ModernBERT stand-in", "modernbert-base"},
		{"Granite 97M multilingual stand-in", "granite-97m-multilingual-r2"},
		{"Granite 311M multilingual stand-in", "granite-311m-multilingual-r2"},
		{"Qwen3 stand-in", "qwen3-embedding-0.6b"},
		{"XLM-RoBERTa stand-in", "multilingual-e5-base"},
	} {
		first := s.shape == "modernbert-base"
		if t.small && !first {
			continue // each would be trained first
		}
		cases = append(cases, tokenizerCase{name: s.name, speed: true, cores: first, file: func(ctx context.Context) (string, error) {
			shape, err := synth.Find(s.shape)
			if err != nil {
				return "", err
			}
			tok, err := t.app.synthTokenizer(ctx, shape, "")
			if err != nil {
				return "", err
			}
			return tok.path, nil
		}})
	}
	if slices.ContainsFunc(tiny, func(c tokenizerCase) bool { return c.name == unigramTemplate }) {
		name := fmt.Sprintf("Unigram of %s pieces", bench.Thousands(int64(t.trained)))
		cases = append(cases, tokenizerCase{name: name, speed: true, cores: true, file: t.unigram})
	}
	for _, arg := range t.tokenizer {
		name, file, ok := strings.Cut(arg, "=")
		if !ok {
			name, file = filepath.Base(filepath.Dir(arg)), arg
		}
		cases = append(cases, tokenizerCase{name: name, speed: true, cores: true, file: func(context.Context) (string, error) { return file, nil }})
	}
	return cases, nil
}

func (t *tokenizersRun) miniLM(ctx context.Context) (string, error) {
	got, err := t.app.asset(ctx, pinnedModels[defaultModel])
	return filepath.Join(got.Path, "tokenizer.json"), err
}

// tinySuffix ends the names of the small tokenizers.
const tinySuffix = ".tokenizer.json"

// unigramTemplate is the small tokenizer whose pipeline the trained one gets.
const unigramTemplate = "xlmr-like-unigram"

// tiny lists the tokenizers of the folder of --tokenizers.
func (t *tokenizersRun) tiny() (cases []tokenizerCase, err error) {
	files, err := filepath.Glob(filepath.Join(t.tokenizersDir, "*"+tinySuffix))
	if err != nil {
		return nil, usagef("--tokenizers: %w", err)
	}
	if len(files) == 0 {
		if t.tokenizersDir != "" {
			return nil, usagef("--tokenizers %s: no file *%s there", t.tokenizersDir, tinySuffix)
		}
		if len(t.only) == 0 {
			t.note("The small tokenizers, and a Unigram model in the manner of one of them, were left out: --tokenizers names their folder.")
		}
	}
	for _, file := range files {
		cases = append(cases, tokenizerCase{
			name: strings.TrimSuffix(filepath.Base(file), tinySuffix),
			file: func(context.Context) (string, error) { return file, nil },
		})
	}
	return cases, nil
}

// unigramRule names how the peer is asked to train; it changes when that does.
const unigramRule = 1

// unigram gives the tokenizer that the peer trains on techdocs, once.
func (t *tokenizersRun) unigram(ctx context.Context) (string, error) {
	template := filepath.Join(t.tokenizersDir, unigramTemplate+tinySuffix)
	key, err := fileSHA256(template)
	if err != nil {
		return "", err
	}
	s, err := t.app.store()
	if err != nil {
		return "", err
	}
	return s.Derived(ctx, fmt.Sprintf("tokenizer-peer-%d-%d-%.16s.json", unigramRule, t.trained, key), func(w io.Writer) error {
		most := int64(1) << 40
		if t.small {
			most = 1 << 20
		}
		texts, _, err := t.corpora.texts(corpus.Techdocs, most)
		if err != nil {
			return err
		}
		job := peers.TrainJob{Template: template, Texts: filepath.Join(t.dir, "train.texts"), Out: filepath.Join(t.dir, "trained.json"), Size: t.trained}
		if err := writeTexts(job.Texts, func(write func([]byte)) {
			for _, text := range texts {
				write(text)
			}
		}); err != nil {
			return err
		}
		fmt.Fprintf(t.app.stderr, "training a Unigram model of %s pieces with the tokenizers package on techdocs (once, some minutes; cached afterwards)\n", bench.Thousands(int64(t.trained)))
		peer, err := t.worker(ctx, t.threads)
		if err != nil {
			return err
		}
		defer peer.Close()
		if _, err := peer.Train(ctx, job); err != nil {
			return err
		}
		f, err := os.Open(job.Out)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	})
}

// worker starts a peer and takes down its versions.
func (t *tokenizersRun) worker(ctx context.Context, threads int) (*peers.Worker, error) {
	w, err := peers.New(ctx, peers.Start{Python: t.python, Threads: threads})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"python", "tokenizers"} {
		t.result.Versions[name] = w.Hello().Versions[name]
	}
	return w, nil
}

// run compares the ids of one tokenizer and times it.
func (t *tokenizersRun) run(ctx context.Context, c tokenizerCase) error {
	ids, cores := "ids: "+c.name, "cores: "+c.name
	var speed []string
	if c.speed {
		for _, input := range tokenizerInputs {
			speed = append(speed, fmt.Sprintf("speed: %s, %s", c.name, input.corpus))
		}
	}
	if !t.wanted(ids) && !(c.cores && t.wanted(cores)) && !slices.ContainsFunc(speed, t.wanted) {
		return nil
	}
	file, err := c.file(ctx)
	if err != nil {
		return err
	}
	tok, info, err := tokenize.LoadFile(file)
	if err != nil {
		return err
	}
	if t.wanted(ids) {
		if err := t.parity(ctx, ids, file, tok, info); err != nil {
			return err
		}
	}
	for i, row := range speed {
		if t.wanted(row) {
			if err := t.speedOf(ctx, row, file, tok, info, tokenizerInputs[i].rows, tokenizerInputs[i].corpus); err != nil {
				return err
			}
		}
	}
	if c.cores && t.wanted(cores) {
		return t.twoCores(ctx, cores, tok)
	}
	return nil
}

// parity compares the ids of generated strings. Another id ends the command.
func (t *tokenizersRun) parity(ctx context.Context, row, file string, tok tokenize.Tokenizer, info tokenize.Info) error {
	special, err := addedTokens(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.app.stderr, "%s: %s strings\n", row, bench.Thousands(t.strings))
	job := peers.TokenizeJob{Tokenizer: file, Texts: filepath.Join(t.dir, "strings"), Out: filepath.Join(t.dir, "ids")}
	g := tokentest.New(1, special)
	if err := writeTexts(job.Texts, func(write func([]byte)) {
		for range t.strings {
			write(g.Text())
		}
	}); err != nil {
		return err
	}
	w, err := t.worker(ctx, t.threads)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Tokenize(ctx, job); err != nil {
		return err
	}
	p, err := compareIDs(job, tok)
	if err != nil {
		return err
	}
	none := 0.0
	return t.add(bench.ResultRow{
		Name: row, Unit: fmt.Sprintf("of %s generated strings differ", bench.Thousands(p.Texts)), Ours: []float64{0}, Counted: true, Bar: &none, Ceiling: true,
		Note: fmt.Sprintf("%s, %s ids; %s tokens in %.1f MB; sha256 of the strings %.16s, of the ids %.16s",
			info.Kind, bench.Thousands(int64(info.Vocab)), bench.Thousands(p.Tokens), float64(p.Bytes)/1e6, p.TextsSHA256, p.IDsSHA256),
	})
}

// compareIDs holds the ids that the peer wrote against ours.
func compareIDs(job peers.TokenizeJob, tok tokenize.Tokenizer) (p peers.Parity, err error) {
	texts, err := os.Open(job.Texts)
	if err != nil {
		return p, err
	}
	defer texts.Close()
	theirs, err := os.Open(job.Out)
	if err != nil {
		return p, err
	}
	defer theirs.Close()
	var ids []int32
	return peers.CompareIDs(texts, theirs, func(text []byte) []int32 {
		ids = tok.AppendIDs(ids[:0], text)
		return ids
	})
}

// addedTokens lists the added tokens of a tokenizer.json.
func addedTokens(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Added []struct{ Content string } `json:"added_tokens"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("added tokens of %s: %w", file, err)
	}
	var tokens []string
	for _, a := range parts.Added {
		tokens = append(tokens, a.Content)
	}
	return tokens, nil
}

// writeTexts writes what all gives as a peer reads it.
func writeTexts(path string, all func(write func([]byte))) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write texts: %w", err)
	}
	w := bufio.NewWriter(f)
	var buf []byte
	all(func(text []byte) {
		buf = peers.AppendText(buf[:0], text)
		w.Write(buf) // Flush gives its error
	})
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write texts %s: %w", path, err)
	}
	return nil
}
