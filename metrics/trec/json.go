package trec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"encbench/metrics/ranking"
)

// jsonRows is about how many rows a block of a JSON run holds.
const jsonRows = 1 << 15

// jsonRun reads {query: {document: score}}, bare or inside {subset: {split: …}}.
type jsonRun struct {
	name  string
	dec   *json.Decoder
	opt   Options
	stats *Stats
	begun bool
	// path are the keys of the open objects; a score says how deep a query is.
	path  []string
	depth int    // of a score: 2 bare, 4 inside subset and split, 0 unknown
	split string // "subset/split" that was read
	done  bool
	named int // queries given
	// opened says that the last token opened an object; empty are the objects at the
	// top that closed at once before the depth was known.
	opened bool
	empty  []string
}

func newJSONRun(name string, r io.Reader, opt Options, stats *Stats) *jsonRun {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	return &jsonRun{name: name, dec: dec, opt: opt, stats: stats}
}

func (j *jsonRun) fail(format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %s", j.name, j.dec.InputOffset(), fmt.Sprintf(format, args...))
}

func (j *jsonRun) token() (json.Token, error) {
	t, err := j.dec.Token()
	if err != nil {
		return nil, j.fail("no JSON run: %s", jsonFault(err))
	}
	return t, nil
}

// next fills b with whole queries.
func (j *jsonRun) next(b *ranking.Block) error {
	seq := b.Seq
	b.Reset()
	b.Seq = seq
	if !j.begun {
		j.begun = true
		if _, err := j.token(); err != nil { // the brace that told the format
			return err
		}
	}
	for !j.done && (b.Docs.Len() < jsonRows || !j.between()) {
		if err := j.step(b); err != nil {
			return err
		}
	}
	if b.Len() == 0 {
		if j.named == 0 {
			return fmt.Errorf("%s: no query in it: %w", j.name, ErrEmpty)
		}
		return io.EOF
	}
	j.named += b.Len()
	j.stats.Rows += int64(b.Docs.Len())
	b.Off = append(b.Off, int32(b.Docs.Len()))
	return nil
}

// between says whether no query is open, so that a block may end here.
func (j *jsonRun) between() bool { return j.depth > 0 && len(j.path) < j.depth-1 }

// step reads a key with its value up to the brace that opens an object, or the end
// of an object.
func (j *jsonRun) step(b *ranking.Block) error {
	t, err := j.token()
	if err != nil {
		return err
	}
	if t == json.Delim('}') {
		return j.closeObject(b)
	}
	key, ok := t.(string)
	if !ok {
		return j.fail("%v in the place of a name", t)
	}
	if len(j.path) == 0 && key == "mteb_model_meta" {
		var skip json.RawMessage
		if err := j.dec.Decode(&skip); err != nil {
			return j.fail("no JSON run: %s", jsonFault(err))
		}
		return nil
	}
	if len(key) > MaxID {
		return j.fail("%s", tooLong(0, key).text)
	}
	if t, err = j.token(); err != nil {
		return err
	}
	switch v := t.(type) {
	case json.Delim:
		if v != '{' {
			return j.fail("a list at %s; an object of documents and scores is expected", j.where(key))
		}
		j.path = append(j.path, key)
		j.opened = true
		if j.depth > 0 && len(j.path) >= j.depth {
			return j.fail("an object at %s, where other documents have scores", j.where())
		}
		if j.depth > 0 && len(j.path) == j.depth-1 {
			return j.begin(b)
		}
		return nil
	case json.Number:
		j.opened = false
		return j.score(b, key, v)
	}
	return j.fail("%v at %s; a score is expected", t, j.where(key))
}

// where spells the place of a key.
func (j *jsonRun) where(key ...string) string {
	path := append(j.path[:len(j.path):len(j.path)], key...)
	for i, p := range path {
		path[i] = quote(p)
	}
	return strings.Join(path, ": ")
}

// begin opens a query.
func (j *jsonRun) begin(b *ranking.Block) error {
	at := len(j.path) - 1
	if split := strings.Join(j.path[:at], "/"); j.split == "" {
		j.split = split
	} else if split != j.split {
		return j.fail("predictions of %s after those of %s; judge one split at a time", split, j.split)
	}
	b.Off = append(b.Off, int32(b.Docs.Len()))
	b.Queries.Append([]byte(j.path[at]))
	return nil
}

// score takes a document's score.
func (j *jsonRun) score(b *ranking.Block, doc string, v json.Number) error {
	if j.depth == 0 {
		if len(j.path) != 1 && len(j.path) != 3 {
			return j.fail("a score at %s: expected {query: {document: score}}, or the same inside {subset: {split: …}}", j.where(doc))
		}
		if j.depth = len(j.path) + 1; j.depth == 2 {
			for _, query := range j.empty {
				b.Off = append(b.Off, int32(b.Docs.Len()))
				b.Queries.Append([]byte(query))
			}
		}
		if err := j.begin(b); err != nil {
			return err
		}
	}
	if len(j.path) != j.depth-1 {
		return j.fail("a score at %s, where other entries are objects", j.where(doc))
	}
	s, ok := number(string(v))
	if !ok {
		s = math.Inf(1)
		if strings.HasPrefix(string(v), "-") {
			s = math.Inf(-1)
		}
		if !j.opt.Lenient {
			return j.fail("score %s at %s is beyond float64's range", v, j.where(doc))
		}
		j.stats.Forgiven++
	}
	b.Docs.Append([]byte(doc))
	b.Score = append(b.Score, s)
	return nil
}

// closeObject ends an object.
func (j *jsonRun) closeObject(b *ranking.Block) error {
	if len(j.path) > 0 {
		if j.depth == 0 && len(j.path) == 1 && j.opened {
			// A query without documents, if a score later says that queries are here.
			j.empty = append(j.empty, j.path[0])
		}
		j.opened = false
		j.path = j.path[:len(j.path)-1]
		return nil
	}
	j.done = true
	if _, err := j.dec.Token(); !errors.Is(err, io.EOF) {
		return j.fail("text behind the JSON object")
	}
	return nil
}
