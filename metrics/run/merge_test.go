package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"encbench/metrics/ranking"
)

// inMemory is a file as an input.
func inMemory(name string, k int, file []byte) Input {
	return Input{Name: name, K: k, Open: func(bool) (ranking.Source, io.Closer, error) {
		r, err := NewReader(bytes.NewReader(file), name, Options{Workers: 2})
		return r, nil, err
	}}
}

// merge gives the merged lists by query.
func merge(t *testing.T, k int, inputs ...Input) (map[string][]row, []string, Merged, error) {
	t.Helper()
	var out bytes.Buffer
	m, err := PlanMerge(context.Background(), k, inputs)
	if err != nil {
		return nil, nil, Merged{}, err
	}
	w, err := NewWriter(&out, Header{K: m.K()})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := m.Write(w)
	if err != nil {
		return nil, nil, sum, err
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, _, err := read(out.Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]row{}
	var order []string
	for _, l := range all {
		got[l.query] = l.rows
		order = append(order, l.query)
	}
	return got, order, sum, nil
}

// Shards of a collection, each searched to depth k and with its queries in its own
// order, merge to what a search of the whole gives.
func TestMergeIsOneSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		k, shards := 1+rng.IntN(12), 1+rng.IntN(4)
		var whole []list
		parts := make([][]list, shards)
		for q := range 20 {
			l := list{query: strconv.Itoa(q)}
			split := make([]list, shards)
			for d := range rng.IntN(60) {
				r := row{"d" + strconv.Itoa(d), float64(rng.IntN(20))}
				l.rows = append(l.rows, r)
				s := rng.IntN(shards)
				split[s].rows = append(split[s].rows, r)
			}
			for s := range split {
				split[s].query = l.query
				rows := trecOrder(split[s : s+1])[0].rows
				parts[s] = append(parts[s], list{l.query, rows[:min(k, len(rows))]})
			}
			l.rows = trecOrder([]list{l})[0].rows
			l.rows = l.rows[:min(k, len(l.rows))]
			whole = append(whole, l)
		}
		var inputs []Input
		for s, p := range parts {
			if s > 0 {
				rng.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			}
			inputs = append(inputs, inMemory(fmt.Sprint("shard", s), k, write(t, Header{K: k}, 30, block(p))))
		}
		got, order, _, err := merge(t, k, inputs...)
		if err != nil {
			t.Fatal(err)
		}
		for q, l := range whole {
			same(t, []list{{l.query, got[l.query]}}, []list{l})
			if order[q] != l.query {
				t.Fatalf("query %d of %d shards is %s, want the order of the first, %s", q, shards, order[q], l.query)
			}
		}
	}
}

// Runs with other queries are joined, whatever their depth, known or not.
func TestMergeJoins(t *testing.T) {
	a := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 2}, {"y", 1}}}, {"2", nil}}))
	b := write(t, Header{}, 10, block([]list{{"4", []row{{"x", 1}}}, {"3", []row{{"z", 1}}}}))
	got, order, sum, err := merge(t, 0, inMemory("a", 0, a), inMemory("b", 7, b))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "2", "4", "3"}; !slices.Equal(order, want) || len(got["1"]) != 2 {
		t.Errorf("order %v, want %v; %v", order, want, got)
	}
	if want := (Merged{Queries: 4, Rows: 4, Held: 1}); sum != want {
		t.Errorf("counts %+v, want %+v", sum, want)
	}
}

// A merge says of no list that it was cut where it was not: lists that one input
// alone has are cut like the others, and runs of several depths have none together.
func TestMergeDepth(t *testing.T) {
	deep := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 3}, {"y", 2}, {"z", 1}}}, {"2", []row{{"u", 1}, {"v", 2}, {"w", 3}}}}))
	flat := write(t, Header{}, 10, block([]list{{"1", []row{{"t", 4}, {"s", 1}}}}))
	other := write(t, Header{}, 10, block([]list{{"3", []row{{"u", 1}, {"v", 2}}}}))
	for _, c := range []struct {
		k, known int
		inputs   []Input
		want     []int // rows of each list
	}{
		{0, 2, []Input{inMemory("deep", 3, deep), inMemory("flat", 2, flat)}, []int{2, 2}},
		{0, 0, []Input{inMemory("deep", 3, deep), inMemory("other", 2, other)}, []int{3, 3, 2}},
		{0, 3, []Input{inMemory("deep", 3, deep), inMemory("other", 3, other)}, []int{3, 3, 2}},
		{1, 1, []Input{inMemory("deep", 3, deep), inMemory("other", 2, other)}, []int{1, 1, 1}},
		{9, 2, []Input{inMemory("deep", 3, deep), inMemory("other", 2, other)}, nil},
		{2, 0, []Input{inMemory("deep", 0, deep), inMemory("other", 5, other)}, []int{2, 2, 2}},
		{0, 0, nil, nil},
	} {
		m, err := PlanMerge(context.Background(), c.k, c.inputs)
		if err != nil || m.K() != c.known {
			t.Errorf("k %d of %d inputs: known %d, %v; want %d", c.k, len(c.inputs), m.K(), err, c.known)
		}
		if c.want == nil {
			continue
		}
		got, order, _, err := merge(t, c.k, c.inputs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range order {
			if len(got[q]) != c.want[i] {
				t.Errorf("k %d: query %s has %d rows, want %d", c.k, q, len(got[q]), c.want[i])
			}
		}
	}
	got, _, _, err := merge(t, 2, inMemory("deep", 3, deep), inMemory("flat", 2, flat))
	if err != nil {
		t.Fatal(err)
	}
	same(t, []list{{"2", got["2"]}}, []list{{"2", []row{{"w", 3}, {"v", 2}}}})
}

func TestMergeCounts(t *testing.T) {
	a := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 2}, {"y", 1}}}}))
	b := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 2}, {"w", 2}, {"v", 1}}}}))
	got, _, sum, err := merge(t, 3, inMemory("a", 3, a), inMemory("b", 3, b))
	if err != nil {
		t.Fatal(err)
	}
	same(t, []list{{"1", got["1"]}}, []list{{"1", []row{{"x", 2}, {"w", 2}, {"y", 1}}}})
	if want := (Merged{Queries: 1, Rows: 3, Shared: 1, Repeated: 1, Dropped: 1, Ties: 1, Held: 1}); sum != want {
		t.Errorf("counts %+v, want %+v", sum, want)
	}
}

func TestMergeRefuses(t *testing.T) {
	a := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 2}}}}))
	b := write(t, Header{}, 10, block([]list{{"1", []row{{"x", 1}}}}))
	c := write(t, Header{}, 10, block([]list{{"1", []row{{"z", 1}}}}))
	twice := Input{Name: "twice", K: 5, Open: func(bool) (ranking.Source, io.Closer, error) {
		return &fixed{[]*ranking.Block{block([]list{{"1", nil}}), block([]list{{"1", nil}})}}, nil, nil
	}}
	opens := 0
	changing := Input{Name: "changing", K: 5, Open: func(bool) (ranking.Source, io.Closer, error) {
		opens++
		return &fixed{[]*ranking.Block{block([]list{{strconv.Itoa(opens), nil}})}}, nil, nil
	}}
	fault := errors.New("cannot open")
	for name, test := range map[string]struct {
		k      int
		inputs []Input
		want   string
	}{
		"score":   {0, []Input{inMemory("a", 5, a), inMemory("b", 5, b)}, `merge: query "1": document "x" has score 2 in a and 1 in b`},
		"unknown": {5, []Input{inMemory("a", 5, a), inMemory("c", 0, c)}, `merge depth: c does not say at which depth its lists were cut, and other inputs have its query "1" too; state the depth`},
		"deep":    {9, []Input{inMemory("a", 10, a), inMemory("c", 5, c)}, `merge depth: the lists of c were cut at 5, so a merge is exact only up to that, not to 9`},
		"twice":   {0, []Input{twice}, `merge twice: query "1" comes twice; all rows of a query must come together, so sort the run by query`},
		"changed": {0, []Input{changing}, `merge changing: the file changed while it was read`},
		"open":    {0, []Input{{Name: "x", Open: func(bool) (ranking.Source, io.Closer, error) { return nil, nil, fault }}}, "cannot open"},
	} {
		if _, _, _, err := merge(t, test.k, test.inputs...); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := PlanMerge(ctx, 0, []Input{inMemory("a", 5, a)}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// fixed gives blocks.
type fixed struct{ blocks []*ranking.Block }

func (f *fixed) Next(b *ranking.Block) error {
	if len(f.blocks) == 0 {
		return io.EOF
	}
	*b, f.blocks = *f.blocks[0], f.blocks[1:]
	return nil
}

// A File gives the frames that a Reader gives, in any order, and single queries.
func TestFile(t *testing.T) {
	file, run := five(t)
	f, err := OpenFile(bytes.NewReader(file), int64(len(file)), "x.ebrun")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Totals{Frames: 5, Queries: 10, Rows: 20}); f.Totals() != want || f.Header().Order != OrderTREC {
		t.Errorf("totals %+v, header %+v", f.Totals(), f.Header())
	}
	var b ranking.Block
	for i := 4; i >= 0; i-- {
		if err := f.Frame(i, &b); err != nil {
			t.Fatal(err)
		}
		same(t, lists(&b), run[2*i:2*i+2])
		if info := f.Frames()[i]; info.First != run[2*i].query || info.Offset != int64(frames(file)[i]) {
			t.Errorf("frame %d: %+v", i, info)
		}
	}
	for _, l := range run {
		if ok, err := f.Find(l.query, &b); !ok || err != nil {
			t.Fatal(ok, err)
		}
		same(t, lists(&b), []list{l})
	}
	if ok, err := f.Find("10", &b); ok || err != nil {
		t.Errorf("found a query that is not there: %v", err)
	}
}

func TestFileDamaged(t *testing.T) {
	file, _ := five(t)
	at := frames(file)
	for n := range file {
		if _, err := OpenFile(bytes.NewReader(file[:n]), int64(n), "x"); err == nil {
			t.Fatalf("%d bytes were opened", n)
		}
		broken := slices.Clone(file)
		broken[n] ^= 0x10
		f, err := OpenFile(bytes.NewReader(broken), int64(len(broken)), "x")
		if n < at[0] || n >= at[5] {
			if err == nil {
				t.Fatalf("a file with byte %d changed was opened", n)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var b ranking.Block
		for i := range 5 {
			err := f.Frame(i, &b)
			if hit := n >= at[i] && n < at[i+1]; hit != errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d, frame %d: %v", n, i+1, err)
			}
		}
	}
	want := fmt.Sprintf(`read x: truncated run file: it ends with %q, not with "EBRUNend"`, file[at[3]-8:at[3]])
	if _, err := OpenFile(bytes.NewReader(file[:at[3]]), int64(at[3]), "x"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
