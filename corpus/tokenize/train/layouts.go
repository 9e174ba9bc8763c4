package train

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The parts of tokenizer.json that files share.
const (
	formNFC       = `{"type":"NFC"}`
	byteDecoder   = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`
	byteWords     = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
	bytesOnly     = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`
	spacesToMarks = `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`
	afterSpaces   = `{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}`
	marksToSpaces = `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]}`
)

// Those of Unigram. The real files normalise by a table, nmt_nfkc, which these two
// forms are made of.
const (
	formNmtNFKC = `{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]}`
	metaspace   = `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`
	markedWords = `{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},` + metaspace + `]}`
)

// Patterns of pre-tokenizers, as the files spell them in JSON.
const (
	patternO200k = `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	patternQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
)

// patternWords is a pre-tokenizer that cuts by a pattern and spells bytes.
func patternWords(pattern string) string {
	return `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"` + pattern +
		`"},"behavior":"Isolated","invert":false},` + bytesOnly + `]}`
}

// template is a post-processor that puts special tokens before and after a text and
// between the two of a pair. ids are those of the tokens.
func template(before, between, after []string, ids map[string]int) string {
	list := func(parts ...any) string {
		var steps []string
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				steps = append(steps, fmt.Sprintf(`{"Sequence":{"id":%q,"type_id":0}}`, p))
			case []string:
				for _, token := range p {
					steps = append(steps, fmt.Sprintf(`{"SpecialToken":{"id":%q,"type_id":0}}`, token))
				}
			}
		}
		return "[" + strings.Join(steps, ",") + "]"
	}
	var special []string
	for _, token := range slices.Sorted(maps.Keys(ids)) {
		special = append(special, fmt.Sprintf(`%q:{"id":%q,"ids":[%d],"tokens":[%q]}`, token, token, ids[token], token))
	}
	return fmt.Sprintf(`{"type":"TemplateProcessing","single":%s,"pair":%s,"special_tokens":{%s}}`,
		list(before, "A", after), list(before, "A", between, "B", after), strings.Join(special, ","))
}

// numbered gives the tokens of a format from first to last.
func numbered(format string, first, last int) (out []string) {
	for i := first; i <= last; i++ {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// layouts lists the layouts. Special tokens have the ids they have in the public
// files.
func layouts() []*Layout {
	return []*Layout{modernBERT(), granite180k(), gemma(), qwen(), xlmRoberta()}
}

func modernBERT() *Layout {
	l := &Layout{
		Name: "ModernBERT", Size: 50_368, split: SplitGPT2, kind: byteLevel,
		normalizer: formNFC, preTokenizer: byteWords, decoder: byteDecoder,
		head: []string{"|||IP_ADDRESS|||", "<|padding|>"}, unused: "<|unused_%d|>",
	}
	// Runs of 24 down to 2 spaces, then what the text's authors masked.
	for n := 24; n >= 2; n-- {
		l.tail = append(l.tail, fmt.Sprintf("%*s", n, ""))
	}
	l.tail = append(l.tail, "|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||", "<|endoftext|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
	l.tail = append(l.tail, numbered("[unused%d]", 0, 82)...)
	l.only = 88
	special := map[string]bool{"<|padding|>": true, "<|endoftext|>": true, "[UNK]": true, "[CLS]": true, "[SEP]": true, "[PAD]": true, "[MASK]": true}
	for i, token := range l.head {
		l.added = append(l.added, added{id: i, content: token, special: special[token], normalized: !special[token]})
	}
	for i, token := range l.tail {
		l.added = append(l.added, added{
			id: l.Size - len(l.tail) + i, content: token,
			special: special[token], normalized: !special[token], lstrip: token == "[MASK]",
		})
	}
	l.postProcessor = template([]string{"[CLS]"}, []string{"[SEP]"}, []string{"[SEP]"}, map[string]int{"[CLS]": 50_281, "[SEP]": 50_282})
	return l
}

func granite180k() *Layout {
	const first = 179_934 // of the special tokens
	l := &Layout{
		Name: "Granite multilingual 180k", Size: 180_000, split: SplitO200k, kind: byteLevelWhole,
		preTokenizer: patternWords(patternO200k), decoder: byteDecoder, unused: "<|unused_%d|>",
		tail: append([]string{"<|startoftext|>", "<|endoftext|>", "<|reserved_0|>", "<|reserved_1|>", "<|return|>"}, numbered("<|reserved_%d|>", 2, 62)...),
	}
	for i, token := range l.tail {
		l.added = append(l.added, added{id: first + i, content: token, special: true})
	}
	l.postProcessor = template([]string{"<|startoftext|>"}, []string{"<|return|>"}, []string{"<|return|>"}, map[string]int{"<|startoftext|>": first, "<|return|>": first + 4})
	return l
}

func gemma() *Layout {
	l := &Layout{
		Name: "Gemma 3", Size: 262_152, split: SplitPieces, kind: byteFallback,
		normalizer: spacesToMarks, preTokenizer: afterSpaces, decoder: marksToSpaces, unused: "<unused%d>",
		head: []string{"<pad>", "<eos>", "<bos>", "<unk>", "<mask>"},
	}
	for i, token := range l.head {
		l.added = append(l.added, added{id: i, content: token, special: true})
	}
	for b := range 256 {
		l.head = append(l.head, fmt.Sprintf("<0x%02X>", b))
	}
	l.postProcessor = template([]string{"<bos>"}, []string{"<bos>"}, nil, map[string]int{"<bos>": 2})
	return l
}

func qwen() *Layout {
	const first = 151_643
	l := &Layout{
		Name: "Qwen3", Size: 151_669, split: SplitQwen2, kind: byteLevel,
		normalizer: formNFC, preTokenizer: patternWords(patternQwen2), decoder: byteDecoder, unused: "<|unused_%d|>",
		tail: append([]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, numbered("<|special_%d|>", 3, 25)...),
		only: 26,
	}
	for i, token := range l.tail {
		l.added = append(l.added, added{id: first + i, content: token, special: true})
	}
	l.postProcessor = template(nil, []string{"<|endoftext|>"}, []string{"<|endoftext|>"}, map[string]int{"<|endoftext|>": first})
	return l
}

func xlmRoberta() *Layout {
	l := &Layout{
		Name: "XLM-RoBERTa", Size: 250_002, split: SplitPieces, kind: unigram,
		normalizer: formNmtNFKC, preTokenizer: markedWords, decoder: metaspace, unused: "<unused%d>",
		head: []string{"<s>", "<pad>", "</s>", "<unk>"}, tail: []string{"<mask>"},
	}
	for i, token := range l.head {
		l.added = append(l.added, added{id: i, content: token, special: true})
	}
	l.added = append(l.added, added{id: l.Size - 1, content: "<mask>", special: true, lstrip: true})
	l.postProcessor = template([]string{"<s>"}, []string{"</s>", "</s>"}, []string{"</s>"}, map[string]int{"<s>": 0, "</s>": 2})
	return l
}
