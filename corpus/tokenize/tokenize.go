package tokenize

// Span is a half-open byte range of the source text. Texts of 2 GiB and more do
// not fit: cut them before AppendSpans.
type Span struct{ Start, End int32 }

// Tokenizer turns text into token ids. A Tokenizer keeps caches and scratch
// memory, so it serves one goroutine at a time; Clone gives each worker its own
// over the same shared vocabulary.
type Tokenizer interface {
	// AppendIDs appends the ids of text to dst, without special tokens. Invalid
	// UTF-8 is repaired as Python's errors='replace' does and counted. An added
	// token that stands literally in the text, such as [CLS], becomes its id, as in
	// the reference.
	//
	// Elements between the length and the capacity of the result may have been
	// overwritten, as may those of dst: give a capacity that ends where another
	// slice of the same array begins (dst[:n:n]). Nothing beyond the capacity is
	// touched. Nothing is allocated but dst's growth and scratch memory, which the
	// longest word bounds and which is given up again when that was a very long one.
	AppendIDs(dst []int32, text []byte) []int32
	// AppendSpans is AppendIDs that also appends, for every id, the byte range in
	// text of the whole pre-token (word) that the id belongs to: from the first
	// byte to the last of the characters that reached the word. What lies between
	// the borders of spans has the ids of its own when it is tokenized alone: pre-
	// tokens that a cut would change share a span, and a text that is one pre-token
	// is divided where a cut changes nothing. Two exceptions: a cut may free an added
	// token that is a single word only; and spans of Unigram are always those of
	// words, also where a file makes these depend on their place (prepend_scheme
	// "first", no split at marks, Whitespace, a normalizer that prepends or strips).
	// text must be shorter than 2 GiB (1<<31 bytes); AppendIDs has no such limit.
	// What is said there of elements between length and capacity holds for spans too.
	AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span)
	// Template says which special tokens surround a text or a pair. It is shared:
	// do not change it.
	Template() Template
	// Special gives the ids of the special tokens; -1 where there is none.
	Special() Special
	// VocabSize is the number of ids, added tokens included: one more than the
	// largest id.
	VocabSize() int
	// Repaired counts the invalid UTF-8 sequences replaced so far by this value.
	Repaired() int64
	// Reset empties the caches and the count (a measurement starts cold).
	Reset()
	// Clone gives an independent tokenizer, caches empty, that shares the
	// read-only tables.
	Clone() Tokenizer
}

// Special holds the ids of the special tokens; -1 where there is none.
type Special struct{ CLS, SEP, PAD, UNK, MASK int32 }

// Info describes a loaded tokenizer.json.
type Info struct {
	Kind       string // "BPE", "Unigram" or "WordPiece"
	Vocab      int    // entries, added tokens included
	Added      int    // added tokens, special ones included
	Truncation int    // max_length that the file carries, 0 = none; never honoured
	Padding    int    // fixed padding that the file carries, 0 = none, -1 = longest; never honoured
	Lowercase  bool   // the model is uncased
	// Normalizer and PreTokenizer name the types of these sections, in order and
	// separated by ", "; "" where the file has none.
	Normalizer, PreTokenizer string
	// StripAccents says whether accents are stripped (strip_accents, which follows
	// lowercase when the file leaves it null).
	StripAccents bool
}
