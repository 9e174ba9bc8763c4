package collection

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pattern says which names a part may have. The group split of a name is the split
// that the file belongs to, likewise form, variant and set: the collection of
// several in one folder.
type pattern = *regexp.Regexp

// The names of the parts, compression aside. The first pattern that fits any file
// counts, so that a folder of several generations is not mixed.
var (
	documentNames = []pattern{
		regexp.MustCompile(`^corpus(?:_(?P<variant>\w+))?\.jsonl$`),              // BEIR; IBM's tables
		regexp.MustCompile(`^corpus/(?P<split>[^/]+)\.jsonl$`),                   // MTEB
		regexp.MustCompile(`^(?:(?P<set>[^/]+)-)?queries-corpus/corpus\.jsonl$`), // COIR
		regexp.MustCompile(`^(?:(?P<split>[^/]+)_)?docs\.jsonl$`),                // MAIR
		regexp.MustCompile(`^(?:[^/]*corpus[^/]*/)?docs-\d+\.jsonl$`),            // MIRACL's shards
		regexp.MustCompile(`^(?P<set>[^/]+)-corpus/(?P<split>[^/]+)\.jsonl$`),    // MTEB, of a subset
		regexp.MustCompile(`^corpus-(?P<set>[^/]+)/[^/]+\.jsonl$`),               // MLDR, of a language
		regexp.MustCompile(`^(?:collection|corpus)\.tsv$`),                       // MS MARCO
	}
	queryNames = []pattern{
		regexp.MustCompile(`^queries\.(?:jsonl|tsv)$`),
		regexp.MustCompile(`^(?P<split>[^/]+)_queries\.jsonl$`),                          // IBM's tables, MAIR
		regexp.MustCompile(`^(?:queries|query)/(?P<split>[^/]+)\.jsonl$`),                // MTEB
		regexp.MustCompile(`^(?:(?P<set>[^/]+)-)?queries-corpus/queries\.jsonl$`),        // COIR
		regexp.MustCompile(`^(?P<set>[^/]+)-(?:queries|query)/(?P<split>[^/]+)\.jsonl$`), // MTEB, of a subset
		regexp.MustCompile(`^queries\.(?P<split>[^/]+)\.tsv$`),                           // MS MARCO
		regexp.MustCompile(`^topics/(?P<split>[^/]+)\.tsv$`),                             // MIRACL
		regexp.MustCompile(`^[^/]*_(?P<form>lastturn|rewrite|questions)\.jsonl$`),        // MT-RAG
		regexp.MustCompile(`^(?:(?P<set>[a-z]{2})/)?(?P<split>train|dev|test)\.jsonl$`),  // MLDR
	}
	qrelsNames = []pattern{
		regexp.MustCompile(`^qrels/(?P<split>[^/]+)\.(?:tsv|jsonl|txt|trec|qrels)$`), // BEIR, MTEB, MIRACL
		regexp.MustCompile(`^(?P<split>[^/]+)_qrels\.jsonl$`),                        // IBM's tables
		regexp.MustCompile(`^(?P<set>[^/]+)-qrels/(?P<split>[^/]+)\.jsonl$`),         // COIR; MTEB, of a subset
		regexp.MustCompile(`^default/(?P<split>[^/]+)\.jsonl$`),                      // MTEB
		regexp.MustCompile(`^qrels\.(?P<split>[^/]+)\.(?:tsv|txt)$`),                 // MS MARCO
		regexp.MustCompile(`^qrels(?:\.(?:jsonl|tsv|txt))?$`),
	}
)

// part is a file of a kind and what its name says.
type part struct{ file, split, form, variant, set string }

// parts lists the files of a kind.
func (l *listing) parts(names []pattern) (found []part) {
	for _, p := range names {
		for _, f := range l.files {
			m := p.FindStringSubmatch(plain(f))
			if m == nil {
				continue
			}
			group := func(name string) string {
				if i := p.SubexpIndex(name); i >= 0 {
					return m[i]
				}
				return ""
			}
			found = append(found, part{f, splitName(group("split")), group("form"), group("variant"), group("set")})
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// isPart says whether a file has the name of a part.
func isPart(file string) bool {
	fits := func(p pattern) bool { return p.MatchString(plain(file)) }
	return slices.ContainsFunc(documentNames, fits) || slices.ContainsFunc(queryNames, fits) || slices.ContainsFunc(qrelsNames, fits)
}

var (
	shard       = regexp.MustCompile(`-\d+-of-\d+$`)
	longVersion = regexp.MustCompile(`^.*-(train|dev|test|testA|testB|test-a|test-b)$`)
)

// splitName takes the version out of a split's name: the number of a shard, and
// what MIRACL puts in front (topics.miracl-v1.0-en-dev).
func splitName(s string) string {
	s = shard.ReplaceAllString(s, "")
	return longVersion.ReplaceAllString(s, "$1")
}

// tables reads a folder whose documents, queries and judgements lie in tables.
func tables(l *listing, opt Options) (*raw, error) {
	docs, queries, qrels := l.parts(documentNames), l.parts(queryNames), l.parts(qrelsNames)
	switch {
	case docs == nil && queries == nil && qrels == nil,
		(docs == nil || queries == nil) && slices.ContainsFunc(l.files, isParquet),
		qrels == nil && slices.ContainsFunc(l.files, isParquetQrels):
		return nil, nil
	case docs == nil:
		return nil, fmt.Errorf("%w: no documents: expected corpus.jsonl, docs.jsonl or collection.tsv, found %s", ErrLayout, firstFiles(l.files))
	case queries == nil:
		return nil, fmt.Errorf("%w: no queries: expected queries.jsonl, found %s", ErrLayout, firstFiles(l.files))
	}
	r := &raw{layout: LayoutParts}
	if qrels == nil {
		r.layout = LayoutLabelled
	}
	known := slices.Concat(docs, queries, qrels)
	if sets := values(known, func(p part) string { return p.set }); len(sets) > 1 {
		return nil, fmt.Errorf("%w: several collections in one folder: %s; give each a folder of its own", ErrSplit, strings.Join(sets, ", "))
	}
	_, wanted := contextLength(opt.Split)
	var err error
	if r.form, queries, err = pick(queries, "form", func(p part) string { return p.form }, opt.Form, "lastturn"); err != nil {
		return nil, err
	}
	if r.variant, docs, err = pick(docs, "variant", func(p part) string { return p.variant }, opt.Variant, "md"); err != nil {
		return nil, err
	}
	labels := &qrels
	if qrels == nil {
		labels = &queries
	}
	have := splits(*labels)
	if have == nil && opt.Split != "" && !wanted {
		return nil, fmt.Errorf("%w: split %q is not there: the collection has one set of judgements, %s, and no splits", ErrSplit, opt.Split, (*labels)[0].file)
	}
	split := opt.Split
	if have == nil || wanted && !slices.Contains(have, split) {
		split = ""
	}
	if r.split, *labels, err = pick(*labels, "split", func(p part) string { return p.split }, split, "test"); err != nil {
		return nil, err
	}
	if qrels != nil {
		if queries, err = ofSplit("queries", queries, r.split); err != nil {
			return nil, err
		}
	}
	if docs, err = ofSplit("documents", docs, r.split); err != nil {
		return nil, err
	}
	if r.form != "" {
		r.notes = append(r.notes, fmt.Sprintf("queries in the form %s (%s)", r.form, queries[0].file))
	}
	if r.variant != "" {
		r.notes = append(r.notes, fmt.Sprintf("documents in the variant %s (%s)", r.variant, docs[0].file))
	}
	if rest := l.unread(known); rest != nil {
		r.notes = append(r.notes, "files that are not read: "+firstFiles(rest))
	}
	return r, r.readTables(l, docs, queries, qrels, opt)
}

// unread lists the tables beside the known parts.
func (l *listing) unread(known []part) (rest []string) {
	for _, f := range l.files {
		switch filepath.Ext(plain(f)) {
		case ".jsonl", ".tsv", ".parquet":
			if !slices.ContainsFunc(known, func(p part) bool { return p.file == f }) {
				rest = append(rest, f)
			}
		}
	}
	return rest
}

func isParquet(file string) bool { return strings.HasSuffix(file, ".parquet") }

func isParquetQrels(file string) bool {
	return isParquet(file) && (strings.Contains(file, "qrels") || strings.HasPrefix(file, "default/"))
}

// splits lists the splits of some files, nil when there are none.
func splits(parts []part) []string {
	return values(parts, func(p part) string { return p.split })
}

// values lists the values of a property, without "".
func values(parts []part, of func(part) string) []string {
	set := map[string]bool{}
	for _, p := range parts {
		if v := of(p); v != "" {
			set[v] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// pick keeps the files of one value of a property: the wanted one, or else the
// usual one, or else the only one.
func pick(parts []part, what string, of func(part) string, want, usual string) (string, []part, error) {
	set := map[string]bool{}
	for _, p := range parts {
		set[of(p)] = true
	}
	have := slices.Sorted(maps.Keys(set))
	chosen := want
	switch {
	case want != "" && !set[want] && len(have) == 1 && have[0] == "":
		return "", nil, fmt.Errorf("%w: %s %q is not there: the collection has no %ss (%s)", ErrSplit, what, want, what, parts[0].file)
	case want != "" && !set[want]:
		return "", nil, fmt.Errorf("%w: %s %q is not there: choose one of %s", ErrSplit, what, want, quoted(have))
	case want != "":
	case set[usual]:
		chosen = usual
	case set[""]:
	case len(have) == 1:
		chosen = have[0]
	default:
		return "", nil, fmt.Errorf("%w: several %ss: choose one of %s", ErrSplit, what, quoted(have))
	}
	return chosen, slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return of(p) != chosen }), nil
}

// quoted lists names; the plain file of several variants has none.
func quoted(names []string) string {
	s := make([]string, 0, len(names))
	for _, n := range names {
		if n != "" {
			s = append(s, n)
		}
	}
	return strings.Join(s, ", ")
}

// ofSplit keeps the files that serve a split: those of that name, or of the longest
// name that it begins with (dev for dev.small), or the only ones.
func ofSplit(what string, parts []part, split string) ([]part, error) {
	best, whole := "", false
	for _, p := range parts {
		whole = whole || p.split == ""
		if (p.split == split || strings.HasPrefix(split, p.split+".")) && len(p.split) > len(best) {
			best = p.split
		}
	}
	if have := splits(parts); best == "" && len(have) == 1 && !whole {
		best = have[0]
	} else if best == "" && !whole {
		return nil, fmt.Errorf("%w: %s of split %q are not there: found %s", ErrSplit, what, split, strings.Join(have, ", "))
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.split != best }), nil
}
