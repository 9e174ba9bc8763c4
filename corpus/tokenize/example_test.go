package tokenize_test

import (
	"fmt"
	"log"
	"strings"

	"encbench/corpus/tokenize"
)

const tokenizerJSON = `{
	"version": "1.0",
	"truncation": {"max_length": 128, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
	"added_tokens": [
		{"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
		{"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
		{"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "the": 3, "cafe": 4, "##s": 5, "of": 6, "paris": 7, "?": 8}}
}`

func Example() {
	t, info, err := tokenize.Load(strings.NewReader(tokenizerJSON))
	if err != nil {
		log.Fatal(err)
	}
	ids := t.AppendIDs(nil, []byte("The Caf\u00e9s of Paris?"))
	fmt.Println(ids)
	fmt.Println(t.Template().AppendSingle(nil, ids))
	fmt.Println("truncation in the file, not honoured:", info.Truncation)
	// Output:
	// [3 4 5 6 7 8]
	// [1 3 4 5 6 7 8 2]
	// truncation in the file, not honoured: 128
}

func ExampleTokenizer_AppendSpans() {
	t, _, err := tokenize.Load(strings.NewReader(tokenizerJSON))
	if err != nil {
		log.Fatal(err)
	}
	text := "The cafes of Rome"
	ids, spans := t.AppendSpans(nil, nil, []byte(text))
	for i, id := range ids {
		fmt.Println(id, text[spans[i].Start:spans[i].End])
	}
	// Output:
	// 3 The
	// 4 cafes
	// 5 cafes
	// 6 of
	// 0 Rome
}

func ExampleTemplate_AppendPair() {
	t, _, err := tokenize.Load(strings.NewReader(tokenizerJSON))
	if err != nil {
		log.Fatal(err)
	}
	query, passage := t.AppendIDs(nil, []byte("cafes?")), t.AppendIDs(nil, []byte("the cafes of Paris"))
	ids, types := t.Template().AppendPair(nil, nil, query, passage)
	fmt.Println(ids)
	fmt.Println(types)
	// Output:
	// [1 4 5 8 2 3 4 5 6 7 2]
	// [0 0 0 0 0 1 1 1 1 1 1]
}
