package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// modernBERT loads the real tokenizer, which lies beside the repository, where it
// does.
func modernBERT(tb testing.TB) (Tokenizer, Info) {
	tb.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "tokenizers", "modernbert", "tokenizer.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("no tokenizer at %s", path)
	}
	return load(tb, path)
}

// checkBPEGolden compares ids and pairs, and makes sure that every token lies in the
// span of its pre-token.
func checkBPEGolden(t *testing.T, tok Tokenizer, g golden) {
	t.Helper()
	tmpl := tok.Template()
	prefix, suffix := tmpl.Around()
	for _, s := range g.Singles {
		if got := tmpl.AppendSingle(nil, tok.AppendIDs(nil, []byte(s.Text))); !slices.Equal(got, s.IDs) {
			t.Errorf("%q\n got %v\nwant %v", s.Text, got, s.IDs)
			continue
		}
		_, spans := tok.AppendSpans(nil, nil, []byte(s.Text))
		offsets := s.Offsets[len(prefix) : len(s.Offsets)-len(suffix)]
		at := []int32{}
		for i := range s.Text {
			at = append(at, int32(i))
		}
		at = append(at, int32(len(s.Text)))
		for i, o := range offsets {
			if span := spans[i]; at[o[0]] < span.Start || at[o[1]] > span.End {
				t.Errorf("%q: token %d at %v, its span is %v", s.Text, i, o, span)
			}
		}
	}
	for _, p := range g.Pairs {
		ids, types := tmpl.AppendPair(nil, nil, tok.AppendIDs(nil, []byte(p.A)), tok.AppendIDs(nil, []byte(p.B)))
		if !slices.Equal(ids, p.IDs) || !slices.Equal(types, p.TypeIDs) {
			t.Errorf("%q, %q\n got %v %v\nwant %v %v", p.A, p.B, ids, types, p.IDs, p.TypeIDs)
		}
	}
}

func TestBPEGoldens(t *testing.T) {
	for _, c := range []struct {
		path    string
		info    Info
		special Special
	}{
		{roberta, Info{Kind: "BPE", Vocab: 3000, Added: 5, PreTokenizer: "ByteLevel"}, Special{CLS: 0, SEP: 2, PAD: 1, UNK: 3, MASK: 4}},
		{llama3, Info{Kind: "BPE", Vocab: 3000, Added: 2, Normalizer: "NFC", PreTokenizer: "Split, ByteLevel"}, Special{-1, -1, -1, -1, -1}},
		{gemma, Info{Kind: "BPE", Vocab: 3000, Added: 3, Normalizer: "Replace", PreTokenizer: "Split"}, Special{CLS: 1, SEP: 2, PAD: -1, UNK: 0, MASK: -1}},
	} {
		tok, info := load(t, c.path+".tokenizer.json")
		checkBPEGolden(t, tok, readGolden(t, c.path+".golden.json"))
		if info != c.info || tok.Special() != c.special || tok.VocabSize() != 3000 {
			t.Errorf("%s: info %+v, special %+v of %d ids, want %+v, %+v", c.path, info, tok.Special(), tok.VocabSize(), c.info, c.special)
		}
	}
}

func TestModernBERTGoldens(t *testing.T) {
	tok, info := modernBERT(t)
	checkBPEGolden(t, tok, readGolden(t, "testdata/modernbert.json"))
	want := Info{Kind: "BPE", Vocab: 50368, Added: 116, Normalizer: "NFC", PreTokenizer: "ByteLevel"}
	if info != want || tok.VocabSize() != 50368 {
		t.Errorf("info %+v of %d ids, want %+v", info, tok.VocabSize(), want)
	}
	if got, want := tok.Special(), (Special{CLS: 50281, SEP: 50282, PAD: 50283, UNK: 50280, MASK: 50284}); got != want {
		t.Errorf("special %+v, want %+v", got, want)
	}
	// A run of 25 spaces is the token of 24 and a word with a space before it.
	space := tok.AppendIDs(nil, []byte("                        "))
	word := tok.AppendIDs(nil, []byte(" word"))
	if got := tok.AppendIDs(nil, []byte("                         word")); len(space) != 1 || !slices.Equal(got, slices.Concat(space, word)) {
		t.Errorf("25 spaces and a word give %v, want %v and %v", got, space, word)
	}
	// [MASK] takes the space before it along.
	mask := tok.AppendIDs(nil, []byte("a [MASK] b"))
	if want := slices.Concat(tok.AppendIDs(nil, []byte("a")), []int32{50284}, tok.AppendIDs(nil, []byte(" b"))); !slices.Equal(mask, want) {
		t.Errorf("[MASK] gives %v, want %v", mask, want)
	}
}

// TestBPEHostile compares with what the reference made of texts that it was asked
// about once (_gen/bpe_goldens.py).
func TestBPEHostile(t *testing.T) {
	data, err := os.ReadFile("testdata/bpe.hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Base     string
			Sections map[string]json.RawMessage
			Singles  []struct {
				Text string
				IDs  []int32
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		base, err := os.ReadFile("testdata/" + c.Base + ".tokenizer.json")
		if err != nil {
			t.Fatal(err)
		}
		tok, _, err := Load(bytes.NewReader(withSections(t, base, c.Sections)))
		if err != nil {
			t.Fatalf("case %d, %s with %s: %v", i, c.Base, c.Sections, err)
		}
		for _, s := range c.Singles {
			if got := tok.AppendIDs(nil, []byte(s.Text)); !slices.Equal(got, s.IDs) {
				t.Errorf("case %d, %s with %s: %q\n got %v\nwant %v", i, c.Base, c.Sections, s.Text, got, s.IDs)
			}
		}
	}
}

// withSections gives a tokenizer.json with other sections; those that begin with
// "model." are of the model.
func withSections(tb testing.TB, data []byte, sections map[string]json.RawMessage) []byte {
	tb.Helper()
	var f, model map[string]json.RawMessage
	if err := json.Unmarshal(data, &f); err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(f["model"], &model); err != nil {
		tb.Fatal(err)
	}
	for key, value := range sections {
		if field, ok := bytes.CutPrefix([]byte(key), []byte("model.")); ok {
			model[string(field)] = value
		} else {
			f[key] = value
		}
	}
	var err error
	if f["model"], err = json.Marshal(model); err != nil {
		tb.Fatal(err)
	}
	out, err := json.Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
