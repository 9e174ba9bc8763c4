package tokenize

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	roberta   = "testdata/roberta-like-bpe"
	llama3    = "testdata/llama3-split-bpe"
	gemma     = "testdata/gemma-like-bpe"
	jsonSpace = `{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}`
)

// bpeVariant is a tokenizer of the BPE family beside its plain twin.
type bpeVariant struct {
	name  string
	fast  *bpe
	plain *plainBPE
}

var bpeVariantsMade []bpeVariant

// bpeVariants gives tokenizers over the committed vocabularies with every setting and
// combination that is read, their caches empty.
func bpeVariants(tb testing.TB) []bpeVariant {
	tb.Helper()
	if bpeVariantsMade == nil {
		bpeVariantsMade = makeBPEVariants(tb)
	}
	list := slices.Clone(bpeVariantsMade)
	for i := range list {
		list[i].fast = list[i].fast.Clone().(*bpe)
	}
	return list
}

func makeBPEVariants(tb testing.TB) []bpeVariant {
	tb.Helper()
	files, bases := map[string]map[string]json.RawMessage{}, map[string][]byte{}
	for _, path := range []string{roberta, llama3, gemma} {
		data, err := os.ReadFile(path + ".tokenizer.json")
		if err != nil {
			tb.Fatal(err)
		}
		var f map[string]json.RawMessage
		if err := json.Unmarshal(data, &f); err != nil {
			tb.Fatal(err)
		}
		files[path], bases[path] = f, data
	}
	var list []bpeVariant
	// add makes a file with other sections (see withSections).
	add := func(name, base string, sections ...string) {
		other := map[string]json.RawMessage{}
		for i := 0; i < len(sections); i += 2 {
			other[sections[i]] = json.RawMessage(sections[i+1])
		}
		data := withSections(tb, bases[base], other)
		fast, _, err := Load(bytes.NewReader(data))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		list = append(list, bpeVariant{name, fast.(*bpe), newPlainBPE(tb, data)})
	}
	const (
		byteLevel = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
		bytesOnly = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`
	)
	split := func(p pattern, rest string) string {
		regex, err := json.Marshal(p.regex)
		if err != nil {
			tb.Fatal(err)
		}
		return `{"type":"Split","pattern":{"Regex":` + string(regex) + `},` + rest + `}`
	}
	sequence := func(list ...string) string {
		return `{"type":"Sequence","pretokenizers":[` + strings.Join(list, ",") + `]}`
	}
	for i, p := range patterns {
		rest := []string{`"behavior":"Isolated","invert":false`, `"behavior":"Removed","invert":true`}[i%2]
		add(p.name, llama3, "pre_tokenizer", sequence(split(p, rest), bytesOnly), "model.ignore_merges", []string{"true", "false"}[i%2],
			"normalizer", []string{`null`, `{"type":"NFC"}`, `{"type":"NFKD"}`}[i%3])
	}
	add("RoBERTa", roberta)
	add("prefix", roberta, "pre_tokenizer", strings.Replace(byteLevel, "false", "true", 1))
	add("bytes", roberta, "pre_tokenizer", bytesOnly)
	add("prefixed bytes", roberta, "pre_tokenizer", strings.Replace(bytesOnly, "false", "true", 1))
	add("lower case", roberta, "normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}`, "added_tokens", addedTokens(tb, files[roberta]))
	add("added", roberta, "normalizer", `{"type":"NFC"}`, "added_tokens", addedTokens(tb, files[roberta]))
	add("digits", roberta, "pre_tokenizer", sequence(`{"type":"Digits","individual_digits":true}`, byteLevel))
	add("digit runs", roberta, "pre_tokenizer", sequence(sequence(`{"type":"Punctuation"}`), `{"type":"Digits","individual_digits":false}`, byteLevel))
	add("punctuation", roberta, "pre_tokenizer", sequence(`{"type":"Punctuation","behavior":"Contiguous"}`, split(patterns[4], `"behavior":"Isolated","invert":false`), bytesOnly))
	add("visible bytes", roberta, "normalizer", `{"type":"ByteLevel"}`, "pre_tokenizer", `null`)

	add("Gemma", gemma)
	add("Gemma added", gemma, "added_tokens", addedTokens(tb, files[gemma]))
	add("no pre-tokenizer", gemma, "pre_tokenizer", `null`)
	add("Llama 2", gemma, "pre_tokenizer", `null`, "normalizer", `{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},`+jsonSpace+`]}`)
	add("strip", gemma, "pre_tokenizer", `null`, "normalizer", `{"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":true},`+jsonSpace+`]}`)
	add("spaces", gemma, "pre_tokenizer", `null`, "normalizer", `null`)
	for _, scheme := range []string{"always", "first", "never"} {
		for _, split := range []string{"true", "false"} {
			add("Metaspace "+scheme+" "+split, gemma, "normalizer", `{"type":"NFC"}`,
				"pre_tokenizer", `{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"`+scheme+`","split":`+split+`}`)
		}
	}
	add("Metaspace added", gemma, "normalizer", `{"type":"NFKC"}`, "pre_tokenizer", `{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first"}`, "added_tokens", addedTokens(tb, files[gemma]))
	for _, behavior := range []string{"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext"} {
		add("Split "+behavior, gemma, "normalizer", `null`, "pre_tokenizer", `{"type":"Split","pattern":{"String":" "},"behavior":"`+behavior+`","invert":false}`)
	}
	add("words", gemma, "normalizer", `null`, "pre_tokenizer", `{"type":"Whitespace"}`)
	add("white space", gemma, "normalizer", `{"type":"NFKC"}`, "pre_tokenizer", sequence(`{"type":"WhitespaceSplit"}`, `{"type":"Punctuation"}`))
	add("unknown", gemma, "model.byte_fallback", `false`, "model.fuse_unk", `false`)
	add("fused", gemma, "model.byte_fallback", `false`)
	add("dropped", gemma, "model.byte_fallback", `false`, "model.unk_token", `null`)
	add("ignore merges", gemma, "model.ignore_merges", `true`)
	add("characters", gemma, "normalizer", `null`, "pre_tokenizer", split(patterns[1], `"behavior":"Isolated","invert":false`))
	some, fewer := withoutTokens(tb, files[gemma]["model"], func(token string) bool { return strings.Contains(token, spaceMark) })
	add("no mark", gemma, "model.vocab", some, "model.merges", fewer)
	some, fewer = withoutTokens(tb, files[gemma]["model"], func(token string) bool {
		return strings.HasPrefix(token, "<0x") && strings.ContainsAny(token[4:5], "258BE")
	})
	add("some bytes", gemma, "model.vocab", some, "model.merges", fewer)
	some, fewer = withoutTokens(tb, files[roberta]["model"], func(token string) bool { return strings.ContainsAny(token, "xyzXYZ.,;\u0120\u0122\u0123\u00c2") })
	add("lost bytes", roberta, "model.vocab", some, "model.merges", fewer)
	add("unknown bytes", roberta, "model.vocab", some, "model.merges", fewer, "model.unk_token", `"<unk>"`)
	add("fused bytes in one pre-token", roberta, "pre_tokenizer", bytesOnly, "model.vocab", some, "model.merges", fewer, "model.unk_token", `"<unk>"`, "model.fuse_unk", `true`)
	add("no space", roberta, "pre_tokenizer", `null`)
	add("bytes of visible bytes", gemma, "normalizer", `null`, "pre_tokenizer", byteLevel)
	r := rand.New(rand.NewPCG(23, 29))
	for _, swaps := range []int{30, 1000} {
		add("uneven", gemma, "model.merges", shuffledMerges(tb, files[gemma]["model"], r, swaps))
		add("uneven bytes", roberta, "model.merges", shuffledMerges(tb, files[roberta]["model"], r, swaps))
	}
	return list
}

// addedTokens gives the added tokens of a file and some of every kind.
func addedTokens(tb testing.TB, f map[string]json.RawMessage) string {
	tb.Helper()
	var list []map[string]any
	var model struct{ Vocab map[string]int }
	if err := json.Unmarshal(f["added_tokens"], &list); err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(f["model"], &model); err != nil {
		tb.Fatal(err)
	}
	next := len(model.Vocab)
	for _, kind := range []string{"<left> lstrip", "<right> rstrip", "<both> lstrip rstrip", "<word> single_word", "<nword> single_word normalized", "|", "||",
		"Caf\u00e9 normalized", "e\u0301x normalized", "\u4e2d\u6587", "ab normalized single_word", "<a normalized", "<a><b>"} {
		parts := strings.Fields(kind)
		t := map[string]any{"id": next, "content": parts[0]}
		if id, ok := model.Vocab[parts[0]]; ok {
			t["id"] = id
		} else {
			next++
		}
		for _, flag := range []string{"single_word", "lstrip", "rstrip", "normalized", "special"} {
			t[flag] = slices.Contains(parts[1:], flag)
		}
		list = append(list, t)
	}
	out, err := json.Marshal(list)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// withoutTokens gives vocabulary and merges of a model without some of the tokens.
func withoutTokens(tb testing.TB, data json.RawMessage, gone func(string) bool) (vocab, merges string) {
	tb.Helper()
	var m struct {
		Vocab  map[string]int
		Merges [][2]string
	}
	if err := json.Unmarshal(data, &m); err != nil {
		tb.Fatal(err)
	}
	byID := make([]string, len(m.Vocab))
	for token, id := range m.Vocab {
		byID[id] = token
	}
	left := map[string]int{}
	for _, token := range byID {
		if len(left) < 5 || !gone(token) { // the first are added tokens
			left[token] = len(left)
		}
	}
	kept := [][2]string{}
	for _, g := range m.Merges {
		_, a := left[g[0]]
		_, b := left[g[1]]
		if _, c := left[g[0]+g[1]]; a && b && c {
			kept = append(kept, g)
		}
	}
	v, err := json.Marshal(left)
	if err != nil {
		tb.Fatal(err)
	}
	k, err := json.Marshal(kept)
	if err != nil {
		tb.Fatal(err)
	}
	return string(v), string(k)
}

// shuffledMerges gives the merges of a model, some of them swapped, so that a merge
// may come before those that make its parts.
func shuffledMerges(tb testing.TB, data json.RawMessage, r *rand.Rand, swaps int) string {
	tb.Helper()
	var m struct{ Merges [][2]string }
	if err := json.Unmarshal(data, &m); err != nil {
		tb.Fatal(err)
	}
	for range swaps {
		i, j := r.IntN(len(m.Merges)), r.IntN(len(m.Merges))
		m.Merges[i], m.Merges[j] = m.Merges[j], m.Merges[i]
	}
	out, err := json.Marshal(m.Merges)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}
