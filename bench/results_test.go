package bench

import (
	"math"
	"strings"
	"testing"
)

func bar(x float64) *float64 { return &x }

// around gives n samples spread evenly over ±w around m.
func around(n int, m, w float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = m + w*(2*float64(i)/float64(n-1)-1)
	}
	return xs
}

func TestResultRowJudge(t *testing.T) {
	peer := times(13, 10)
	for _, c := range []struct {
		name        string
		row         ResultRow
		enough, met bool
		value       float64
	}{
		{"well above", ResultRow{Ours: around(13, 12, 0.1), Peer: peer, Bar: bar(1.15)}, true, true, 1.2},
		{"just below, interval reaches", ResultRow{Ours: around(13, 9.85, 0.4), Peer: peer, Bar: bar(0.99)}, true, true, 0.985},
		{"exactly 0.01 below, interval reaches", ResultRow{Ours: around(13, 9.7, 0.8), Peer: peer, Bar: bar(0.98)}, true, true, 0.97},
		{"within 0.01, interval does not reach", ResultRow{Ours: around(13, 9.85, 0.01), Peer: peer, Bar: bar(0.99)}, true, false, 0.985},
		{"interval reaches, median too far", ResultRow{Ours: around(13, 9.7, 2), Peer: peer, Bar: bar(0.99)}, true, false, 0.97},
		{"too few pairs", ResultRow{Ours: times(11, 20), Peer: times(11, 10), Bar: bar(1.15)}, false, false, 2},
		{"ceiling kept", ResultRow{Ours: around(13, 10.05, 0.2), Peer: peer, Bar: bar(1), Ceiling: true}, true, true, 1.005},
		{"ceiling broken", ResultRow{Ours: around(13, 11, 0.2), Peer: peer, Bar: bar(1), Ceiling: true}, true, false, 1.1},
		{"absolute", ResultRow{Ours: around(7, 21_000, 100), Bar: bar(20_000)}, true, true, 21_000},
		{"absolute, missed", ResultRow{Ours: around(7, 19_999, 100), Bar: bar(20_000)}, true, false, 19_999},
		{"absolute, too few", ResultRow{Ours: times(5, 21_000), Bar: bar(20_000)}, false, false, 21_000},
		{"counted", ResultRow{Ours: []float64{0, 1}, Bar: bar(1), Ceiling: true, Counted: true}, true, true, 1},
		{"counted, one is too many", ResultRow{Ours: []float64{0, 1.005, 0, 0}, Bar: bar(1), Ceiling: true, Counted: true}, true, false, 1.005},
		{"counted, one is too few", ResultRow{Ours: []float64{100, 98.9}, Bar: bar(99), Counted: true}, true, false, 98.9},
		{"unpaired", ResultRow{Ours: times(6, 82), Peer: times(9, 2), Unpaired: true, Bar: bar(40)}, true, true, 41},
	} {
		c.row.Name, c.row.Unit = c.name, "chunks/s"
		if err := c.row.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		j := c.row.Judge()
		if !j.HasBar || j.Enough != c.enough || j.Met != c.met || math.Abs(j.Value.Value-c.value) > 1e-6*c.value {
			t.Errorf("%s: %+v, want enough %v, met %v, value %v", c.name, j, c.enough, c.met, c.value)
		}
	}
	none := ResultRow{Name: "n", Unit: "u", Ours: []float64{3}}
	if j := none.Judge(); j.HasBar || j.Met || j.Value.Value != 3 {
		t.Errorf("a row without a bar: %+v", j)
	}
}

func TestReadResult(t *testing.T) {
	const head = `{"title":"T","command":"make peers","commit":"abc","machine":"2 cores","rows":[`
	ok := head + `{"name":"n","unit":"chunks/s","ours":[1,2],"peer":[1,2],"bar":1.05}]}`
	res, err := ReadResult(write(t, ok))
	if err != nil || *res.Rows[0].Bar != 1.05 || len(res.Rows[0].Peer) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	for _, c := range []struct{ content, want string }{
		{`{"title":"T"}`, "PATH: title, command, commit, machine and rows or means are required"},
		{head + `{"name":"n","unit":"u","ours":[1],"bra":1}]}`, `unknown field "bra"`},
		{head + `{"name":"n","unit":"u","ours":[1],"peer":[1,2]}]}`, `row "n": 1 samples in "ours" and 2 in "peer" are no pairs; set "unpaired" if the arms were not interleaved`},
		{head + `{"name":"n","unit":"u","ours":[]}]}`, `row "n": no samples in "ours"`},
		{head + `{"name":"n","unit":"u","ours":[1,0]}]}`, `row "n": ours[1] is 0, expected a positive number`},
		{head + `{"name":"n","unit":"u","ours":[1],"peer":[1],"counted":true}]}`, `row "n": "counted" samples have no "peer"`},
		{head + `{"name":"n","unit":"u","ours":[-1],"counted":true}]}`, `row "n": ours[0] is -1, expected a positive number`},
		{head + `{"name":"n","ours":[1]}]}`, `row "n": name and unit are required`},
		{"{\"title\":\n\"T\",}", "PATH:2:5: invalid character '}'"},
	} {
		path := write(t, c.content)
		if _, err := ReadResult(path); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "PATH", path)) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.content, err, c.want)
		}
	}
}
