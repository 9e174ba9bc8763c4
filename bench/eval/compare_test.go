package eval

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/collection"
)

func evaluate(t *testing.T, s Setup) *Record {
	t.Helper()
	r, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	a, b := newSample(t, 11, 120, 40), newSample(t, 12, 60, 20)
	whole := evaluate(t, setup(t, a, b))
	st := setup(t, b, a)
	st.Dim = 6
	st.Measures = measures(t, "RR nDCG@10 P@5")
	cut := evaluate(t, st)
	c, err := Compare(whole, cut)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range c.Rows {
		rows = append(rows, r.Collection+" "+r.Measure)
		pa, pb := 0.0, 0.0
		for _, x := range whole.Collections {
			if x.Name == r.Collection {
				pa = x.Value(r.Measure).Mean
			}
		}
		for _, x := range cut.Collections {
			if x.Name == r.Collection {
				pb = x.Value(r.Measure).Mean
			}
		}
		if r.A != pa || r.B != pb || math.Abs(r.Paired.Diff-(pb-pa)) > 1e-12 || r.Holm < r.Paired.P {
			t.Errorf("row %+v: A is %v, B %v", r, pa, pb)
		}
	}
	if want := []string{"sample-11 (test) nDCG@10", "sample-11 (test) RR", "sample-12 (test) nDCG@10", "sample-12 (test) RR"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if len(c.Averages) != 2 || math.Abs(c.Averages[0].Change.Mean-(c.Rows[0].Paired.Diff+c.Rows[2].Paired.Diff)/2) > 1e-12 {
		t.Errorf("averages %+v", c.Averages)
	}
	if want := (bench.Difference{Field: "protocol.dim", A: "48", B: "6"}); !slices.Contains(c.Differences, want) {
		t.Errorf("differences %+v lack %+v", c.Differences, want)
	}
	same, err := Compare(whole, whole)
	if err != nil {
		t.Fatal(err)
	}
	if r := same.Rows[0]; r.Paired.Diff != 0 || r.Paired.P != 1 || len(same.Differences) != 0 {
		t.Errorf("a record against itself: %+v, %+v", r, same.Differences)
	}
}

// Another size, convention or depth is refused, with what differs.
func TestCompareRefuses(t *testing.T) {
	s := newSample(t, 13, 200, 20)
	st := setup(t, s)
	whole := evaluate(t, st)
	part, err := collection.Open(s.dir, collection.Options{Documents: 80, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	st.Inputs = []Input{{Name: part.Name, Collection: part}}
	limited := evaluate(t, st)
	if !limited.Collections[0].Limited() || whole.Collections[0].Limited() {
		t.Errorf("limited: %d of %d documents", limited.Collections[0].Documents, limited.Collections[0].OfDocuments)
	}
	_, err = Compare(whole, limited)
	want := "not comparable: collections (name, hash of documents, queries and judgements): " +
		"sample-13 (test) " + short(whole.Collections[0].SHA256) + " against sample-13 (test, 80 of 200 documents, seed 1) " + short(limited.Collections[0].SHA256)
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}

	st = setup(t, s)
	st.DropSelf = true
	_, err = Compare(whole, evaluate(t, st))
	if err == nil || !strings.HasPrefix(err.Error(), "not comparable: protocol.convention: ") || !strings.HasSuffix(err.Error(), "; protocol.drop_self: false against true") {
		t.Errorf("error %v", err)
	}

	st = setup(t, s)
	st.K, st.Measures = 10, measures(t, "RR AP")
	deep := setup(t, s)
	deep.Measures = measures(t, "RR")
	if _, err = Compare(evaluate(t, deep), evaluate(t, st)); err == nil || err.Error() != "not comparable: protocol.k: 20 against 10" {
		t.Errorf("error %v", err)
	}
	c, err := Compare(whole, evaluate(t, func() Setup { s := setup(t, s); s.K = 10; return s }()))
	if err != nil || len(c.Rows) != 3 || !slices.Contains(c.Notes, "left out because the records keep another number of documents a query: RR") {
		t.Errorf("error %v, comparison %+v", err, c)
	}
	st.Measures = measures(t, "P@3")
	if _, err = Compare(whole, evaluate(t, st)); err == nil || err.Error() != "not comparable: measures: nDCG@10 R@5 RR Success@5 against P@3" {
		t.Errorf("error %v", err)
	}
}

func TestReadRecord(t *testing.T) {
	st := setup(t, newSample(t, 14, 40, 8))
	st.Stores, st.BM25 = []Store{StoreBinary}, func(Input) bool { return true }
	r := evaluate(t, st)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	read := func(text string) (*Record, error) {
		write(t, "r.json", text)
		return ReadRecord("r.json")
	}
	got, err := read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(text) {
		t.Errorf("%v: a record changes when it is read and written", err)
	}
	if !IsRecord(text) || IsRecord([]byte(`{"schema":1}`)) || IsRecord([]byte(`{`)) {
		t.Error("records are not told from others")
	}
	ids := r.Collections[0].QueryIDs
	for _, c := range []struct{ old, new, want string }{
		{`"kind":"eval"`, `"kind":"x"`, `read record r.json: field "kind" is "x", expected "eval": this is not a record of encbench eval`},
		{`{"schema":1,`, `{"schema":9,`, "read record r.json: schema 9 is newer than 1, the newest this encbench knows; use the encbench that wrote it, or a later one"},
		{`{"schema":1,`, `{"schema":0,`, "read record r.json: schema 0, expected 1 to 1"},
		{`{"schema":1,`, `{"schema":"1",`, `read record r.json:1:13: field "schema" is a JSON string, expected int`},
		{`{"schema":1,`, `{"schema":1,,`, "read record r.json:1:13: invalid character ',' looking for beginning of object key string"},
		{`"query_ids":["` + ids[0] + `",`, `"query_ids":[`, "read record r.json: collections[0]: nDCG@10 has 8 values for n = 8, and there are 7 query ids; the record was changed, measure again"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%s is not in the record", c.old)
		}
		if _, err := read(changed); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v\nwant %s", c.new, err, c.want)
		}
	}
	r.Collections[0].Values[1].PerQuery[2] += 0.5
	text, _ = json.Marshal(r)
	if _, err := read(string(text)); err == nil || !strings.HasPrefix(err.Error(), "read record r.json: collections[0]: R@5 is ") || !strings.HasSuffix(err.Error(), "; the record was changed, measure again") {
		t.Errorf("error %v", err)
	}
	if _, err := ReadRecord(filepath.Join("no", "r.json")); !os.IsNotExist(err) && err == nil {
		t.Errorf("error %v", err)
	}
}
