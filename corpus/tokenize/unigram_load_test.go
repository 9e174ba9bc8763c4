package tokenize

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestUnigramLoadRefuses(t *testing.T) {
	const meta = `"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}`
	sequence := func(list string) string {
		return `"pre_tokenizer": {"type": "Sequence", "pretokenizers": [` + list + `]}`
	}
	const bare = `{"type": "Metaspace", "replacement": "\u2581"}`
	for _, c := range []struct {
		name, old, new string
		want           string // ends in … when only its beginning matters
		unsupported    bool
	}{
		{"no vocab", `"vocab": [["<s>", 0.0], ["<unk>", 0.0], ["\u2581", -2.0], ["a", -1.5], ["\u2581a", -1.0], ["b", -3]], `, ``, `tokenizer.json: model: Unigram has no vocab`, false},
		{"vocab of an object", `[["<s>", 0.0], ["<unk>", 0.0], ["\u2581", -2.0], ["a", -1.5], ["\u2581a", -1.0], ["b", -3]]`, `{"a": 1}`, `tokenizer.json: model: vocab: expected a list of pieces and scores, found {"a": 1}`, false},
		{"empty vocab", `[["<s>", 0.0], ["<unk>", 0.0], ["\u2581", -2.0], ["a", -1.5], ["\u2581a", -1.0], ["b", -3]]`, `[]`, `tokenizer.json: model: vocab: it is empty`, false},
		{"entry no list", `["b", -3]`, `"b"`, "tokenizer.json: model: vocab: entry 5 is \"b\", expected a piece and its score, as in [\"\u2581the\", -3.2]", false},
		{"entry without a piece", `["b", -3]`, `[-3, "b"]`, "tokenizer.json: model: vocab: entry 5 is [-3, \"b\"], expected a piece and its score, as in [\"\u2581the\", -3.2]", false},
		{"entry without a score", `["b", -3]`, `["b"]`, "tokenizer.json: model: vocab: entry 5 is [\"b\"], expected a piece and its score, as in [\"\u2581the\", -3.2]", false},
		{"score no number", `["b", -3]`, `["b", "-3"]`, "tokenizer.json: model: vocab: entry 5 is [\"b\", \"-3\"], expected a piece and its score, as in [\"\u2581the\", -3.2]", false},
		{"entry of three", `["b", -3]`, `["b", -3, 1]`, "tokenizer.json: model: vocab: entry 5 is [\"b\", -3, 1], expected a piece and its score, as in [\"\u2581the\", -3.2]", false},
		{"score not finite", `["b", -3]`, `["b", -1e999]`, `tokenizer.json: model: vocab: piece "b" has score -1e999, outside -1e+100 to 1e+100`, false},
		{"score too large", `["b", -3]`, `["b", 2e100]`, `tokenizer.json: model: vocab: piece "b" has score 2e100, outside -1e+100 to 1e+100`, false},
		{"piece twice", `["b", -3]`, `["a", -3]`, `tokenizer.json: model: vocab: piece "a" is listed twice, with ids 3 and 5`, false},
		{"huge piece", `["b", -3]`, `["` + strings.Repeat("b", 5000) + `", -3]`, `tokenizer.json: model: vocab: piece with id 5 has 5000 bytes, more than 4096`, false},
		{"no unk_id", `"unk_id": 1, `, ``, `tokenizer.json: model: a model without unk_id is not supported: the reference tokenizer fails at the first character that is no piece`, true},
		{"null unk_id", `"unk_id": 1`, `"unk_id": null`, `tokenizer.json: model: a model without unk_id is not supported: the reference tokenizer fails at the first character that is no piece`, true},
		{"unk_id out of range", `"unk_id": 1`, `"unk_id": 6`, `tokenizer.json: model: unk_id is 6, outside 0 to 5, the ids of the vocabulary`, false},
		{"negative unk_id", `"unk_id": 1`, `"unk_id": -1`, `tokenizer.json: model: unk_id is -1, outside 0 to 5, the ids of the vocabulary`, false},
		{"unknown option", `"unk_id": 1`, `"unk_id": 1, "alpha": 0.1`, `tokenizer.json: model: unknown field "alpha"; known are type, unk_id, vocab, byte_fallback`, false},
		{"kind of byte_fallback", `"byte_fallback": false`, `"byte_fallback": 1`, `tokenizer.json: model: byte_fallback: found number, expected true or false`, false},
		{"added token", `"id": 0, "content": "<s>"`, `"id": 1, "content": "<s>"`, `tokenizer.json: added_tokens: "<s>" has id 1, the reference tokenizer would give it 0`, false},

		{"pre-tokenizer", meta, `"pre_tokenizer": {"type": "BertPreTokenizer"}`, `tokenizer.json: pre_tokenizer: pre-tokenizer type "BertPreTokenizer" is not supported; supported: Metaspace, Sequence, Whitespace, WhitespaceSplit, or none`, true},
		{"pre-tokenizer option", meta, `"pre_tokenizer": {"type": "Whitespace", "x": 1}`, `tokenizer.json: pre_tokenizer: unknown field "x"; known are type`, false},
		{"sequence", meta, `"pre_tokenizer": {"type": "Sequence"}`, `tokenizer.json: pre_tokenizer: Sequence has no pretokenizers`, false},
		{"null in sequence", meta, sequence(`{"type": "WhitespaceSplit"}, null`), `tokenizer.json: pre_tokenizer: pre-tokenizer 1 of the sequence is null`, false},
		{"in sequence", meta, sequence(`{"type": "WhitespaceSplit"}, {"type": "Digits"}`), `tokenizer.json: pre_tokenizer: pre-tokenizer 1 of the sequence: pre-tokenizer type "Digits" is not supported; supported: Metaspace, Sequence, Whitespace, WhitespaceSplit, or none`, true},
		{"behind Metaspace", meta, sequence(bare + `, {"type": "WhitespaceSplit"}`), `tokenizer.json: pre_tokenizer: pre-tokenizer 1 of the sequence: "WhitespaceSplit" behind Metaspace is not supported; supported: Metaspace last`, true},
		{"no replacement", `"replacement": "\u2581", `, ``, `tokenizer.json: pre_tokenizer: replacement of Metaspace must be one character`, false},
		{"long replacement", `"replacement": "\u2581"`, `"replacement": "ab"`, `tokenizer.json: pre_tokenizer: replacement of Metaspace must be one character`, false},
		{"scheme", `"always"`, `"last"`, `tokenizer.json: pre_tokenizer: prepend_scheme "last" of Metaspace is not supported; supported: always, first, never`, true},
		{"scheme of old files", `"prepend_scheme": "always"`, `"add_prefix_space": false`, `tokenizer.json: pre_tokenizer: add_prefix_space of Metaspace is false and prepend_scheme is not never: the reference tokenizer refuses that`, false},
		{"first behind a cut", meta, sequence(`{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}`), `tokenizer.json: pre_tokenizer: prepend_scheme "first" of Metaspace is not supported behind Whitespace or WhitespaceSplit; supported: always, never`, true},
		{"first behind Nmt", `"normalizer": null,
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"`, `"normalizer": {"type": "Nmt"},
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"`, `tokenizer.json: pre_tokenizer: prepend_scheme "first" of Metaspace is not supported behind a normalizer that may remove what a text begins with (Nmt, StripAccents, Strip, BertNormalizer, Replace); supported: always, never`, true},
		{"first beside late tokens", `"normalized": false, "special": true}],
	"normalizer": null,
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"`, `"normalized": true, "special": true}],
	"normalizer": null,
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"`, `tokenizer.json: pre_tokenizer: prepend_scheme "first" of Metaspace is not supported beside added tokens that are normalized; supported: always, never`, true},
	} {
		if !strings.Contains(smallUnigram, c.old) {
			t.Fatalf("%s: %q is not in the file to spoil", c.name, c.old)
		}
		_, _, err := Load(strings.NewReader(strings.Replace(smallUnigram, c.old, c.new, 1)))
		checkRefusal(t, c.name, err, c.want, c.unsupported)
	}
}

func TestUnigramLoadAccepts(t *testing.T) {
	for _, c := range []struct {
		name, old, new, text string
		want                 []int32
	}{
		{"as it is", "", "", "a ab", []int32{4, 4, 5}},
		{"whole scores and spaces", `["b", -3]`, ` [ "b" , -3e0 ] `, "a ab", []int32{4, 4, 5}},
		{"an empty piece", `["b", -3]`, `["b", -3], ["", 5]`, "a", []int32{4}},
		{"the unknown piece in the text", "", "", "a<unk>\u00e9<unk>a", []int32{4, 1, 3}},
		{"no Metaspace", `{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}`, `null`, "a b", []int32{3, 1, 5}},
		{"old files", `"prepend_scheme": "always", "split": true`, `"add_prefix_space": true, "str_rep": "\u2581"`, "a b", []int32{4, 2, 5}},
		{"never", `"always"`, `"never"`, "a b", []int32{3, 2, 5}},
		{"first", `"always"`, `"first"`, "a<s>a", []int32{4, 0, 3}},
		{"nested", `{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true}`,
			`{"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": []}, {"type": "Whitespace"}, {"type": "Metaspace", "replacement": "\u2581"}]}`, "a,b", []int32{4, 2, 1, 2, 5}},
	} {
		tok, _, err := Load(strings.NewReader(strings.Replace(smallUnigram, c.old, c.new, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := tok.AppendIDs(nil, []byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q gives %v, want %v", c.name, c.text, got, c.want)
		}
	}
}

// Known answers of the reference, which wrote these scores back so.
func TestReferenceFloat(t *testing.T) {
	for _, c := range []struct {
		in   string
		want float64
	}{
		{"0", 0}, {"-3", -3}, {"1.5", 1.5}, {"-2.9127895832061768", -2.9127895832061768}, {"1e5", 1e5}, {"1E+2", 100}, {"25e-1", 2.5},
		{"1e999", math.Inf(1)}, {"-1e999", math.Inf(-1)}, {"1e-999", 0}, {"0e999", 0}, {"0e99999999999999999999", 0}, {"1e-99999999999999999999", 0},
		{"123456789012345678901234567890", 1.2345678901234567e29}, {"0.1", 0.1}, {"18446744073709551615.5", 18446744073709551615}, {"1e-310", 1e-310},
	} {
		if got := referenceFloat([]byte(c.in)); got != c.want {
			t.Errorf("%s is %v, want %v", c.in, got, c.want)
		}
	}
	// Two roundings: these are the neighbours of the nearest value.
	for _, c := range []struct{ in, want string }{{"-9.047591209411621", "-9.04759120941162"}, {"-18.484210968017578", "-18.484210968017575"}, {"-10.156825065612793", "-10.156825065612791"}, {"-11.747696876525879", "-11.74769687652588"}, {"-15.859537124633789", "-15.859537124633787"}} {
		got := strconv.FormatFloat(referenceFloat([]byte(c.in)), 'g', -1, 64)
		if got != c.want {
			t.Errorf("%s is %s, want %s", c.in, got, c.want)
		}
		if exact, _ := strconv.ParseFloat(c.in, 64); strconv.FormatFloat(exact, 'g', -1, 64) == c.want {
			t.Errorf("%s is read exactly: no test of the reference's way", c.in)
		}
	}
}
