package rerank

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"encbench/corpus/tokenize"
)

// Rows are those of Hugging Face tokenizers with truncation only_second, for the
// templates of BERT, RoBERTa and XLM-R (testdata/generate.py).
func TestPairsAreOnlySecond(t *testing.T) {
	data, err := os.ReadFile("testdata/pairs.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Tokenizer string
		Pieces    []struct {
			ID   int32
			Text string
			Type uint8
		}
		MaxTokens            int `json:"max_tokens"`
		Query, Document, IDs []int32
		Types                []int
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 120 {
		t.Fatalf("%d cases, want 120", len(cases))
	}
	cut := 0
	for i, c := range cases {
		var template tokenize.Template
		for _, p := range c.Pieces {
			piece := tokenize.Piece{ID: p.ID, Type: p.Type}
			if p.Text != "" {
				piece.Text = p.Text[0]
			}
			template.Pair = append(template.Pair, piece)
		}
		rule := Cut{Template: template, MaxTokens: c.MaxTokens, QueryTokens: 6, Types: 2}
		if err := rule.Validate(); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		ids, types := rule.Append(nil, nil, rule.Query(c.Query), c.Document)
		want := make([]uint8, len(c.Types))
		for k, v := range c.Types {
			want[k] = uint8(v)
		}
		if !slices.Equal(ids, c.IDs) || !slices.Equal(types, want) {
			t.Errorf("case %d, %s:\n%v\n%v, want\n%v\n%v", i, c.Tokenizer, ids, types, c.IDs, want)
		}
		if len(c.IDs) == c.MaxTokens {
			cut++
		}
		// A model of one token type is given none.
		rule.Types = 1
		if same, none := rule.Append(nil, nil, rule.Query(c.Query), c.Document); !slices.Equal(same, c.IDs) || none != nil {
			t.Errorf("case %d without types: %v, %v", i, same, none)
		}
	}
	if cut < 30 {
		t.Errorf("only %d of the pairs were cut", cut)
	}
}

var bert = tokenize.Template{Pair: []tokenize.Piece{{ID: 101}, {Text: 'A'}, {ID: 102}, {Text: 'B', Type: 1}, {ID: 102, Type: 1}}}

// twin is the rule in words: the query loses what is beyond its limit, then the
// document its last token until the row fits.
func twin(c Cut, query, doc []int32) (ids []int32, types []uint8) {
	if len(query) > c.QueryTokens {
		query = query[:c.QueryTokens]
	}
	for {
		ids, types = c.Template.AppendPair(nil, nil, query, doc)
		if len(ids) <= c.MaxTokens {
			return ids, types
		}
		doc = doc[:len(doc)-1]
	}
}

func checkCut(t *testing.T, queryTokens, room, query, doc uint8) {
	t.Helper()
	rule := Cut{Template: bert, QueryTokens: 1 + int(queryTokens)%70, Types: 2}
	rule.MaxTokens = 3 + rule.QueryTokens + 1 + int(room)
	if err := rule.Validate(); err != nil {
		t.Fatal(err)
	}
	q, d := make([]int32, query), make([]int32, doc)
	for i := range q {
		q[i] = 1000 + int32(i)
	}
	for i := range d {
		d[i] = 2000 + int32(i)
	}
	ids, types := rule.Append([]int32{7}, []uint8{9}, rule.Query(q), d)
	wantIDs, wantTypes := twin(rule, q, d)
	if ids[0] != 7 || types[0] != 9 || !slices.Equal(ids[1:], wantIDs) || !slices.Equal(types[1:], wantTypes) {
		t.Fatalf("query %d of at most %d, document %d, row of %d:\n%v\n%v, want\n%v\n%v", query, rule.QueryTokens, doc, rule.MaxTokens, ids, types, wantIDs, wantTypes)
	}
}

func TestCutIsItsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		checkCut(t, uint8(rng.Uint32()), uint8(rng.Uint32()), uint8(rng.Uint32()), uint8(rng.Uint32()))
	}
}

func FuzzCut(f *testing.F) {
	f.Add(uint8(63), uint8(0), uint8(200), uint8(200))
	f.Add(uint8(0), uint8(255), uint8(0), uint8(0))
	f.Fuzz(checkCut)
}

func TestCutErrors(t *testing.T) {
	odd := tokenize.Template{Pair: []tokenize.Piece{{Text: 'A'}, {Text: 'A'}}}
	for _, c := range []struct {
		cut  Cut
		want string
	}{
		{Cut{Template: bert, MaxTokens: 68, QueryTokens: 64, Types: 2}, ""},
		{Cut{Template: bert, MaxTokens: 67, QueryTokens: 64, Types: 2}, "67 tokens leave no room for a document beside 3 special tokens and a query of 64"},
		{Cut{Template: bert, MaxTokens: 67, QueryTokens: 0, Types: 2}, "queries of 0 tokens at most, expected 1 or more"},
		{Cut{Template: odd, MaxTokens: 67, QueryTokens: 9, Types: 1}, "the tokenizer's template for pairs holds the query 2 times and the document 0 times, expected once each"},
		{Cut{Template: tokenize.Template{Pair: []tokenize.Piece{{Text: 'A', Type: 2}, {Text: 'B'}}}, MaxTokens: 67, QueryTokens: 9, Types: 2}, "the tokenizer's template for pairs has token type 2, the model has types 0 to 1"},
	} {
		got := ""
		if err := c.cut.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCutString(t *testing.T) {
	c := Cut{Template: bert, Types: 2}
	if got, want := c.String(), "101 query 102 document 102, token types 0 0 0 1 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c.Types = 1
	if got, want := c.String(), "101 query 102 document 102"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
