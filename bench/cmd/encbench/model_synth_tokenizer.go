package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/tokenize"
	"encbench/corpus/tokenize/train"
	"encbench/engine/model"
	"encbench/engine/synth"
)

// synthTokenizer is the tokenizer.json that goes into a stand-in.
type synthTokenizer struct {
	path, from    string
	kind          string // model.SyntheticReal or SyntheticStandIn
	model         string // WordPiece, BPE or Unigram
	ids           int
	learnt        int // merges or pieces, of a stand-in
	unused        int
	charsPerToken float64
}

// learntName names what was learnt.
func (t *synthTokenizer) learntName() string {
	if t.model == "Unigram" {
		return "trained_pieces"
	}
	return "trained_merges"
}

func (t *synthTokenizer) copyTo(w io.Writer) error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// synthTokenizer finds or makes the tokenizer of a stand-in: the user's file,
// MiniLM's, or one that is trained.
func (a *app) synthTokenizer(ctx context.Context, s synth.Shape, file string) (*synthTokenizer, error) {
	if file != "" {
		return openSynthTokenizer(s, &synthTokenizer{path: file, from: file, kind: model.SyntheticReal})
	}
	if s.Vocabulary == synth.WordPieceEnglish {
		got, err := a.asset(ctx, pinnedModels[defaultModel])
		if err != nil {
			return nil, err
		}
		path := filepath.Join(got.Path, "tokenizer.json")
		return openSynthTokenizer(s, &synthTokenizer{path: path, from: pinnedModels[defaultModel], kind: model.SyntheticReal})
	}
	layout, err := train.Find(string(s.Vocabulary))
	if err != nil {
		return nil, err
	}
	in, err := buildTechdocs(ctx, a)
	if err != nil {
		return nil, err
	}
	store, err := a.store()
	if err != nil {
		return nil, err
	}
	name := train.Rule + "-" + strings.ReplaceAll(strings.ToLower(layout.Name), " ", "-") + ".json"
	path, err := store.Derived(ctx, name, func(w io.Writer) error {
		fmt.Fprintf(a.stderr, "training a tokenizer of %s's family on techdocs (once; cached afterwards)\n", layout.Name)
		return a.trainTokenizer(ctx, layout, in, w)
	})
	if err != nil {
		return nil, err
	}
	t, err := openSynthTokenizer(s, &synthTokenizer{path: path, from: "techdocs", kind: model.SyntheticStandIn})
	if err != nil {
		return nil, err
	}
	return t, errors.Join(t.readLearnt(layout), a.measureTokenizer(ctx, t, in))
}

// openSynthTokenizer makes sure that a tokenizer can be read and is of the shape's
// family and size.
func openSynthTokenizer(s synth.Shape, t *synthTokenizer) (*synthTokenizer, error) {
	tok, info, err := tokenize.LoadFile(t.path)
	if err != nil {
		return nil, err
	}
	t.model, t.ids = info.Kind, tok.VocabSize()
	want := map[synth.Vocabulary]string{synth.WordPieceEnglish: "WordPiece", synth.UnigramXLMR: "Unigram"}[s.Vocabulary]
	if want == "" {
		want = "BPE"
	}
	switch {
	case t.model != want:
		return nil, usagef("tokenizer %s is a %s model, that of %s is %s: give the model's own", t.path, t.model, s.Hub, want)
	case t.ids > s.Vocab || t.ids < s.Vocab-s.Vocab/50:
		return nil, usagef("tokenizer %s has %s ids, %s has %s: give the model's own", t.path, bench.Thousands(int64(t.ids)), s.Hub, bench.Thousands(int64(s.Vocab)))
	}
	return t, nil
}

// trainTokenizer trains a tokenizer on a corpus.
func (a *app) trainTokenizer(ctx context.Context, l *train.Layout, in *input, w io.Writer) error {
	c := l.Counter()
	if err := a.eachText(ctx, in, "count words", c.Add); err != nil {
		return err
	}
	p := a.progress()
	defer p.clear()
	tok, err := l.Train(ctx, c, func(done, total int) {
		p.show(float64(done)/float64(total), func() string { return "learn" })
	})
	if err != nil {
		return err
	}
	return tok.Write(w)
}

// eachText gives the texts of techdocs to visit.
func (a *app) eachText(ctx context.Context, in *input, what string, visit func([]byte)) error {
	e, err := corpus.Describe(corpus.Techdocs)
	if err != nil {
		return err
	}
	src, err := in.open()
	if err != nil {
		return err
	}
	defer src.Close()
	p := a.progress()
	defer p.clear()
	done := int64(0)
	for src.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		text := src.Doc().Text
		visit(text)
		done += int64(len(text))
		p.show(float64(done)/float64(e.TextBytes), func() string { return what })
	}
	return src.Err()
}

// readLearnt counts what the tokenizer learnt.
func (t *synthTokenizer) readLearnt(l *train.Layout) error {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	t.learnt, t.unused, err = l.Learnt(data)
	return err
}

// measureTokenizer measures how many characters of techdocs make a token.
func (a *app) measureTokenizer(ctx context.Context, t *synthTokenizer, in *input) error {
	tok, _, err := tokenize.LoadFile(t.path)
	if err != nil {
		return err
	}
	chars, tokens := 0, 0
	var ids []int32
	err = a.eachText(ctx, in, "measure the tokenizer", func(text []byte) {
		ids = tok.AppendIDs(ids[:0], text)
		chars += utf8.RuneCount(text)
		tokens += len(ids)
	})
	t.charsPerToken = float64(chars) / float64(max(1, tokens))
	return err
}
