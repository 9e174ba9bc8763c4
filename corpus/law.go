package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// TechdocsLawRule is the version of the construction rule of techdocs-law.
const TechdocsLawRule = "techdocs-law-1"

// The published corpus of technical documents, in BERT tokens (Granite Embedding
// R2 paper, its long-document speed table).
const (
	lawDocuments = 23_000
	lawShortest  = 2
	lawLongest   = 329_116
	lawMean      = 1_873
)

// Law is the manifest of a regrouped corpus and what it is made of.
type Law struct {
	Manifest
	Tokens         int64 // of all documents
	Shortest       int64 // tokens of a document
	LongestTokens  int64
	SourceTokens   int64 // of the corpus that it is made from
	DistinctTokens int64 // of that corpus without its own repeated paragraphs
	DroppedTokens  int64 // of words left out because they would have passed a document's length
}

// Repetition states how often the source is used, for a record.
func (l Law) Repetition() string {
	return fmt.Sprintf("every paragraph of techdocs is used %.2f times, every distinct one %.2f times on average",
		float64(l.Tokens)/float64(l.SourceTokens), float64(l.Tokens)/float64(l.DistinctTokens))
}

// LawLengths gives the lengths in tokens of the documents of techdocs-law, in
// its order. In ascending order they follow a two-piece log-normal law, which the
// published shortest, longest and mean lengths fix completely:
//
//	length(i) = m · exp(σ z(i)),  z(i) = Φ⁻¹((i+½)/n),  i = 0 … n-1
//
// with σ = ln(m/shortest)/z(n-1) below the median m and σ = ln(longest/m)/z(n-1)
// above, and m such that the mean is met. Lengths are rounded, and the few tokens
// that rounding leaves over are given to documents around the median, so that
// count, shortest, longest and mean are exact. Then they are shuffled (Fisher and
// Yates, by splitmix64 from a fixed seed).
func LawLengths() []int64 {
	lengths := twoPiece(lawDocuments, lawShortest, lawLongest, lawMean)
	state := uint64(23_000)
	for i := len(lengths) - 1; i > 0; i-- {
		// The bias of a 64-bit remainder is below 1e-15 here.
		j := splitmix64(&state) % uint64(i+1)
		lengths[i], lengths[j] = lengths[j], lengths[i]
	}
	return lengths
}

// splitmix64 is the generator of that name (Steele, Lea, Flood 2014).
func splitmix64(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// twoPiece gives the ascending lengths of LawLengths for any figures.
func twoPiece(n int, shortest, longest, mean int64) []int64 {
	z := make([]float64, n)
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(n)-1)
	}
	top := z[n-1]
	at := func(m float64, i int) float64 {
		if z[i] < 0 {
			return m * math.Exp(math.Log(m/float64(shortest))/top*z[i])
		}
		return m * math.Exp(math.Log(float64(longest)/m)/top*z[i])
	}
	want := float64(n) * float64(mean)
	low, high := float64(shortest), float64(longest)
	for range 200 { // bisection: the sum grows with m
		m := (low + high) / 2
		sum := 0.0
		for i := range z {
			sum += at(m, i)
		}
		if sum < want {
			low = m
		} else {
			high = m
		}
	}
	lengths := make([]int64, n)
	left := int64(n) * mean
	for i := range lengths {
		lengths[i] = int64(math.Round(at(low, i)))
		left -= lengths[i]
	}
	step := int64(1)
	if left < 0 {
		step = -1
	}
	// Symmetric around the middle, away from both ends.
	for k := 0; left != 0; k++ {
		i := n/2 + (k+1)/2*(1-k%2*2)
		if i <= 0 || i >= n-1 {
			panic("corpus: the law's rounding reaches its ends")
		}
		lengths[i] += step
		left -= step
	}
	slices.Sort(lengths)
	return lengths
}

// BuildTechdocsLaw writes the corpus techdocs-law as JSONL to w, made from the
// documents of techdocs in the botocore wheel; count gives the number of BERT
// tokens of a text, without special tokens. Rule techdocs-law-1:
//
//   - 23,000 documents; the length of each in tokens is exactly that of LawLengths.
//   - The paragraphs of techdocs in its order, from its beginning again when they
//     run out, fill one document after the other. Where a document is full within
//     a paragraph, the next one goes on from there.
//   - In that last paragraph words are taken as long as they fit; a word of more
//     tokens than are left is dropped, so that the length is met exactly.
//   - Id: law-00000 to law-22999. Title: none. Text: one paragraph a line.
//
// It differs from the published corpus in characters per token, and repeats its
// source; Law says how often. The source is held in memory. An error results when
// count is not the sum over words, as every WordPiece count is.
func BuildTechdocsLaw(wheel string, w io.Writer, count func(text []byte) int) (Law, error) {
	p := newParagraphs(count)
	err := eachTechdoc(wheel, func(d Doc) error { p.add(d.Text); return nil })
	if err != nil {
		return Law{}, fmt.Errorf("build techdocs-law: %w", err)
	}
	return regroup(p, LawLengths(), w)
}

// regroup writes one document for each length.
func regroup(p *paragraphs, lengths []int64, w io.Writer) (Law, error) {
	if p.tokens == 0 {
		return Law{}, errors.New("build techdocs-law: the source has no text")
	}
	law := Law{SourceTokens: p.tokens, DistinctTokens: p.distinct, Shortest: math.MaxInt64}
	out := newWriter(w)
	var text, id []byte
	for i, n := range lengths {
		text = p.take(text[:0], n)
		if got := int64(p.count(text)); got != n {
			return Law{}, fmt.Errorf("build techdocs-law: document %d has %d tokens, not %d: the counter is not the sum over words, or no word fits the rest", i, got, n)
		}
		id = fmt.Appendf(id[:0], "law-%05d", i)
		if err := out.add(Doc{ID: id, Text: text}); err != nil {
			return Law{}, err
		}
		law.Tokens += n
		law.Shortest, law.LongestTokens = min(law.Shortest, n), max(law.LongestTokens, n)
	}
	law.DroppedTokens = p.dropped
	var err error
	law.Manifest, err = out.finish(TechdocsLaw, TechdocsLawRule)
	return law, err
}

// paragraphs is an endless stream of the paragraphs of a corpus.
type paragraphs struct {
	count  func([]byte) int
	text   []byte  // all paragraphs end to end
	ends   []int   // of each in text
	counts []int32 // tokens of each

	tokens, distinct int64 // of all; of the different ones
	seen             map[uint64]struct{}

	at      int   // current paragraph
	off     int   // where in text its unread rest begins
	left    int64 // tokens of that rest
	dropped int64
}

func newParagraphs(count func([]byte) int) *paragraphs {
	return &paragraphs{count: count, seen: map[uint64]struct{}{}}
}

// add appends the paragraphs of text that have tokens.
func (p *paragraphs) add(text []byte) {
	for part := range bytes.Lines(text) {
		part = bytes.TrimSuffix(part, []byte{'\n'})
		n := p.count(part)
		if n == 0 {
			continue
		}
		p.text = append(p.text, part...)
		p.ends = append(p.ends, len(p.text))
		p.counts = append(p.counts, int32(n))
		p.tokens += int64(n)
		h := fnv64(part)
		if _, old := p.seen[h]; !old {
			p.seen[h] = struct{}{}
			p.distinct += int64(n)
		}
	}
	if len(p.counts) > 0 {
		p.left = int64(p.counts[0])
	}
}

// fnv64 is FNV-1a, to tell paragraphs apart.
func fnv64(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, ch := range b {
		h = (h ^ uint64(ch)) * 1099511628211
	}
	return h
}

// take appends n tokens of text to dst and moves past them. It gives up, with
// fewer, when nothing in the source fits.
func (p *paragraphs) take(dst []byte, n int64) []byte {
	for idle := 0; n > 0 && idle <= len(p.ends); idle++ {
		if last := len(dst) - 1; last >= 0 && dst[last] != '\n' {
			dst = append(dst, '\n')
		}
		rest := p.text[p.off:p.ends[p.at]]
		if p.left <= n {
			dst = append(dst, rest...)
			n -= p.left
			p.advance()
			idle = 0
			continue
		}
		for first := true; n > 0 && len(rest) > 0; {
			word, after, _ := bytes.Cut(rest, []byte{' '})
			p.off += len(rest) - len(after)
			rest = after
			c := int64(p.count(word))
			p.left -= c
			if c > n {
				p.dropped += c
				continue
			}
			if !first {
				dst = append(dst, ' ')
			}
			dst = append(dst, word...)
			first = false
			n -= c
			idle = 0
		}
		if len(rest) == 0 {
			p.advance()
		}
	}
	return bytes.TrimSuffix(dst, []byte{'\n'})
}

// advance moves to the next paragraph, after the last to the first.
func (p *paragraphs) advance() {
	p.off = p.ends[p.at]
	if p.at++; p.at == len(p.ends) {
		p.at, p.off = 0, 0
	}
	p.left = int64(p.counts[p.at])
}
