package corpus

import (
	"fmt"
	"strings"
)

// Names of the embedded corpora.
const (
	Techdocs    = "techdocs"
	TechdocsLaw = "techdocs-law"
	Gostd       = "gostd"
	TechdocsQA  = "techdocs-qa"
)

// Embedded describes a corpus that is built from something the machine has or
// can get, the same bytes everywhere.
type Embedded struct {
	Name      string
	Rule      string // version of its construction rule
	Asset     string // name of the asset that it is built from, "" for none
	Summary   string // one sentence
	Documents int64  // 0 where it depends on the machine
	TextBytes int64
	Queries   int64  // judged queries that it brings, 0 where it is no labelled collection
	SHA256    string // see Manifest; "" where it depends on the machine

	Repetition string // stated repetition of a regrouped corpus, "" for none
}

var embedded = []Embedded{
	{
		Name: Techdocs, Rule: TechdocsRule, Asset: Techdocs,
		Summary:   "API reference of 445 cloud services, one document per operation, from the botocore 1.44.8 wheel (Apache-2.0)",
		Documents: 20_027, TextBytes: 70_966_109, SHA256: "cdeb49c25dcd586ec286b67b151769b5681351f4890e0194f163bb37be8cf065",
	},
	{
		Name: TechdocsLaw, Rule: TechdocsLawRule, Asset: Techdocs,
		Summary:   "the paragraphs of techdocs regrouped, with repetition, into 23,000 documents of the published lengths (2 to 329,116 BERT tokens, mean 1,873)",
		Documents: lawDocuments, TextBytes: 191_886_195, SHA256: "ba713013167f568f2abf4a32a94259b8a4151406b98ffa76e8a314c808fe2d79",
		Repetition: "every paragraph of techdocs is used 2.70 times, every distinct one 6.55 times on average",
	},
	{
		Name: Gostd, Rule: GostdRule,
		Summary: "Go sources of the standard library, one document per .go file, where a Go toolchain is",
	},
	{
		Name: TechdocsQA, Rule: TechdocsQARule, Asset: Techdocs,
		Summary:   "labelled: the query is the first sentence on an operation, the words of its name masked, the document the rest of techdocs' text",
		Documents: 9_982, TextBytes: 35_624_662, Queries: 9_982, SHA256: "2776bfc638785b60acf17ec9596856574e43176d075c923b801e5e10aa6761ef",
	},
}

// Names lists the embedded corpora, the default first.
func Names() []string {
	names := make([]string, len(embedded))
	for i, e := range embedded {
		names[i] = e.Name
	}
	return names
}

// Describe describes the embedded corpus of this name.
func Describe(name string) (Embedded, error) {
	for _, e := range embedded {
		if e.Name == name {
			return e, nil
		}
	}
	return Embedded{}, fmt.Errorf("%w %q: the embedded ones are %s", ErrUnknownCorpus, name, strings.Join(Names(), ", "))
}
