package tokenize

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// smallBPE is a tokenizer.json of the BPE family to spoil.
const smallBPE = `{
	"version": "1.0", "truncation": null, "padding": null,
	"added_tokens": [
		{"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	],
	"normalizer": {"type": "NFC"},
	"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
	"post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
	"decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
	"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
		"byte_fallback": false, "ignore_merges": false,
		"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u0120": 4, "\u2581": 5, "<0x61>": 6},
		"merges": ["a b"]}
}`

func TestLoadBPERefuses(t *testing.T) {
	const (
		byteLevel          = `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`
		normalizer, merges = `{"type": "NFC"}`, `["a b"]`
		token              = `"normalized": false, "special": true}`
	)
	split := func(pattern, rest string) string {
		return `{"type": "Split", "pattern": ` + pattern + `, "behavior": ` + rest + `}`
	}
	sequence := func(list ...string) string {
		return `{"type": "Sequence", "pretokenizers": [` + strings.Join(list, ", ") + `]}`
	}
	added := func(content, flags string) string {
		return token + `, {"id": 7, "content": "` + content + `", "normalized": true, "special": false` + flags + `}`
	}
	for _, c := range []struct {
		name, old, new string
		want           string
		unsupported    bool
	}{
		{"dropout", `"dropout": null`, `"dropout": 0.1`, `model: dropout of 0.1 is not supported; supported: none (dropout gives other ids every time)`, true},
		{"prefix", `prefix": null`, `prefix": "##"`, `model: continuing_subword_prefix "##" is not supported; supported: none`, true},
		{"suffix", `suffix": null`, `suffix": "</w>"`, `model: end_of_word_suffix "</w>" is not supported; supported: none`, true},
		{"unknown option", `"fuse_unk"`, `"cache": 3, "fuse_unk"`, `model: unknown field "cache"; known are type, dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback, ignore_merges, vocab, merges`, false},
		{"no vocab", `"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u0120": 4, "\u2581": 5, "<0x61>": 6}`, `"vocab": null`, `model: BPE has no vocab`, false},
		{"vocab", `"ab": 3`, `"ab": 2`, `model: vocab: tokens "b" and "ab" both have id 2`, false},
		{"huge id", `"ab": 3`, `"ab": 3000000`, `model: ids up to 3000000 are not supported; supported: up to 2097151`, true},
		{"no merges", merges, `null`, `model: BPE has no merges`, false},
		{"unknown token", `"unk_token": null`, `"unk_token": "<x>"`, `model: unknown token "<x>" is not in the vocabulary of 7 tokens`, false},
		{"merges of another kind", merges, `{"a": "b"}`, `model: merges: expected a list, found {"a": "b"}`, false},
		{"merge of one token", merges, `["a b", "ab"]`, `model: merges: merge 1: expected two tokens, as in "a b" or ["a", "b"], found "ab"`, false},
		{"merge of three tokens", merges, `["a b a"]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found "a b a"`, false},
		{"merge of an empty token", merges, `[" b"]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found " b"`, false},
		{"merge list of one", merges, `[["a"]]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found ["a"]`, false},
		{"merge list of three", merges, `[["a", "b", "a"]]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found ["a", "b", "a"]`, false},
		{"merge list of ids", merges, `[[1, 2]]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found [1, 2]`, false},
		{"merge of another kind", merges, `[17]`, `model: merges: merge 0: expected two tokens, as in "a b" or ["a", "b"], found 17`, false},
		{"merge with an unknown left token", merges, `["x b"]`, `model: merges: merge 0 joins "x" and "b", but "x" is not in the vocabulary of 7 tokens`, false},
		{"merge with an unknown right token", merges, `["a b", ["a", "y"]]`, `model: merges: merge 1 joins "a" and "y", but "y" is not in the vocabulary of 7 tokens`, false},
		{"merge with an unknown sum", merges, `["b a"]`, `model: merges: merge 0 joins "b" and "a", but their sum "ba" is not in the vocabulary of 7 tokens`, false},
		{"merge twice", merges, `["a b", "#version: 0.2", ["a", "b"]]`, `model: merges: merges 0 and 1 both join "a" and "b"`, false},
		{"merge of the unknown token", `"unk_token": null`, `"unk_token": "a"`, `model: merge 0 joins "a", which stands for unknown characters: that is not supported`, true},
		{"normalizer", normalizer, `{"type": "Nfc"}`, `normalizer: normalizer type "Nfc" is not supported; supported: ` + normalizers, true},

		{"pre-tokenizer", byteLevel, `{"type": "BertPreTokenizer"}`, `pre_tokenizer: pre-tokenizer type "BertPreTokenizer" is not supported; supported: ` + supportedSplits, true},
		{"pre-tokenizer without type", byteLevel, `{}`, `pre_tokenizer: it has no type`, false},
		{"pre-tokenizer behind ByteLevel", byteLevel, sequence(byteLevel, `{"type": "Digits", "individual_digits": true}`), `pre_tokenizer: a pre-tokenizer behind ByteLevel is not supported`, true},
		{"prefix in a sequence", byteLevel, sequence(`{"type": "Digits", "individual_digits": true}`, strings.Replace(byteLevel, "false", "true", 1)), `pre_tokenizer: pre-tokenizer ByteLevel with add_prefix_space in a Sequence is not supported`, true},
		{"ByteLevel lacks", byteLevel, `{"type": "ByteLevel"}`, `pre_tokenizer: pre-tokenizer ByteLevel has no add_prefix_space or no trim_offsets`, false},
		{"ByteLevel option", `"use_regex": true},
	"post`, `"regex": true},
	"post`, `pre_tokenizer: unknown field "regex"; known are type, add_prefix_space, trim_offsets, use_regex`, false},
		{"Sequence without list", byteLevel, `{"type": "Sequence"}`, `pre_tokenizer: a Sequence has no pretokenizers`, false},
		{"Sequence option", byteLevel, `{"type": "Sequence", "pretokenizers": [], "x": 1}`, `pre_tokenizer: a Sequence has the unknown field "x"; known are type, pretokenizers`, false},
		{"Sequence of null", byteLevel, sequence(`{"type": "Digits", "individual_digits": true}`, `null`), `pre_tokenizer: pretokenizers of a Sequence: member 1 is null`, false},
		{"Sequence of another kind", byteLevel, `{"type": "Sequence", "pretokenizers": {}}`, `pre_tokenizer: pretokenizers of a Sequence: found object, expected a list`, false},
		{"Split without pattern", byteLevel, split(`{}`, `"Isolated", "invert": false`), `pre_tokenizer: pre-tokenizer Split has no pattern, or two`, false},
		{"Split with two", byteLevel, split(`{"Regex": "a", "String": "b"}`, `"Isolated", "invert": false`), `pre_tokenizer: pre-tokenizer Split has no pattern, or two`, false},
		{"Split by an unknown pattern", byteLevel, split(`{"Regex": "\\p{L}+"}`, `"Isolated", "invert": false`), `pre_tokenizer: pre-tokenizer Split by the pattern "\\p{L}+" is not supported; supported, by their exact text: those of GPT-2, Llama 3, Qwen2, Qwen3.5, o200k`, true},
		{"Split that removes", byteLevel, split(fmt.Sprintf(`{"Regex": %q}`, patterns[1].regex), `"Removed", "invert": false`),
			`pre_tokenizer: pre-tokenizer Split by a pattern with behavior "Removed", invert false is not supported; supported: "Isolated", or "Removed" with invert`, true},
		{"Split inverted", byteLevel, split(`{"String": "a"}`, `"Isolated", "invert": true`), `pre_tokenizer: pre-tokenizer Split by the text "a" with invert true is not supported`, true},
		{"Split by nothing", byteLevel, split(`{"String": ""}`, `"Isolated", "invert": false`), `pre_tokenizer: pre-tokenizer Split by the text "" with invert false is not supported`, true},
		{"Split behavior", byteLevel, split(`{"String": "a"}`, `"Contiguous", "invert": false`), `pre_tokenizer: pre-tokenizer Split by a text with behavior "Contiguous" is not supported; supported: Isolated, Removed, MergedWithPrevious, MergedWithNext`, true},
		{"Punctuation", byteLevel, `{"type": "Punctuation", "behavior": "Removed"}`, `pre_tokenizer: pre-tokenizer Punctuation with behavior "Removed" is not supported; supported: Isolated, Contiguous`, true},
		{"Digits lacks", byteLevel, `{"type": "Digits"}`, `pre_tokenizer: pre-tokenizer Digits has no individual_digits`, false},
		{"Split lacks", byteLevel, `{"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated"}`, `pre_tokenizer: pre-tokenizer Split has no invert`, false},
		{"Digits option", byteLevel, `{"type": "Digits", "alone": true}`, `pre_tokenizer: unknown field "alone"; known are type, individual_digits`, false},
		{"Whitespace option", byteLevel, `{"type": "Whitespace", "alone": true}`, `pre_tokenizer: unknown field "alone"; known are type`, false},
		{"Metaspace", byteLevel, `{"type": "Metaspace", "replacement": "_"}`, `pre_tokenizer: pre-tokenizer Metaspace in a Sequence, or with another replacement than "▁", is not supported`, true},
		{"Metaspace in a sequence", byteLevel, sequence(`{"type": "Digits", "individual_digits": true}`, `{"type": "Metaspace", "replacement": "\u2581"}`), `pre_tokenizer: pre-tokenizer Metaspace in a Sequence, or with another replacement than "▁", is not supported`, true},
		{"Metaspace first", normalizer + `,
	"pre_tokenizer": ` + byteLevel, `{"type": "Lowercase"},
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}`,
			`pre_tokenizer: pre-tokenizer Metaspace with prepend_scheme "first" is not supported behind a normalizer other than NFC, NFD, NFKC, NFKD; supported: always, never`, true},

		{"added tokens alike", token, added(`e\u0301`, ``) + `, {"id": 8, "content": "\u00e9", "normalized": true, "special": false}`, "added_tokens: tokens with ids 7 and 8 are both \"\u00e9\" once normalised", false},
		{"added token out of range", `"id": 0, "content": "<unk>"`, `"id": 9, "content": "<x>"`, `added_tokens: "<x>" has id 9, the reference tokenizer would give it 7`, false},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefused(t, smallBPE, c.old, c.new, c.want, c.unsupported) })
	}
	marked := strings.NewReplacer(normalizer, jsonSpace, byteLevel, `null`).Replace(smallBPE)
	meta := strings.Replace(smallBPE, byteLevel, `{"type": "Metaspace", "replacement": "\u2581"}`, 1)
	const spaced = `normalized true and holds or strips spaces, which the file makes marks of: together they are not supported`
	checkRefused(t, marked, token, added("<left>", `, "lstrip": true`), `added_tokens: "<left>" has `+spaced, true)
	checkRefused(t, meta, token, added("a b", ``), `added_tokens: "a b" has `+spaced, true)
}

// checkRefused loads file with old replaced by new and compares the error.
func checkRefused(t *testing.T, file, old, new, want string, unsupported bool) {
	t.Helper()
	if !strings.Contains(file, old) {
		t.Fatalf("%q is not in the file to spoil", old)
	}
	_, _, err := Load(strings.NewReader(strings.Replace(file, old, new, 1)))
	if err == nil {
		t.Fatal("no error")
	}
	if want = "tokenizer.json: " + want; err.Error() != want {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
	if errors.Is(err, ErrUnsupported) != unsupported {
		t.Errorf("%v: wraps ErrUnsupported: %v, want %v", err, !unsupported, unsupported)
	}
}

func TestTooManyMerges(t *testing.T) {
	m := &bpeModel{core: core{vocab: map[string]int32{"a": 0, "b": 1, "ab": 2, "ba": 3}}}
	err := m.parseMerges([]byte(`["a b", "b a"]`), 1)
	if want := "more than 1 are not supported"; err == nil || err.Error() != want || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLoadBPEAccepts(t *testing.T) {
	for _, c := range []struct {
		name, old, new, text string
		want                 []int32
	}{
		{"as it is", ``, ``, "ab ab", []int32{3, 4, 3}},
		{"an old library's model", `"type": "BPE", "dropout": null`, `"dropout": 0.0`, "ab", []int32{3}},
		{"empty prefix and suffix", `prefix": null, "end_of_word_suffix": null`, `prefix": "", "end_of_word_suffix": ""`, "abab", []int32{3, 3}},
		{"merges as pairs", `["a b"]`, `[ [ "a" , "b" ] ]`, "ab", []int32{3}},
		{"merges with a version", `["a b"]`, `["#version: 0.2", "a b"]`, "ab", []int32{3}},
		{"no merges", `["a b"]`, `[]`, "ab", []int32{1, 2}},
		{"no normalizer", `{"type": "NFC"}`, `null`, "ab", []int32{3}},
		{"unknown bytes left out", ``, ``, "axb", []int32{3}},
		{"spaces left out of one pre-token", `"use_regex": true`, `"use_regex": false`, "a  b", []int32{1, 4, 4, 2}},
		{"white space left out of a text", `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`, `null`, "a  \x00 b", []int32{3}},
		{"bytes of a visible byte", `"byte_fallback": false, "ignore_merges": false,
		"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u0120": 4, "\u2581": 5, "<0x61>": 6}`, `"byte_fallback": true, "ignore_merges": false,
		"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<0xC4>": 4, "<0xA0>": 5, "<0x20>": 6}`, "a b", []int32{1, 4, 5, 2}},
		{"unknown bytes", `"unk_token": null`, `"unk_token": "<unk>"`, "axyb", []int32{1, 0, 0, 2}},
		{"unknown bytes fused", `"unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false`, `"unk_token": "<unk>", "fuse_unk": true`, "axyb", []int32{1, 0, 2}},
		{"whole words", `"ignore_merges": false`, `"ignore_merges": true`, "ab", []int32{3}},
		{"a word that merges do not make", `"ignore_merges": false,
		"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u0120": 4, "\u2581": 5, "<0x61>": 6}`, `"ignore_merges": true,
		"vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u0120": 4, "\u0120bb": 5, "aa": 6}`, "aa bb aab", []int32{6, 5, 4, 1, 3}},
	} {
		tok, info, err := Load(strings.NewReader(strings.Replace(smallBPE, c.old, c.new, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := tok.AppendIDs(nil, []byte(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q gives %v, want %v", c.name, c.text, got, c.want)
		}
		if info.Kind != "BPE" || info.Vocab != 7 || info.Added != 1 {
			t.Errorf("%s: info %+v", c.name, info)
		}
		want := Template{Single: []Piece{{Text: 'A'}}, Pair: []Piece{{Text: 'A'}, {Text: 'B', Type: 1}}}
		if got := tok.Template(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: template %+v, want %+v", c.name, got, want)
		}
	}
}

// A text that is one pre-token is looked up as a whole, its parts are not.
func TestIgnoreMergesOfWholeTexts(t *testing.T) {
	file := strings.NewReplacer(`{"type": "NFC"}`, jsonSpace, `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`, `null`,
		`"ignore_merges": false`, `"ignore_merges": true`, `"\u0120": 4, "\u2581": 5, "<0x61>": 6`, `"\u2581": 4, "a\u2581b": 5, "aa": 6`).Replace(smallBPE)
	tok, _, err := Load(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int32{"a b": {5}, "a b b": {1, 4, 2, 4, 2}, "aa": {6}, "aa b": {1, 1, 4, 2}, "ab": {3}, "a\u2581b": {5}, "aa\u2581ab": {1, 1, 4, 3}} {
		ids, spans := tok.AppendSpans(nil, nil, []byte(text))
		if got := tok.AppendIDs(nil, []byte(text)); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(ids, want) {
			t.Errorf("%q gives %v and %v, want %v", text, got, ids, want)
		}
		for _, s := range spans {
			if s != (Span{0, int32(len(text))}) {
				t.Errorf("%q: span %v, want all", text, s)
			}
		}
	}
}
