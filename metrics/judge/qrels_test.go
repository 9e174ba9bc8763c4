package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Judgements agree with maps, for short lists and for long ones.
func TestQrels(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	q := new(Qrels)
	want := map[string]map[string]float64{}
	repeated := 0
	for range 20_000 {
		query := fmt.Sprintf("q%d", min(rng.IntN(40), rng.IntN(40)))
		doc, grade := fmt.Sprintf("d%d", rng.IntN(3000)), float64(rng.IntN(4)-1)
		if want[query] == nil {
			want[query] = map[string]float64{}
		}
		old, there := want[query][doc]
		err := q.Add(query, doc, grade)
		switch {
		case there && old != grade:
			if text := fmt.Sprintf("query %q, document %q: judged twice, %v and %v", query, doc, old, grade); err == nil || err.Error() != text {
				t.Fatalf("error %v, want %s", err, text)
			}
			continue
		case err != nil:
			t.Fatal(err)
		case there:
			repeated++
		}
		want[query][doc] = grade
	}
	if q.Len() != len(want) || q.Repeated != repeated {
		t.Fatalf("%d queries, %d repeated, want %d, %d", q.Len(), q.Repeated, len(want), repeated)
	}
	for query, docs := range want {
		i, ok := q.Find(query)
		if !ok || q.Query(i) != query {
			t.Fatalf("query %s: %d, %v", query, i, ok)
		}
		list, grades := q.Judged(i)
		if len(list) != len(docs) || len(grades) != len(docs) {
			t.Fatalf("query %s: %d documents, want %d", query, len(list), len(docs))
		}
		for d, doc := range list {
			if g, ok := q.Grade(i, doc); !ok || g != docs[doc] || grades[d] != g {
				t.Fatalf("%s %s: %v, %v, want %v", query, doc, g, ok, docs[doc])
			}
		}
		if _, ok := q.Grade(i, "d3000"); ok {
			t.Fatal("a document that nobody judged")
		}
	}
	if _, ok := q.Find("q40"); ok {
		t.Error("a query that nobody judged")
	}
	const bad = `query "q", document "d": grade NaN: must be a number from -1e+15 to 1e+15`
	if err := q.Add("q", "d", math.NaN()); err == nil || err.Error() != bad {
		t.Errorf("error %v", err)
	}
}
