package collection

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// random makes a BEIR folder: docs documents, queries with one to three judged each.
func random(t *testing.T, seed uint64, docs, queries int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var c, q, j strings.Builder
	j.WriteString(beirHeader)
	for i := range docs {
		fmt.Fprintf(&c, `{"_id":"d%d","text":"text %d"}`+"\n", i, i)
	}
	for i := range queries {
		fmt.Fprintf(&q, `{"_id":"q%d","text":"query %d"}`+"\n", i, i)
		for k := range 1 + r.IntN(3) {
			fmt.Fprintf(&j, "q%d\td%d\t%d\n", i, (r.IntN(docs/3)*3+k)%docs, k) // gains 0, 1, 2
		}
	}
	return folder(t, "corpus.jsonl\n"+c.String(), "queries.jsonl\n"+q.String(), "qrels/test.tsv\n"+j.String())
}

// ids gives the document ids of a collection.
func ids(t *testing.T, c *Collection) []string {
	var list []string
	for _, d := range texts(t, c) {
		id, _, _ := strings.Cut(d, ":")
		list = append(list, id)
	}
	return list
}

// A limit beyond every collection is none, however the list of spare documents grows.
func TestLimitBeyondAll(t *testing.T) {
	root := random(t, 2, 3000, 2)
	for _, limit := range []int{math.MaxInt, 1 << 62} {
		if c := open(t, root, Options{Documents: limit, Queries: limit}); c.Documents != 3000 || c.Name != "set (test)" {
			t.Errorf("limit %d: %s", limit, c.Name)
		}
	}
}

// A limit keeps all judged documents of its queries, in the order of the collection,
// fills up to its size, and depends on ids and seed alone.
func TestLimits(t *testing.T) {
	root := random(t, 1, 300, 40)
	whole := open(t, root, Options{})
	order := ids(t, whole)
	for _, opt := range []Options{
		{Documents: 100}, {Documents: 100, Seed: 1}, {Documents: 100, Queries: 10}, {Documents: 1, Queries: 5},
		{Queries: 40}, {Queries: 1}, {Documents: 299}, {Documents: 300}, {Documents: 1000, Queries: 39, Seed: 7},
	} {
		c := open(t, root, opt)
		judged := map[string]bool{}
		for i, q := range c.Queries {
			all, ok := whole.Qrels.Find(q.ID)
			if !ok {
				t.Fatalf("%+v: query %s is new", opt, q.ID)
			}
			docs, grades := whole.Qrels.Judged(all)
			got, gotGrades := c.Qrels.Judged(i)
			if !slices.Equal(docs, got) || !slices.Equal(grades, gotGrades) {
				t.Errorf("%+v: judgements of %s are %v, want %v", opt, q.ID, got, docs)
			}
			for _, d := range docs {
				judged[d] = true
			}
		}
		got := ids(t, c)
		want := 300
		if opt.Documents > 0 {
			want = min(300, max(opt.Documents, len(judged)))
		}
		if len(got) != want || c.Judged != len(judged) {
			t.Errorf("%+v: %d documents, %d judged, want %d and %d", opt, len(got), c.Judged, want, len(judged))
		}
		at := -1
		for _, d := range got {
			i := slices.Index(order, d)
			if i <= at {
				t.Errorf("%+v: document %s is out of order", opt, d)
			}
			at = i
			delete(judged, d)
		}
		if len(judged) > 0 {
			t.Errorf("%+v: judged documents are missing: %v", opt, slices.Sorted(maps.Keys(judged)))
		}
		if n := len(c.Queries); opt.Queries > 0 && n != opt.Queries || opt.Queries == 0 && n != 40 {
			t.Errorf("%+v: %d queries", opt, n)
		}
		if same := len(got) == 300 && len(c.Queries) == 40; same != (c.SHA256 == whole.SHA256) || same != (c.Name == whole.Name) {
			t.Errorf("%+v: name %s, hash %s; of the whole %s, %s", opt, c.Name, c.SHA256, whole.Name, whole.SHA256)
		}
		if again := open(t, root, opt); again.SHA256 != c.SHA256 || again.Name != c.Name {
			t.Errorf("%+v: opened twice, two collections", opt)
		}
	}
	a, b := open(t, root, Options{Documents: 150, Queries: 10}), open(t, root, Options{Documents: 150, Queries: 10, Seed: 1})
	if slices.Equal(ids(t, a), ids(t, b)) || slices.Equal(a.Queries, b.Queries) || a.Name == b.Name {
		t.Errorf("the seed changes nothing: %s, %s", a.Name, b.Name)
	}
	// A larger sample holds the smaller one.
	small, large := ids(t, open(t, root, Options{Documents: 150, Queries: 10})), ids(t, open(t, root, Options{Documents: 200, Queries: 10}))
	for _, d := range small {
		if !slices.Contains(large, d) {
			t.Errorf("document %s of 150 is not among 200", d)
		}
	}
}

// TestLimitPrunes samples from more documents than are ever held at once.
func TestLimitPrunes(t *testing.T) {
	root := random(t, 2, 4000, 3)
	got := ids(t, open(t, root, Options{Documents: 20}))
	type ranked struct {
		rank uint64
		id   string
	}
	var all []ranked
	whole := open(t, root, Options{})
	judged := map[string]bool{}
	for i := range whole.Queries {
		docs, _ := whole.Qrels.Judged(i)
		for _, d := range docs {
			judged[d] = true
		}
	}
	for _, d := range ids(t, whole) {
		if !judged[d] {
			all = append(all, ranked{hashID(0, []byte(d)), d})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int { return compareSpare(spare{a.rank, 0}, spare{b.rank, 0}) })
	want := judged
	for _, r := range all[:20-len(judged)] {
		want[r.id] = true
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("kept %v, want %v", got, slices.Sorted(maps.Keys(want)))
	}
}

func TestLimitNotes(t *testing.T) {
	root := random(t, 1, 300, 40)
	c := open(t, root, Options{Documents: 100, Queries: 10, Seed: 3})
	if want := "set (test, 100 of 300 documents, 10 of 40 queries, seed 3)"; c.Name != want || c.Corpus.Name != want {
		t.Errorf("names %q, %q, want %q", c.Name, c.Corpus.Name, want)
	}
	want := []string{
		"judgements are read as query-id corpus-id score with a header",
		"limited to 10 of 40 judged queries, a sample by seed 3",
		fmt.Sprintf("limited to 100 of 300 documents, the %d judged ones of the queries and a sample of the others by seed 3: easier than the whole, to be compared at this size only", c.Judged),
	}
	if got := c.Notes[:3]; !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	c = open(t, root, Options{Documents: 5, Queries: 10, Seed: 3})
	if got, want := c.Notes[3], fmt.Sprintf("the limit of 5 documents is below the %d judged ones, which are all kept", c.Judged); got != want {
		t.Errorf("note %q, want %q", got, want)
	}
}

func TestIntegrity(t *testing.T) {
	root := folder(t,
		"corpus.jsonl\n"+someDocs+`{"_id":"d4","text":" "}`+"\n"+`{"_id":"d5","text":""}`+"\n",
		"queries.jsonl\n"+someQueries+`{"_id":"q3","text":"what is first"}`+"\n"+`{"_id":"q1","text":"what is first"}`+"\n"+
			`{"_id":"q4","text":"nothing"}`+"\n"+`{"_id":"q5","text":""}`+"\n",
		"qrels/test.tsv\n"+beirHeader+"q1\td1\t1\nq1\td1\t1\nq1\tgone\t1\nq2\td4\t1\nq2\td5\t0\nq3\td1\t0\nq3\tgone\t0\nq9\td2\t1\n")
	c := open(t, root, Options{})
	want := Integrity{
		Documents: 5, Queries: 5, Judgments: 7, QueriesUnjudged: 2, QueriesWithoutRelevant: 1, QueriesRepeated: 1, TextsRepeated: 1,
		JudgedWithoutText: 1, JudgmentsRepeated: 1, JudgmentsAbsent: 2, DocumentsEmpty: 2, JudgedEmpty: 1,
	}
	if c.Integrity != want {
		t.Errorf("got  %+v\nwant %+v", c.Integrity, want)
	}
	sentences := []string{
		"2 of 5 queries have no judgement and are left out before encoding",
		"1 judged query has no relevant document and scores 0",
		"1 judged query id has no query and is left out",
		"2 of 7 judgements point at documents that the collection does not have; where they are relevant, recall cannot reach 1",
		"2 of 5 documents have no text, 1 of them relevant to a query",
		"1 query is given again with the same id and text",
		"1 query has the text of another query",
		"1 judgement is given again with the same grade",
	}
	if got := c.Notes[1:]; !slices.Equal(got, sentences) {
		t.Errorf("got  %q\nwant %q", got, sentences)
	}
	if got := c.Integrity.Sentences(); !slices.Equal(got, sentences) || (Integrity{Documents: 1, Queries: 1}).Sentences() != nil {
		t.Errorf("sentences %q", got)
	}
	if c.Judged != 3 || len(c.Queries) != 3 || c.Qrels.Len() != 3 {
		t.Errorf("%d judged documents, %d queries, %d judged queries", c.Judged, len(c.Queries), c.Qrels.Len())
	}
}

func TestNatural(t *testing.T) {
	want := []string{"a", "a-2", "a-9", "a-010", "a-10", "b", "b/1", "b1x2", "b1x10", "c99999999999999999999999", "c99999999999999999999999a"}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
