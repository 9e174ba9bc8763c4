package inhouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"encbench/bench/collection"
)

func numbered(n int) []collection.Query {
	q := make([]collection.Query, n)
	for i := range q {
		q[i] = collection.Query{ID: fmt.Sprint("q", i), Text: fmt.Sprint("text ", i)}
	}
	return q
}

func split(t *testing.T, plan Plan, queries []collection.Query, strata []string, fixed map[string]Part) *Split {
	t.Helper()
	s, err := NewSplit(plan, queries, strata, fixed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Adding queries, or giving them in another order, moves none.
func TestSplitIsStable(t *testing.T) {
	few, many := numbered(300), numbered(1000)
	a := split(t, DefaultPlan, few, nil, nil)
	slices.Reverse(many)
	b := split(t, DefaultPlan, many, nil, nil)
	for i := range few {
		if a.Of(i) != b.Of(999-i) {
			t.Errorf("query %s moved from %s to %s", few[i].ID, a.Of(i), b.Of(999-i))
		}
	}
	if a.Digest == b.Digest || a.Dev+a.HeldOut != 300 || b.Dev+b.HeldOut != 1000 {
		t.Errorf("splits %+v and %+v", a, b)
	}
	slices.Reverse(many)
	if c := split(t, DefaultPlan, many, nil, nil); c.Digest != b.Digest {
		t.Error("the digest depends on the order of the queries")
	}
	if c := split(t, Plan{Salt: "another", Share: 0.5}, few, nil, nil); c.Digest == a.Digest {
		t.Error("another salt gives the same split")
	}
}

func TestSplitShares(t *testing.T) {
	for _, share := range []float64{0.1, 0.3, 0.5, 0.8} {
		s := split(t, Plan{Salt: "x", Share: share}, numbered(4000), nil, nil)
		if got := float64(s.HeldOut) / 4000; math.Abs(got-share) > 3.5*math.Sqrt(share*(1-share)/4000) {
			t.Errorf("share %g holds out %.3f", share, got)
		}
	}
	// What a recorded salt means must not change.
	s := split(t, DefaultPlan, numbered(12), nil, nil)
	var held []string
	for i, q := range numbered(12) {
		if s.Of(i) == HeldOut {
			held = append(held, q.ID)
		}
	}
	if got := strings.Join(held, " "); got != "q0 q1 q3 q6 q7 q9" {
		t.Errorf("held out of q0 to q11: %s", got)
	}
}

func TestGroupsStayTogether(t *testing.T) {
	queries := numbered(900)
	for i := range queries {
		if i%10 != 0 {
			queries[i].Group = fmt.Sprint("talk", i/9)
		}
	}
	strata := make([]string, len(queries))
	for i := range strata {
		strata[i] = fmt.Sprint("s", i/9%3)
	}
	for name, s := range map[string]*Split{
		"hash":   split(t, DefaultPlan, queries, nil, nil),
		"strata": split(t, Plan{Salt: "x", Share: 0.5, By: "s"}, queries, strata, nil),
	} {
		part := map[string]Part{}
		for i, q := range queries {
			if q.Group == "" {
				continue
			}
			if p, ok := part[q.Group]; ok && p != s.Of(i) {
				t.Errorf("%s: group %s is on both sides", name, q.Group)
			}
			part[q.Group] = s.Of(i)
		}
	}
	// A group is no query of the same name.
	if unit(collection.Query{ID: "x"}) == unit(collection.Query{ID: "y", Group: "x"}) {
		t.Error("a group and a query share a key")
	}
}

// Every stratum is divided by the share, and what was given stays when queries are
// added.
func TestStrataAreDividedAndSticky(t *testing.T) {
	plan := Plan{Salt: "x", Share: 0.3, By: "domain"}
	strata := func(n int) []string {
		s := make([]string, n)
		for i := range s {
			s[i] = []string{"a", "b", "a", "a", "rare"}[i%5]
		}
		return s
	}
	few := split(t, plan, numbered(100), strata(100), nil)
	for _, s := range few.Strata {
		if n := s.Dev + s.HeldOut; math.Abs(float64(s.HeldOut)-0.3*float64(n)) > 0.51 {
			t.Errorf("stratum %s holds out %d of %d", s.Value, s.HeldOut, n)
		}
	}
	if len(few.Strata) != 3 || few.Strata[0].Value != "a" || few.Strata[2].Value != "rare" {
		t.Errorf("strata %+v", few.Strata)
	}
	many := split(t, plan, numbered(250), strata(250), few.units)
	for i := range 100 {
		if few.Of(i) != many.Of(i) {
			t.Errorf("query %d moved to %s", i, many.Of(i))
		}
	}
	for _, s := range many.Strata {
		if n := s.Dev + s.HeldOut; math.Abs(float64(s.HeldOut)-0.3*float64(n)) > 0.51 {
			t.Errorf("stratum %s holds out %d of %d", s.Value, s.HeldOut, n)
		}
	}
}

func TestDuplicatesAcrossParts(t *testing.T) {
	queries := numbered(12)
	s := split(t, DefaultPlan, queries, nil, nil)
	var dev, held int
	for i := range queries {
		if s.Of(i) == Dev {
			dev = i
		} else {
			held = i
		}
	}
	queries[dev].Text, queries[held].Text = "The  same\tText", "the same text "
	s = split(t, DefaultPlan, queries, nil, nil)
	want := Duplicate{"the same text", []string{queries[dev].ID}, []string{queries[held].ID}}
	if len(s.Duplicates) != 1 || fmt.Sprint(s.Duplicates[0]) != fmt.Sprint(want) {
		t.Errorf("duplicates %+v, want %+v", s.Duplicates, want)
	}
	sentence := fmt.Sprintf("1 query text is on both sides of the split, the first \"the same text\": %q (dev) and %q (heldout); give queries of one text one group to keep them together", queries[dev].ID, queries[held].ID)
	if got := s.Sentences(HeldOut); !slices.Equal(got, []string{sentence}) {
		t.Errorf("sentences %q, want %q", got, sentence)
	}
	if got := s.Sentences(Dev); len(got) != 2 || got[0] != "the part for tuning: what was chosen on it scores too well on it; report the held-out part" {
		t.Errorf("sentences %q", got)
	}
}

func TestTake(t *testing.T) {
	c := open(t, write(t, golden))
	s := split(t, Plan{Salt: "s", Share: 0.5}, c.Queries, nil, nil)
	whole, err := s.Take(c, All)
	if err != nil || whole != c {
		t.Errorf("the whole is %v, %v", whole, err)
	}
	dev, err := s.Take(c, Dev)
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.Take(c, HeldOut)
	if err != nil {
		t.Fatal(err)
	}
	if len(dev.Queries)+len(held.Queries) != 3 || dev.Qrels.Len() != len(dev.Queries) || held.Qrels.Len() != len(held.Queries) || dev.Judged+held.Judged != 4 {
		t.Errorf("parts of %d and %d queries, %d and %d documents", len(dev.Queries), len(held.Queries), dev.Judged, held.Judged)
	}
	if dev.SHA256 == held.SHA256 || dev.SHA256 == c.SHA256 || dev.Name != c.Name+" [dev]" || held.Name != c.Name+" [heldout]" || dev.Documents != c.Documents {
		t.Errorf("parts %s %s and %s %s", dev.Name, dev.SHA256, held.Name, held.SHA256)
	}
	if len(dev.Notes) != len(c.Notes)+1 || len(held.Notes) != len(c.Notes) {
		t.Errorf("notes %q, %q and %q", c.Notes, dev.Notes, held.Notes)
	}
	for i, q := range dev.Queries {
		docs, _ := dev.Qrels.Judged(i)
		j, _ := c.Qrels.Find(q.ID)
		want, _ := c.Qrels.Judged(j)
		if !slices.Equal(docs, want) {
			t.Errorf("%s is judged on %q, want %q", q.ID, docs, want)
		}
	}
	tiny := split(t, Plan{Salt: "s", Share: 1e-9}, c.Queries, nil, nil)
	if _, err := tiny.Take(c, HeldOut); err == nil || err.Error() != "the heldout part has no query: 3 queries in 3 groups, a held-out share of 1e-09; label more queries, or choose another share or salt for a new split" {
		t.Errorf("an empty part: %v", err)
	}
}

// Documents that are judged but absent are not counted as there.
func TestTakeCountsDocumentsThatAreThere(t *testing.T) {
	files := map[string]string{}
	for n, s := range golden {
		files[n] = s
	}
	files["qrels/test.tsv"] += "q1\tgone\t1\n"
	c := open(t, write(t, files))
	s := split(t, Plan{Salt: "s", Share: 0.5}, c.Queries, nil, nil)
	dev, err1 := s.Take(c, Dev)
	held, err2 := s.Take(c, HeldOut)
	if err := errors.Join(err1, err2); err != nil || dev.Judged+held.Judged != 4 {
		t.Errorf("%d and %d documents are judged, want 4 together; %v", dev.Judged, held.Judged, err)
	}
}

func TestPlanErrors(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Salt: "x", Share: 0}, "a held-out share of 0: expected more than 0 and less than 1"},
		{Plan{Salt: "x", Share: 1}, "a held-out share of 1: expected more than 0 and less than 1"},
		{Plan{Salt: "x", Share: math.NaN()}, "a held-out share of NaN: expected more than 0 and less than 1"},
		{Plan{Share: 0.5}, "no salt for the split: expected any text"},
	} {
		if _, err := NewSplit(c.plan, numbered(3), nil, nil); !errors.Is(err, ErrPlan) || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %s", c.plan, err, c.want)
		}
	}
}

func noStrata(string) ([]string, error) { return nil, errors.New("no strata were asked for") }

func TestOpenSplitRecordsThePlan(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	a, err := RecordSplit(ctx, dir, Plan{Salt: "mine"}, numbered(20), noStrata)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "heldout.json"))
	want := "{\n  \"schema\": 1,\n  \"salt\": \"mine\",\n  \"heldout_share\": 0.5,\n  \"looks\": []\n}\n"
	if err != nil || string(text) != want {
		t.Errorf("ledger %s, %v, want %s", text, err, want)
	}
	b, err := OpenSplit(ctx, dir, numbered(20), noStrata)
	if err != nil || b.Digest != a.Digest || b.Salt != "mine" {
		t.Errorf("opened again: %+v, %v", b, err)
	}
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Salt: "other"}, `split DIR: salt "other": DIR/heldout.json has "mine" and 0 looks; leave it out to use the recorded split, or remove the file to begin a new one, whose looks start at 0`},
		{Plan{Share: 0.2}, `split DIR: a held-out share of 0.2: DIR/heldout.json has 0.5 and 0 looks; leave it out to use the recorded split, or remove the file to begin a new one, whose looks start at 0`},
		{Plan{By: "team"}, `split DIR: strata by "team": DIR/heldout.json has "" and 0 looks; leave it out to use the recorded split, or remove the file to begin a new one, whose looks start at 0`},
	} {
		if _, err := RecordSplit(ctx, dir, c.plan, numbered(20), noStrata); !errors.Is(err, ErrPlan) || strings.ReplaceAll(err.Error(), dir, "DIR") != c.want {
			t.Errorf("%+v: error %v, want %s", c.plan, err, c.want)
		}
	}
	if got := LedgerPath(filepath.Join(dir, "heldout.json")); got != filepath.Join(dir, "heldout.json.heldout.json") {
		t.Errorf("the ledger of a file is %s", got)
	}
}

// Opening records nothing.
func TestOpenSplitNeedsARecordedSplit(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenSplit(context.Background(), dir, numbered(20), noStrata)
	if want := "split " + dir + ": no split recorded; encbench labels split " + dir + " --share 0.5"; !errors.Is(err, ErrNoSplit) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v was made, %v", left, err)
	}
}

func TestOpenSplitKeepsStrata(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	strata := func(n int) func(string) ([]string, error) {
		return func(field string) ([]string, error) {
			if field != "team" {
				return nil, fmt.Errorf("asked for %q", field)
			}
			return slices.Repeat([]string{"a", "b"}, n/2), nil
		}
	}
	a, err := RecordSplit(ctx, dir, Plan{By: "team"}, numbered(20), strata(20))
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenSplit(ctx, dir, numbered(40), strata(40))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if a.Of(i) != b.Of(i) {
			t.Errorf("query %d moved", i)
		}
	}
	if b.HeldOut != 20 || b.Strata[0].HeldOut != 10 {
		t.Errorf("split %+v", b)
	}
	l, err := ReadLedger(LedgerPath(dir))
	if err != nil || len(l.Assigned) != 40 {
		t.Errorf("ledger of %d queries, %v", len(l.Assigned), err)
	}
	if _, err := OpenSplit(ctx, dir, numbered(2), func(string) ([]string, error) { return nil, errors.New("gone") }); err == nil || err.Error() != "split "+dir+": gone" {
		t.Errorf("strata that cannot be read: %v", err)
	}
}

func TestLooksAreCounted(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s, err := RecordSplit(ctx, dir, Plan{}, numbered(20), noStrata)
	if err != nil {
		t.Fatal(err)
	}
	// Many programs at once: every look counts.
	var wg sync.WaitGroup
	totals := make([]int, 12)
	for i := range totals {
		wg.Go(func() {
			n, err := s.CountLook(ctx, dir, Look{Model: fmt.Sprint("m", i), Measures: []string{"nDCG@10"}})
			if err != nil {
				t.Error(err)
			}
			totals[i] = n.Total
		})
	}
	wg.Wait()
	slices.Sort(totals)
	for i, n := range totals {
		if n != i+1 {
			t.Fatalf("looks were numbered %v", totals)
		}
	}
	grown, err := OpenSplit(ctx, dir, numbered(25), noStrata)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	n, err := grown.CountLook(ctx, dir, Look{Model: "m", Time: at})
	if err != nil || n != (Looks{13, 1}) {
		t.Errorf("after queries were added: %+v, %v, want 13 and 1", n, err)
	}
	l, err := ReadLedger(LedgerPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	last := l.Looks[12]
	if last.Digest != grown.Digest || last.Queries != grown.HeldOut || last.Time.Format(time.RFC3339) != "2026-01-02T02:04:05Z" {
		t.Errorf("look %+v", last)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files beside the ledger", len(entries)-1)
	}
}

// Without a ledger there is no look, and without a look no figure.
func TestLookNeedsALedger(t *testing.T) {
	dir := t.TempDir()
	s := split(t, DefaultPlan, numbered(5), nil, nil)
	if _, err := s.CountLook(context.Background(), dir, Look{}); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "count the look at the held-out part: ") {
		t.Errorf("a look without a ledger: %v", err)
	}
	if _, err := RecordSplit(context.Background(), dir, Plan{Salt: "x"}, numbered(5), noStrata); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CountLook(context.Background(), dir, Look{}); err == nil || err.Error() != "count the look at the held-out part: the split of "+LedgerPath(dir)+" was changed meanwhile" {
		t.Errorf("a look at another split: %v", err)
	}
}

func TestWaitingForALockCanBeInterrupted(t *testing.T) {
	dir := t.TempDir()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Locked(context.Background(), dir, func() error { close(held); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Locked(ctx, dir, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one that was canceled", err)
	}
	close(release)
	wg.Wait()
}

func TestBadLedgers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{", "read ledger L: unexpected EOF; restore it from a copy: without it looks would be lost"},
		{`{"schema":1,"salt":"x","heldout_share":0.5,"looks":[]}{"schema":1}`, "read ledger L: something follows the JSON value that ends at byte 54; restore it from a copy: without it looks would be lost"},
		{`{"schema":1,"what":2}`, `read ledger L: json: unknown field "what"; restore it from a copy: without it looks would be lost`},
		{`{"schema":2}`, "read ledger L: schema 2, this program knows 1"},
		{`{"schema":1,"salt":"x","heldout_share":2}`, "read ledger L: a held-out share of 2: expected more than 0 and less than 1"},
		{`{"schema":1,"salt":"x","heldout_share":0.5,"by":"t","assigned":{"qx":"test"}}`, `read ledger L: "qx" is assigned to "test", expected dev or heldout`},
	} {
		dir := write(t, map[string]string{"heldout.json": c.text})
		_, err := ReadLedger(LedgerPath(dir))
		if err == nil || strings.ReplaceAll(err.Error(), LedgerPath(dir), "L") != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
		if _, err := OpenSplit(context.Background(), dir, numbered(3), noStrata); err == nil {
			t.Errorf("%s is replaced in silence", c.text)
		}
	}
}

func TestSplitNeedsAWritableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		// Root writes everywhere; a folder that is gone stands in.
		dir := filepath.Join(t.TempDir(), "gone", "too")
		if _, err := RecordSplit(context.Background(), dir, Plan{}, numbered(3), noStrata); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder that is gone: %v", err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err := RecordSplit(context.Background(), dir, Plan{}, numbered(3), noStrata)
	if !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), "; a split needs a folder that can be written to") {
		t.Errorf("a folder that cannot be written to: %v", err)
	}
}
