package corpus_test

import (
	"fmt"
	"strings"

	"encbench/corpus"
)

func Example() {
	lines := `{"_id": "d1", "title": "Bees", "text": "They fly. "}
{"_id": "d2", "text"
{"docid": 3, "contents": "caf\u00e9"}
`
	s := corpus.NewJSONL(strings.NewReader(lines), "corpus.jsonl", corpus.Options{})
	defer s.Close()
	var text []byte
	for s.Scan() {
		d := s.Doc()
		text = d.AppendText(text[:0])
		fmt.Printf("%s: %s\n", d.ID, text)
	}
	if err := s.Err(); err != nil {
		fmt.Println(err)
	}
	skipped := s.Skipped()
	fmt.Println(skipped.Broken, "broken:", skipped.First[0].Error())
	// Output:
	// d1: Bees They fly.
	// 3: café
	// 1 broken: corpus.jsonl:2: not JSON at byte 21: expected a colon after the key
}

func ExampleScan() {
	s := corpus.NewTSV(strings.NewReader("1\tone\n2\ttwo two\n"), "collection.tsv", corpus.Options{Strict: true})
	defer s.Close()
	m, err := corpus.Scan(s, "numbers", s.Format(), nil)
	fmt.Println(m.Documents, m.TextBytes, m.Longest, m.SHA256[:8], err)
	// Output: 2 10 7 a11a39b6 <nil>
}

func ExampleLawLengths() {
	lengths := corpus.LawLengths()
	sum := int64(0)
	for _, n := range lengths {
		sum += n
	}
	fmt.Println(len(lengths), sum/int64(len(lengths)))
	// Output: 23000 1873
}
