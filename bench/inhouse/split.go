package inhouse

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"encbench/bench/collection"
	"encbench/metrics/judge"
)

// Part is one side of a split.
type Part string

// The parts. The zero value is the whole collection.
const (
	All     Part = ""
	Dev     Part = "dev"     // to look at and to tune on
	HeldOut Part = "heldout" // to report, on request, counting the looks
)

// Plan is the rule of a split.
type Plan struct {
	Salt  string  `json:"salt"`
	Share float64 `json:"heldout_share"` // of the queries, between 0 and 1
	// By names the field of the queries whose values are strata, each divided by
	// the share for itself; "" for none.
	By string `json:"by,omitempty"`
}

// DefaultPlan holds out half: small sets need it on either side.
var DefaultPlan = Plan{Salt: "encbench", Share: 0.5}

func (p Plan) check() error {
	if !(p.Share > 0 && p.Share < 1) {
		return planError(fmt.Sprintf("a held-out share of %g: expected more than 0 and less than 1", p.Share))
	}
	if p.Salt == "" {
		return planError("no salt for the split: expected any text")
	}
	return nil
}

// Split is a plan put to work on queries.
type Split struct {
	Plan
	// Digest is the sha256 of the sorted lines "part, tab, query id": it changes when
	// queries are added, unlike the part of any query.
	Digest     string      `json:"digest"`
	Dev        int         `json:"dev"`     // queries
	HeldOut    int         `json:"heldout"` // queries
	Strata     []Stratum   `json:"strata,omitempty"`
	Duplicates []Duplicate `json:"duplicates,omitempty"`

	queries []collection.Query
	parts   []Part
	units   map[string]Part // of groups, and of queries without one
}

// Stratum counts the queries of one value of Plan.By.
type Stratum struct {
	Value   string `json:"value"`
	Dev     int    `json:"dev"`
	HeldOut int    `json:"heldout"`
}

// Duplicate is a text that queries of both parts have, apart from case and white
// space: what was tuned on one side is known on the other.
type Duplicate struct {
	Text    string   `json:"text"`
	Dev     []string `json:"dev"`     // query ids
	HeldOut []string `json:"heldout"` // query ids
}

// NewSplit divides queries. Without strata a group is held out when the first 64
// bits of SHA-256(salt, 0, key), as a fraction, are below the share; key is "g" and
// the group, or "q" and the id of a query without one. With strata, parallel to
// queries, the groups of a stratum are taken in the order of that hash, and each
// goes where the queries so far fall behind the share; fixed, which may be nil,
// gives parts that groups have already and keep. Strata without Plan.By, or of
// another length, panic.
func NewSplit(plan Plan, queries []collection.Query, strata []string, fixed map[string]Part) (*Split, error) {
	if err := plan.check(); err != nil {
		return nil, err
	}
	if (plan.By == "") != (strata == nil) || strata != nil && len(strata) != len(queries) {
		panic(fmt.Sprintf("inhouse: %d strata of %q for %d queries", len(strata), plan.By, len(queries)))
	}
	s := &Split{Plan: plan, queries: queries, parts: make([]Part, len(queries)), units: map[string]Part{}}
	if strata == nil {
		for _, q := range queries {
			key := unit(q)
			if _, seen := s.units[key]; !seen {
				s.units[key] = Dev
				if fraction(plan.Salt, key) < plan.Share {
					s.units[key] = HeldOut
				}
			}
		}
	} else {
		s.assign(strata, fixed)
	}
	var lines []string
	for i, q := range queries {
		s.parts[i] = s.units[unit(q)]
		if s.parts[i] == HeldOut {
			s.HeldOut++
		} else {
			s.Dev++
		}
		lines = append(lines, string(s.parts[i])+"\t"+q.ID+"\n")
	}
	slices.Sort(lines)
	h := sha256.Sum256([]byte(strings.Join(lines, "")))
	s.Digest = hex.EncodeToString(h[:])
	s.tally(strata)
	s.Duplicates = duplicates(queries, s.parts)
	return s, nil
}

// unit is the key of what stays together with a query.
func unit(q collection.Query) string {
	if q.Group != "" {
		return "g" + q.Group
	}
	return "q" + q.ID
}

func hash(salt, key string) uint64 {
	h := sha256.Sum256([]byte(salt + "\x00" + key))
	return binary.BigEndian.Uint64(h[:])
}

// fraction is a unit's place between 0 and 1.
func fraction(salt, key string) float64 { return float64(hash(salt, key)>>11) / (1 << 53) }

// assign gives the units of each stratum their parts.
func (s *Split) assign(strata []string, fixed map[string]Part) {
	type member struct {
		key, stratum string
		at           uint64
		queries      float64
	}
	var members []*member
	byKey := map[string]*member{}
	for i, q := range s.queries {
		key := unit(q)
		m := byKey[key]
		if m == nil {
			// A group that lies in several strata belongs to its first query's.
			m = &member{key: key, stratum: strata[i], at: hash(s.Salt, key)}
			byKey[key] = m
			members = append(members, m)
		}
		m.queries++
	}
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key))
	})
	held, all := map[string]float64{}, map[string]float64{}
	give := func(m *member, p Part) {
		s.units[m.key] = p
		all[m.stratum] += m.queries
		if p == HeldOut {
			held[m.stratum] += m.queries
		}
	}
	for _, m := range members {
		if p, ok := fixed[m.key]; ok {
			give(m, p)
		}
	}
	for _, m := range members {
		if _, ok := fixed[m.key]; ok {
			continue
		}
		p := Dev
		if s.Share*(all[m.stratum]+m.queries)-held[m.stratum] >= m.queries/2 {
			p = HeldOut
		}
		give(m, p)
	}
}

// tally counts the strata, in the order of their values.
func (s *Split) tally(strata []string) {
	for i, value := range strata {
		at, ok := slices.BinarySearchFunc(s.Strata, value, func(x Stratum, v string) int { return strings.Compare(x.Value, v) })
		if !ok {
			s.Strata = slices.Insert(s.Strata, at, Stratum{Value: value})
		}
		if s.parts[i] == HeldOut {
			s.Strata[at].HeldOut++
		} else {
			s.Strata[at].Dev++
		}
	}
}

// duplicates finds texts on both sides, in the order of their first query.
func duplicates(queries []collection.Query, parts []Part) []Duplicate {
	seen := map[string]*Duplicate{}
	var order []*Duplicate
	for i, q := range queries {
		text := normal(q.Text)
		d := seen[text]
		if d == nil {
			d = &Duplicate{Text: text}
			seen[text] = d
			order = append(order, d)
		}
		if parts[i] == HeldOut {
			d.HeldOut = append(d.HeldOut, q.ID)
		} else {
			d.Dev = append(d.Dev, q.ID)
		}
	}
	var out []Duplicate
	for _, d := range order {
		if len(d.Dev) > 0 && len(d.HeldOut) > 0 {
			out = append(out, *d)
		}
	}
	return out
}

// normal is a text in lower case with single spaces between its words.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), unicode.IsSpace), " ")
}

// Of gives the part of query i, in the order that the split was made with.
func (s *Split) Of(i int) Part { return s.parts[i] }

// Sentences says what a reader of a figure has to know, one sentence each, without
// full stop.
func (s *Split) Sentences(part Part) []string {
	var out []string
	if part == Dev {
		out = append(out, "the part for tuning: what was chosen on it scores too well on it; report the held-out part")
	}
	if n := len(s.Duplicates); n > 0 {
		d := s.Duplicates[0]
		out = append(out, fmt.Sprintf("%s on both sides of the split, the first %.80q: %q (dev) and %q (heldout); give queries of one text one group to keep them together",
			count(n, "query text is", "query texts are"), d.Text, d.Dev[0], d.HeldOut[0]))
	}
	return out
}

// Take gives the collection with the queries of one part; All gives c itself. The
// documents stay. c must be the collection whose queries the split was made with.
// Name and hash tell the part: figures of two parts, or of a part before and after
// queries were added, are not comparable. A part without a query is an error.
func (s *Split) Take(c *collection.Collection, part Part) (*collection.Collection, error) {
	if part == All {
		return c, nil
	}
	if len(c.Queries) != len(s.parts) {
		panic(fmt.Sprintf("inhouse: a split of %d queries for %d", len(s.parts), len(c.Queries)))
	}
	out := *c
	out.Queries, out.Qrels = nil, &judge.Qrels{}
	for i, q := range c.Queries {
		if s.parts[i] != part {
			continue
		}
		out.Queries = append(out.Queries, q)
		j, ok := c.Qrels.Find(q.ID)
		if !ok {
			continue
		}
		docs, grades := c.Qrels.Judged(j)
		for k, d := range docs {
			if err := out.Qrels.Add(q.ID, d, grades[k]); err != nil {
				return nil, err
			}
		}
	}
	if len(out.Queries) == 0 {
		return nil, fmt.Errorf("the %s part has no query: %s in %s, a held-out share of %g; label more queries, or choose another share or salt for a new split",
			part, count(len(s.parts), "query", "queries"), count(len(s.units), "group", "groups"), s.Share)
	}
	out.Name = c.Name + partSuffix(part)
	out.Corpus.Name = out.Name
	h := sha256.Sum256([]byte("encbench split 1\x00" + c.SHA256 + "\x00" + string(part) + "\x00" + s.Digest))
	out.SHA256 = hex.EncodeToString(h[:])
	out.Notes = append(slices.Clone(c.Notes), s.Sentences(part)...)
	var err error
	out.Judged, err = judged(&out)
	return &out, err
}

func partSuffix(part Part) string { return " [" + string(part) + "]" }

// whole takes the part off a collection's name.
func whole(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, partSuffix(Dev)), partSuffix(HeldOut))
}

// judged counts the documents with a judgement for one of the queries.
func judged(c *collection.Collection) (int, error) {
	docs := map[string]bool{}
	for j := range c.Qrels.Len() {
		ids, _ := c.Qrels.Judged(j)
		for _, d := range ids {
			docs[d] = true
		}
	}
	if c.Integrity.JudgmentsAbsent == 0 {
		return len(docs), nil
	}
	n := 0
	err := eachDocument(c, func(id []byte, _ func() string) error {
		if docs[string(id)] {
			n++
		}
		return nil
	})
	return n, err
}

// eachDocument visits the documents of c; text makes the text that an encoder sees.
func eachDocument(c *collection.Collection, visit func(id []byte, text func() string) error) error {
	src, err := c.Open()
	if err != nil {
		return fmt.Errorf("read documents of %s: %w", c.Name, err)
	}
	defer src.Close()
	for src.Scan() {
		d := src.Doc()
		text := func() string { return string(d.AppendText(nil)) }
		if err := visit(d.ID, text); err != nil {
			return err
		}
	}
	if err := src.Err(); err != nil {
		return fmt.Errorf("read documents of %s: %w", c.Name, err)
	}
	return nil
}
