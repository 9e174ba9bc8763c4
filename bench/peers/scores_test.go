package peers

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAgree(t *testing.T) {
	ours := func(query, measure string) (float64, bool) {
		v, ok := map[string]float64{"1 AP": 0.5, "1 RR": 1. / 3, "1 ERR": 0.123456, "2 AP": 0}[query+" "+measure]
		return v, ok
	}
	printed := map[string]int{"ERR": 5}
	for _, c := range []struct {
		name   string
		theirs []Value
		n      int
		err    string
	}{
		{"equal", []Value{{"1", "AP", 0.5}, {"1", "RR", 1. / 3}, {"2", "AP", 0}}, 3, ""},
		{"the last bit", []Value{{"1", "RR", math.Nextafter(1./3, 1)}}, 1, ""},
		{"rounded by the peer", []Value{{"1", "ERR", 0.12346}}, 1, ""},
		{"rounded otherwise", []Value{{"1", "ERR", 0.12345}}, 1, `the peer's values differ from ours in 1 of 1: query "1", ERR: 0.12345, ours 0.123456`},
		{"another value", []Value{{"1", "AP", 0.5}, {"1", "RR", 0.33}}, 2, `the peer's values differ from ours in 1 of 2: query "1", RR: 0.33, ours 0.3333333333333333`},
		{"not zero", []Value{{"2", "AP", 1e-30}}, 1, `the peer's values differ from ours in 1 of 1: query "2", AP: 1e-30, ours 0`},
		{"absent", []Value{{"3", "AP", 0.5}}, 0, `the peer's values differ from ours in 1 of 1: query "3", AP: 0.5, ours is absent`},
		{"NaN", []Value{{"1", "AP", math.NaN()}}, 1, `the peer's values differ from ours in 1 of 1: query "1", AP: NaN, ours 0.5`},
		{"nothing", nil, 0, "the peer's values differ from ours: it gave none"},
		{"many", slices.Repeat([]Value{{"1", "AP", 1}}, 5), 5, `the peer's values differ from ours in 5 of 5: query "1", AP: 1, ours 0.5; query "1", AP: 1, ours 0.5; query "1", AP: 1, ours 0.5`},
	} {
		a, err := Agree(c.theirs, ours, 1e-12, printed)
		switch {
		case a.Compared != c.n:
			t.Errorf("%s: %d compared, want %d", c.name, a.Compared, c.n)
		case c.err == "" && (err != nil || a.Worst > 1e-15):
			t.Errorf("%s: %+v, %v", c.name, a, err)
		case c.err != "" && (!errors.Is(err, ErrValues) || err.Error() != c.err):
			t.Errorf("%s: %v\nwant %s", c.name, err, c.err)
		}
	}
}

func TestReadValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values.jsonl")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[\"q 1\", \"ndcg_cut_10\", 0.25]\n[\"ü\", \"map\", 1]\n")
	got, err := ReadValues(path)
	if want := []Value{{"q 1", "ndcg_cut_10", 0.25}, {"ü", "map", 1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for s, want := range map[string]string{
		"[1, \"map\", 1]\n":                    ", value 1 is [1 map 1], expected [query, measure, value]",
		"[\"1\", \"map\", 1]\n[\"1\", \"map\"": ", value 2: unexpected EOF",
		"[\"1\", \"map\", NaN]\n":              ", value 1: invalid character 'N' looking for beginning of value",
	} {
		write(s)
		if _, err := ReadValues(path); err == nil || err.Error() != "peer's values: "+path+want {
			t.Errorf("%q: %v\nwant …%s", s, err, want)
		}
	}
	if _, err := ReadValues(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestReadRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, []byte("\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadRows(path, 1, 2)
	if err != nil || !slices.Equal(rows, []int64{1, -1}) {
		t.Errorf("%v, %v", rows, err)
	}
	_, err = ReadRows(path, 2, 2)
	if want := "peer's row numbers: " + path + " has 16 bytes, expected 32 for 2 queries at k 2"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestIndexedString(t *testing.T) {
	i := Indexed{SIMD: "AVX2", BLAS: []BLAS{{Kernels: "Haswell", Version: "0.3.15"}}}
	if got, want := i.String(), "faiss AVX2, OpenBLAS 0.3.15 Haswell"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
