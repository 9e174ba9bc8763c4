package tokenize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// small is a tokenizer.json to spoil.
const small = `{
	"version": "1.0", "truncation": null, "padding": null,
	"added_tokens": [
		{"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
		{"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
	"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}}
}`

func TestLoadRefuses(t *testing.T) {
	const template = `"post_processor": {"type": "TemplateProcessing", "single": %s, "pair": %s, "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [%d], "tokens": ["[CLS]"]}}}`
	const (
		bert = `"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`
		a    = `{"Sequence": {"id": "A", "type_id": 0}}`
		b    = `{"Sequence": {"id": "B", "type_id": 1}}`
		cls  = `{"SpecialToken": {"id": "[CLS]", "type_id": 0}}`
	)
	for _, c := range []struct {
		name, old, new string
		want           string // error; ends in … when only its beginning matters
		unsupported    bool
	}{
		{"model", `"type": "WordPiece", "unk`, `"type": "WordLevel", "unk`, `tokenizer.json: model: tokenizer model type "WordLevel" is not supported; supported: BPE, Unigram, WordPiece`, true},
		{"model without type", `"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"`, `"unk_token": "[UNK]"`, `tokenizer.json: model: tokenizer model without a type is not supported; supported: BPE, Unigram, WordPiece`, true},
		{"no model", small, `{"version": "1.0"}`, `tokenizer.json: model: missing`, false},
		{"not UTF-8", `"##b"`, "\"\xffb\"", `tokenizer.json: byte 853 is 0xff, which is not UTF-8`, false},
		{"half a pair", `"##b"`, `"\\\ud800b"`, `tokenizer.json: \ud800 at byte 855 is half of a surrogate pair`, false},
		{"half a pair before a character", `"##b"`, `"\ud83d\u0041"`, `tokenizer.json: \ud83d at byte 853 is half of a surrogate pair`, false},
		{"second half of a pair", `"##b"`, `"\ude00"`, `tokenizer.json: \ude00 at byte 853 is half of a surrogate pair`, false},
		{"section twice", `"model": {`, `"decoder": {`, `tokenizer.json: field "decoder" stands there twice`, false},
		{"section in capitals", `"padding"`, `"Padding"`, `tokenizer.json: unknown field "Padding"; known are version, truncation, padding, added_tokens, normalizer, pre_tokenizer, post_processor, decoder, model`, false},
		{"capitals beside", `"lowercase": true`, `"lowercase": true, "Lowercase": false`, `tokenizer.json: normalizer: unknown field "Lowercase"; known are type, clean_text, handle_chinese_chars, strip_accents, lowercase`, false},
		{"capitals alone", `"lowercase": true`, `"LowerCase": true`, `tokenizer.json: normalizer: unknown field "LowerCase"; known are type, clean_text, handle_chinese_chars, strip_accents, lowercase`, false},
		{"option twice", `"lowercase": true`, `"lowercase": true, "lowercase": false`, `tokenizer.json: normalizer: field "lowercase" stands there twice`, false},
		{"type in capitals", `{"type": "BertPreTokenizer"}`, `{"Type": "BertPreTokenizer"}`, `tokenizer.json: pre_tokenizer: it has no type`, false},
		{"type of the model in capitals", `"type": "WordPiece", "unk`, `"Type": "WordPiece", "unk`, `tokenizer.json: model: unknown field "Type"; known are type, unk_token, continuing_subword_prefix, max_input_chars_per_word, vocab`, false},
		{"added token's capitals", `"id": 1, "content"`, `"id": 1, "Content": "x", "content"`, `tokenizer.json: added_tokens: unknown field "Content"; known are id, content, single_word, lstrip, rstrip, normalized, special`, false},
		{"kind of type", `"type": "WordPiece", "unk`, `"type": 3, "unk`, `tokenizer.json: model: type: found number, expected a string`, false},
		{"kind of a number", `word": 100`, `word": 1.5`, `tokenizer.json: model: max_input_chars_per_word: found number 1.5, expected a whole number`, false},
		{"kind of a flag", `"lowercase": true`, `"lowercase": "yes"`, `tokenizer.json: normalizer: lowercase: found string, expected true or false`, false},
		{"kind of an id", `"id": 1, "content"`, `"id": 99999999999, "content"`, `tokenizer.json: added_tokens: id: found number 99999999999, expected a whole number of 32 bits`, false},
		{"kind of a section", `{"type": "BertPreTokenizer"}`, `[]`, `tokenizer.json: pre_tokenizer: found array, expected an object`, false},
		{"kind of a list", `"added_tokens": [`, `"added_tokens": {}, "x": [`, `tokenizer.json: unknown field "x"; known are version, truncation, padding, added_tokens, normalizer, pre_tokenizer, post_processor, decoder, model`, false},
		{"huge number", `word": 100`, `word": 1` + strings.Repeat("0", 100), `tokenizer.json: model: max_input_chars_per_word: found number 1` + strings.Repeat("0", 52) + `, expected a whole number`, false},
		{"long words", `word": 100`, `word": 10001`, `tokenizer.json: model: max_input_chars_per_word of 10001 is not supported; supported: 0 to 10000 (100 is usual)`, true},
		{"unknown option", `"max_input`, `"dropout": 0.1, "max_input`, `tokenizer.json: model: unknown field "dropout"; known are type, unk_token, continuing_subword_prefix, max_input_chars_per_word, vocab`, false},
		{"no prefix", `"continuing_subword_prefix": "##", `, ``, `tokenizer.json: model: WordPiece has no continuing_subword_prefix`, false},
		{"negative length", `word": 100`, `word": -1`, `tokenizer.json: model: max_input_chars_per_word is -1: must not be negative`, false},
		{"unknown missing", `"unk_token": "[UNK]"`, `"unk_token": "<unk>"`, `tokenizer.json: model: unknown token "<unk>" is not in the vocabulary of 5 tokens`, false},
		{"id twice", `"##b": 4`, `"##b": 3`, `tokenizer.json: model: vocab: tokens "a" and "##b" both have id 3`, false},
		{"token twice", `"##b": 4`, `"a": 4`, `tokenizer.json: model: vocab: token "a" is listed twice, with ids 3 and 4`, false},
		{"negative id", `"##b": 4`, `"##b": -4`, `tokenizer.json: model: vocab: token "##b" has id -4, outside 0 to 16777215`, false},
		{"huge id", `"##b": 4`, `"##b": 99999999`, `tokenizer.json: model: vocab: token "##b" has id 99999999, outside 0 to 16777215`, false},
		{"id not a number", `"##b": 4`, `"##b": "4"`, `tokenizer.json: model: vocab: id of token "##b" is not a whole number: "4"`, false},
		{"vocab not an object", `{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}`, `[]`, `tokenizer.json: model: vocab: expected an object of token: id, found []`, false},
		{"empty vocab", `{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}`, `{}`, `tokenizer.json: model: vocab: it is empty`, false},
		{"huge token", `"##b": 4`, `"` + strings.Repeat("b", 5000) + `": 4`, `tokenizer.json: model: vocab: token with id 4 has 5000 bytes, more than 4096`, false},
		{"normalizer", `"BertNormalizer"`, `"NFKC"`, `tokenizer.json: normalizer: normalizer type "NFKC" is not supported; supported: BertNormalizer, or none`, true},
		{"normalizer option", `"clean_text"`, `"form": 1, "clean_text"`, `tokenizer.json: normalizer: unknown field "form"; known are type, clean_text, handle_chinese_chars, strip_accents, lowercase`, false},
		{"normalizer lacks", `"clean_text": true, `, ``, `tokenizer.json: normalizer: BertNormalizer has no clean_text`, false},
		{"pre-tokenizer", `"BertPreTokenizer"`, `"Whitespace"`, `tokenizer.json: pre_tokenizer: pre-tokenizer type "Whitespace" is not supported; supported: BertPreTokenizer`, true},
		{"no pre-tokenizer", `{"type": "BertPreTokenizer"}`, `null`, `tokenizer.json: pre_tokenizer: none is not supported; supported: BertPreTokenizer`, true},
		{"pre-tokenizer without type", `{"type": "BertPreTokenizer"}`, `{}`, `tokenizer.json: pre_tokenizer: it has no type`, false},
		{"post-processor", `"BertProcessing"`, `"Template"`, `tokenizer.json: post_processor: post-processor type "Template" is not supported; supported: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence of these, or none`, true},
		{"post-processors", `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`,
			`{"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}, {"type": "RobertaProcessing"}]}`,
			`tokenizer.json: post_processor: RobertaProcessing behind BertProcessing is not supported; supported: one of them, ByteLevel beside it`, true},
		{"post-processors null", `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`, `{"type": "Sequence", "processors": [null]}`,
			`tokenizer.json: post_processor: processors of a Sequence: member 0 is null`, false},
		{"post-processors unknown", `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`, `{"type": "Sequence", "list": []}`,
			`tokenizer.json: post_processor: a Sequence has the unknown field "list"; known are type, processors`, false},
		{"post-processors no list", `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`, `{"type": "Sequence", "processors": 3}`,
			`tokenizer.json: post_processor: processors of a Sequence: found number, expected a list`, false},
		{"post-processor option", `"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]`, `"type": "ByteLevel", "regex": true`,
			`tokenizer.json: post_processor: unknown field "regex"; known are type, add_prefix_space, trim_offsets, use_regex`, false},
		{"post-processor id", `["[SEP]", 2]`, `["[SEP]", 9]`, `tokenizer.json: post_processor: special token "[SEP]" has id 9 here and 2 in the vocabulary`, false},
		{"post-processor other id", `["[CLS]", 1]`, `["[CLS]", 2]`, `tokenizer.json: post_processor: special token "[CLS]" has id 2 here and 1 in the vocabulary`, false},
		{"post-processor name", `["[SEP]", 2]`, `["x", 3]`, `tokenizer.json: post_processor: special token "x" is neither in the vocabulary nor an added token`, false},
		{"post-processor name only", `["[SEP]", 2]`, `["[SEP]"]`, `tokenizer.json: post_processor: found ["[SEP]"], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor nothing", `["[SEP]", 2]`, `[]`, `tokenizer.json: post_processor: found [], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor null", `["[SEP]", 2]`, `["[SEP]", null]`, `tokenizer.json: post_processor: found ["[SEP]", null], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor three", `["[SEP]", 2]`, `["[SEP]", 2, 9]`, `tokenizer.json: post_processor: found ["[SEP]", 2, 9], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor swapped", `["[SEP]", 2]`, `[2, "[SEP]"]`, `tokenizer.json: post_processor: found [2, "[SEP]"], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor fraction", `["[SEP]", 2]`, `["[SEP]", 2.5]`, `tokenizer.json: post_processor: found ["[SEP]", 2.5], expected a token and its id, as in ["[SEP]", 102]`, false},
		{"post-processor absent", `["[SEP]", 2]`, `null`, `tokenizer.json: post_processor: BertProcessing has no sep or no cls`, false},
		{"post-processor lacks", `"sep": ["[SEP]", 2], `, ``, `tokenizer.json: post_processor: BertProcessing has no sep or no cls`, false},
		{"template without A", bert, fmt.Sprintf(template, "["+cls+"]", "["+a+","+b+"]", 1), `tokenizer.json: post_processor: single template holds sequence A 0 times and B 0 times, expected 1 and 0`, false},
		{"template pair", bert, fmt.Sprintf(template, "["+a+"]", "["+a+"]", 1), `tokenizer.json: post_processor: pair template holds sequence A 1 times and B 0 times, expected 1 and 1`, false},
		{"template id", bert, fmt.Sprintf(template, "["+cls+","+a+"]", "["+a+","+b+"]", 5), `tokenizer.json: post_processor: special token "[CLS]" has id 5, outside 0 to 4`, false},
		{"template token", bert, strings.ReplaceAll(fmt.Sprintf(template, "["+cls+","+a+"]", "["+a+","+b+"]", 1), `"id": "[CLS]", "type_id"`, `"id": "[X]", "type_id"`), `tokenizer.json: post_processor: single piece 0 is "[X]", which is not in special_tokens`, false},
		{"template sequence", bert, strings.ReplaceAll(fmt.Sprintf(template, "["+a+"]", "["+a+","+b+"]", 1), `"id": "A"`, `"id": "C"`), `tokenizer.json: post_processor: single piece 0 is sequence "C": must be A or B`, false},
		{"template piece", bert, fmt.Sprintf(template, "[{}]", "["+a+","+b+"]", 1), `tokenizer.json: post_processor: single piece 0 is neither a special token nor a sequence`, false},
		{"added id", `"id": 1, "content": "[CLS]"`, `"id": 2, "content": "[CLS]"`, `tokenizer.json: added_tokens: "[CLS]" has id 2, the reference tokenizer would give it 1`, false},
		{"added new id", `"id": 1, "content": "[CLS]"`, `"id": 9, "content": "<x>"`, `tokenizer.json: added_tokens: "<x>" has id 9, the reference tokenizer would give it 5`, false},
		{"added twice", `"id": 1, "content": "[CLS]"`, `"id": 0, "content": "[UNK]"`, `tokenizer.json: added_tokens: "[UNK]" is listed twice`, false},
		{"added too long", `"id": 1, "content": "[CLS]"`, `"id": 5, "content": "` + strings.Repeat("x", 4097) + `"`, `tokenizer.json: added_tokens: entry 1, id 5, has 4097 bytes, more than 4096`, false},
		{"added too long once normalised", `"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false`, `"id": 5, "content": "` + strings.Repeat("\u4e2d", 1300) + `", "normalized": true`, `tokenizer.json: added_tokens: token with id 5 has 6500 bytes once normalised, more than 4096`, false},
		{"added empty", `"id": 1, "content": "[CLS]"`, `"id": 1, "content": ""`, `tokenizer.json: added_tokens: entry 1, id 1, is empty`, false},
		{"added lacks", `"id": 1, "content": "[CLS]"`, `"id": 1`, `tokenizer.json: added_tokens: entry 1 has no id or no content`, false},
		{"added replacement", `"id": 1, "content": "[CLS]"`, `"id": 5, "content": "a\ufffd"`, "tokenizer.json: added_tokens: \"a\ufffd\" holds U+FFFD, which is not supported in an added token", true},
		{"added option", `"id": 1, "content"`, `"id": 1, "regex": true, "content"`, `tokenizer.json: added_tokens: unknown field "regex"; known are id, content, single_word, lstrip, rstrip, normalized, special`, false},
		{"added nothing left", `"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false`, `"id": 5, "content": "\u0301", "normalized": true`, `tokenizer.json: added_tokens: a token is empty once normalised`, false},
		{"added overlap", `"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false`, `"id": 5, "content": " x", "rstrip": true`, `tokenizer.json: added_tokens: " x" has rstrip and " x" begins with white space: together they are not supported`, true},
		{"version", `"1.0"`, `"2.0"`, `tokenizer.json: version "2.0" is not supported; supported: "1.0"`, true},
		{"no version", `"version": "1.0", `, ``, `tokenizer.json: version (missing) is not supported; supported: "1.0"`, true},
		{"unknown section", `"version"`, `"plugins": [], "version"`, `tokenizer.json: unknown field "plugins"; known are version, truncation, padding, added_tokens, normalizer, pre_tokenizer, post_processor, decoder, model`, false},
		{"truncation", `"truncation": null`, `"truncation": 7`, `tokenizer.json: truncation: found number, expected an object`, false},
		{"padding", `"padding": null`, `"padding": 7`, `tokenizer.json: padding: found number, expected an object`, false},
		{"truncated file", small[200:], ``, `tokenizer.json: the JSON ends early, after 200 bytes (a truncated file?)`, false},
		{"empty file", small, ``, `tokenizer.json: the JSON ends early, after 0 bytes (a truncated file?)`, false},
		{"trailing text", small, small + "x", fmt.Sprintf("tokenizer.json: more text follows the JSON value, at byte %d", len(small)) + "…", false},
		{"not JSON", small, "hello", `tokenizer.json: not JSON at byte 1: invalid character 'h' looking for beginning of value`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(small, c.old) {
				t.Fatalf("%q is not in the file to spoil", c.old)
			}
			_, _, err := Load(strings.NewReader(strings.Replace(small, c.old, c.new, 1)))
			if err == nil {
				t.Fatal("no error")
			}
			want, prefix := strings.CutSuffix(c.want, "…")
			if got := err.Error(); got != want && !(prefix && strings.HasPrefix(got, want)) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if errors.Is(err, ErrUnsupported) != c.unsupported {
				t.Errorf("%v: wraps ErrUnsupported: %v, want %v", err, !c.unsupported, c.unsupported)
			}
		})
	}
}

func TestLoadTemplates(t *testing.T) {
	for _, c := range []struct {
		name, post string
		want       Template
	}{
		{"bert", `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`, Template{
			Single: []Piece{{ID: 1}, {Text: 'A'}, {ID: 2}},
			Pair:   []Piece{{ID: 1}, {Text: 'A'}, {ID: 2}, {Text: 'B', Type: 1}, {ID: 2, Type: 1}}}},
		{"roberta", `{"type": "RobertaProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1], "trim_offsets": true, "add_prefix_space": true}`, Template{
			Single: []Piece{{ID: 1}, {Text: 'A'}, {ID: 2}},
			Pair:   []Piece{{ID: 1}, {Text: 'A'}, {ID: 2}, {ID: 2}, {Text: 'B'}, {ID: 2}}}},
		{"none", `null`, Template{Single: []Piece{{Text: 'A'}}, Pair: []Piece{{Text: 'A'}, {Text: 'B', Type: 1}}}},
		{"template", `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 3}}, {"SpecialToken": {"id": "x", "type_id": 2}}],
			"pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"x": {"id": "x", "ids": [2, 1], "tokens": ["a", "b"]}}}`, Template{
			Single: []Piece{{Text: 'A', Type: 3}, {ID: 2, Type: 2}, {ID: 1, Type: 2}},
			Pair:   []Piece{{Text: 'B', Type: 1}, {Text: 'A'}}}},
	} {
		text := strings.Replace(small, `{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`, c.post, 1)
		tok, _, err := Load(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := tok.Template(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestLoadAccepts(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"model of an old library", `"type": "WordPiece", "unk_token"`, `"unk_token"`},
		{"no normalizer", `{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}`, `null`},
		{"strip_accents left out", `"strip_accents": null, `, ``},
		{"a surrogate pair, and what looks like half of one", `"##b"`, `"\ud83d\ude00\\ud800"`},
		{"holes in the vocabulary", `"##b": 4`, `"##b": 40`},
		{"the longest words", `word": 100`, `word": 10000`},
		{"an added token that ends a text", `["[SEP]", 2]`, `["[CLS]", 1]`},
	} {
		if _, _, err := Load(strings.NewReader(strings.Replace(small, c.old, c.new, 1))); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_, info, err := Load(strings.NewReader(strings.Replace(small, `"padding": null`, `"padding": {"strategy": "BatchLongest"}`, 1)))
	if err != nil || info.Padding != -1 {
		t.Errorf("padding to the longest is reported as %d, want -1 (%v)", info.Padding, err)
	}
}

func TestNormalizedAddedTokens(t *testing.T) {
	text := strings.Replace(small, `"normalized": false, "special": true}
	]`, `"normalized": false, "special": true},
		{"id": 5, "content": "Caf\u00e9", "single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false}
	]`, 1)
	tok, _, err := Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, spans := tok.AppendSpans(nil, nil, []byte("a CAFE\u0301 cafes\xff"))
	if want := []int32{3, 5, 0}; !reflect.DeepEqual(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
	if want := []Span{{0, 1}, {2, 6}, {9, 14}}; !reflect.DeepEqual(spans, want) {
		t.Errorf("spans %v, want %v", spans, want)
	}
	if c := tok.Clone(); tok.Repaired() != 1 || c.Repaired() != 0 || tok.VocabSize() != 6 || tok.Special().CLS != 1 || tok.Template().Overhead() != 2 {
		t.Errorf("repaired %d, clone %d, %d ids, %+v", tok.Repaired(), c.Repaired(), tok.VocabSize(), tok.Special())
	}
	if tok.Reset(); tok.Repaired() != 0 {
		t.Errorf("%d repaired after Reset", tok.Repaired())
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if _, _, err := LoadFile(path); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "load tokenizer: open "+path) {
		t.Errorf("absent file: %v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "load tokenizer " + path + ": the JSON ends early, after 1 bytes (a truncated file?)"
	if _, _, err := LoadFile(path); err == nil || err.Error() != want {
		t.Errorf("truncated file: %v, want %s", err, want)
	}
}
