package train_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/corpus/tokenize"
	"encbench/corpus/tokenize/train"
)

func text(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "text.txt"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// trained trains a layout on the test's text.
func trained(tb testing.TB, name string) (*train.Layout, *train.Tokenizer, []byte) {
	tb.Helper()
	l, err := train.Find(name)
	if err != nil {
		tb.Fatal(err)
	}
	c := l.Counter()
	c.Add(text(tb))
	tok, err := l.Train(context.Background(), c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var file bytes.Buffer
	if err := tok.Write(&file); err != nil {
		tb.Fatal(err)
	}
	return l, tok, file.Bytes()
}

// Every layout gives a file that package tokenize reads, with all its ids, the special
// tokens in their places, and the same bytes on every machine.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		size       int
		learnt     int
		special    tokenize.Special
		single     string // tokens of "the parameter Größe"
		sha256     string // of the file
	}{
		{
			"ModernBERT", "BPE", 50_368, 210, tokenize.Special{UNK: 50_280, CLS: 50_281, SEP: 50_282, PAD: 50_283, MASK: 50_284},
			"50281|the|Ġparameter|Ġ|G|rÃ¶|Ã|Ł|e|50282", "dfddf20d43326a0f56dafe4c35d368805cab8b1a4148eab7992a0cd0dc6f4b90",
		},
		{
			"Granite multilingual 180k", "BPE", 180_000, 208, tokenize.Special{UNK: -1, CLS: -1, SEP: -1, PAD: -1, MASK: -1},
			"<|startoftext|>|the|Ġparameter|Ġ|G|rÃ¶|Ã|Ł|e|<|return|>", "da733b83eb7f1aa57ee1f5cf0efcd189588487d1b4913eb4ae58c8b1a9adb8e1",
		},
		{
			"Gemma 3", "BPE", 262_152, 197, tokenize.Special{UNK: 3, CLS: 2, SEP: 1, PAD: 0, MASK: 4},
			"<bos>|the|▁parameter|▁|G|rö|<0xC3>|<0x9F>|e", "9c041f875a7898af0f81085cd5ae3a4b946dcbac9d0df553e5b5e51dde47478f",
		},
		{
			"Qwen3", "BPE", 151_669, 208, tokenize.Special{UNK: -1, CLS: -1, SEP: -1, PAD: -1, MASK: -1},
			"the|Ġparameter|Ġ|G|rÃ¶|Ã|Ł|e|151643", "5527a86d9321b605dbe9528480a9a570198d7d061f1a9f49dd702f15ff586de1",
		},
		{
			"XLM-RoBERTa", "Unigram", 250_002, 259, tokenize.Special{UNK: 3, CLS: 0, SEP: 2, PAD: 1, MASK: 250_001},
			"<s>|▁the|▁parameter|▁G|rö|ß|e|</s>", "3af1a2e8de797350d321f081610215a94b2ce77e794378ee79e43978be38805d",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, made, file := trained(t, c.name)
			tok, info, err := tokenize.Load(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if info.Kind != c.kind || tok.VocabSize() != c.size || l.Size != c.size || tok.Special() != c.special {
				t.Errorf("%s of %d ids, special %+v; want %s of %d, %+v", info.Kind, tok.VocabSize(), tok.Special(), c.kind, c.size, c.special)
			}
			learnt, unused, err := l.Learnt(file)
			if err != nil || learnt != c.learnt || unused != made.Unused || unused < c.size/2 {
				t.Errorf("%d learnt, %d unused, %v; want %d, %d", learnt, unused, err, c.learnt, made.Unused)
			}
			var words []string
			for _, id := range tok.Template().AppendSingle(nil, tok.AppendIDs(nil, []byte("the parameter Größe"))) {
				words = append(words, name(made, int(id)))
			}
			if got := strings.Join(words, "|"); got != c.single {
				t.Errorf("tokens %s, want %s", got, c.single)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(file)); got != c.sha256 {
				t.Errorf("the file has sha256 %s, want %s", got, c.sha256)
			}
		})
	}
}

// name gives the token of an id.
func name(t *train.Tokenizer, id int) string {
	if id < len(t.Vocab) {
		return t.Vocab[id]
	}
	return fmt.Sprint(id)
}

// Of invalid UTF-8 comes a file that can be read.
func TestInvalidText(t *testing.T) {
	l, err := train.Find("XLM-RoBERTa")
	if err != nil {
		t.Fatal(err)
	}
	c := l.Counter()
	c.Add([]byte("a\xff b\xfe \xc3 \xe2\x82 x\xed\xa0\x80 \xff\xfe a\xff"))
	made, err := l.Train(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := made.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tokenize.Load(&file); err != nil {
		t.Error(err)
	}
}

func TestTrainRefuses(t *testing.T) {
	if _, err := train.Find("WordPiece"); err == nil || err.Error() != `unknown tokenizer family "WordPiece"; known are ModernBERT, Granite multilingual 180k, Gemma 3, Qwen3, XLM-RoBERTa` {
		t.Error(err)
	}
	l, err := train.Find("ModernBERT")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Learnt([]byte("{")); err == nil || err.Error() != "read tokenizer of ModernBERT's family: unexpected end of JSON input" {
		t.Error(err)
	}
	none := l.Counter()
	none.Add(nil)
	if _, err := l.Train(context.Background(), none, nil); err == nil || err.Error() != "train tokenizer ModernBERT: 1 texts have no words" {
		t.Error(err)
	}
	small := *l
	small.Size = 300
	c := l.Counter()
	c.Add(text(t))
	if _, err := small.Train(context.Background(), c, nil); err == nil || err.Error() != "train tokenizer ModernBERT: the text has 256 characters, there are ids for 184" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Train(ctx, c, nil); err == nil || err.Error() != "train tokenizer ModernBERT: context canceled" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, tok, _ := trained(t, "ModernBERT")
	if err := tok.Write(full{}); err == nil || err.Error() != "write tokenizer ModernBERT: short write" {
		t.Error(err)
	}
}

// full is a full disk.
type full struct{}

func (full) Write(p []byte) (int, error) { return 0, io.ErrShortWrite }
