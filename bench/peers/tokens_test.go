package peers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// byteIDs is a tokenizer whose ids are the bytes of a text.
func byteIDs(text []byte) []int32 {
	ids := make([]int32, len(text))
	for i, b := range text {
		ids[i] = int32(b)
	}
	return ids
}

func packedIDs(lists ...[]int32) []byte {
	var out []byte
	for _, ids := range lists {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(ids)))
		for _, id := range ids {
			out = binary.LittleEndian.AppendUint32(out, uint32(id))
		}
	}
	return out
}

func TestCompareIDs(t *testing.T) {
	var texts []byte
	for _, text := range []string{"ab", "", "\xffé"} {
		texts = AppendText(texts, []byte(text))
	}
	equal := packedIDs([]int32{97, 98}, nil, []int32{255, 195, 169})
	got, err := CompareIDs(bytes.NewReader(texts), bytes.NewReader(equal), byteIDs)
	if err != nil || got.Texts != 3 || got.Bytes != 5 || got.Tokens != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	// sha256sum of the two files.
	if got.TextsSHA256[:16] != "be967613bed44b8b" || got.IDsSHA256[:16] != "680565d29e8a4461" {
		t.Errorf("sha256 of texts %s, of ids %s", got.TextsSHA256, got.IDsSHA256)
	}
	_, err = CompareIDs(bytes.NewReader(texts), bytes.NewReader(packedIDs([]int32{97, 98}, nil, []int32{255, 195})), byteIDs)
	const want = "the peer's token ids differ from ours: text 2, \"\\xffé\"\nours:   [255 195 169]\ntheirs: [255 195]"
	var d *Disagreement
	if !errors.As(err, &d) || !errors.Is(err, ErrIDs) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if d.Number != 2 || !slices.Equal(d.Theirs, []int32{255, 195}) {
		t.Errorf("%+v", d)
	}
}

func TestCompareIDsOfBrokenFiles(t *testing.T) {
	texts := AppendText(AppendText(nil, []byte("ab")), []byte("c"))
	ids := packedIDs([]int32{97, 98}, []int32{99})
	for _, c := range []struct {
		name       string
		texts, ids []byte
		want       string
	}{
		{"ids end early", texts, ids[:12], "read the peer's ids of text 1: EOF"},
		{"ids end in a list", texts, ids[:18], "read the peer's ids of text 1: unexpected EOF"},
		{"a list without ids", texts, ids[:16], "read the peer's ids of text 1: unexpected EOF"},
		{"ids go on", texts, append(slices.Clone(ids), 0, 0, 0, 0), "read the peer's ids: the file goes on after those of the last text, number 1"},
		{"texts end in a text", texts[:len(texts)-1], ids, "read text 1: unexpected EOF"},
		{"texts end in a length", texts[:8], ids, "read text 1: unexpected EOF"},
		{"a length beyond the file", []byte{255, 255, 255, 255, 1}, ids, "read text 0: unexpected EOF"},
	} {
		_, err := CompareIDs(bytes.NewReader(c.texts), bytes.NewReader(c.ids), byteIDs)
		if err == nil || err.Error() != c.want || errors.Is(err, ErrIDs) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestTokenizerCommands: what the worker is asked for, and what comes back.
func TestTokenizerCommands(t *testing.T) {
	w := start(t, "good")
	got, err := w.Tokenize(t.Context(), TokenizeJob{Tokenizer: "t.json", Texts: "a.texts", Out: "a.ids"})
	if err != nil || got != (Tokenized{Texts: 3, Tokens: 17}) {
		t.Errorf("Tokenize = %+v, %v", got, err)
	}
	trained, err := w.Train(t.Context(), TrainJob{Template: "t.json", Texts: "a.texts", Out: "out.json", Size: 50})
	if err != nil || trained != (Trained{Pieces: 51, WallS: 2}) {
		t.Errorf("Train = %+v, %v", trained, err)
	}
	_, err = w.Tokenize(t.Context(), TokenizeJob{Tokenizer: "broken.json"})
	if err == nil || !strings.HasPrefix(err.Error(), "peer hf-tokenizers: tokenize: ") {
		t.Errorf("Tokenize of a broken file = %v", err)
	}
}
