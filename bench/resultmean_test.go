package bench

import (
	"math"
	"strings"
	"testing"
)

func TestResultMean(t *testing.T) {
	good := ResultMean{Name: "n", Measure: "nDCG@10", Value: 0.4, Low: 0.35, High: 0.45, Queries: 93, Method: "BCa"}
	if err := good.Validate(); err != nil || !good.Met() {
		t.Errorf("%v, met %v", err, good.Met())
	}
	for _, c := range []struct {
		want   string
		change func(*ResultMean)
	}{
		{`mean "": name, measure and method are required`, func(m *ResultMean) { m.Name = "" }},
		{`mean "n": name, measure and method are required`, func(m *ResultMean) { m.Method = "" }},
		{`mean "n": over 0 queries, expected at least 1`, func(m *ResultMean) { m.Queries = 0 }},
		{`mean "n": 0.5 is not within its interval 0.35 to 0.45`, func(m *ResultMean) { m.Value = 0.5 }},
		{`mean "n": NaN is not within its interval 0.35 to 0.45`, func(m *ResultMean) { m.Value = math.NaN() }},
		{`mean "n": "within" needs a "reference" and a positive number`, func(m *ResultMean) { m.Within = bar(0.1) }},
		{`mean "n": "within" needs a "reference" and a positive number`, func(m *ResultMean) { m.Within, m.Reference = bar(0), bar(0.4) }},
	} {
		m := good
		c.change(&m)
		if err := m.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	for ref, met := range map[float64]bool{0.4: true, 0.402: true, 0.398: true, 0.4021: false, 0.3979: false} {
		m := good
		m.Reference, m.Within = &ref, bar(0.002)
		if err := m.Validate(); err != nil || m.Met() != met {
			t.Errorf("reference %v: met %v, want %v (%v)", ref, m.Met(), met, err)
		}
	}
}

func TestReadResultMeans(t *testing.T) {
	const head = `{"title":"T","command":"c","commit":"abc","machine":"m","means":[`
	res, err := ReadResult(write(t, head+`{"name":"n","measure":"AP","value":0.5,"low":0.4,"high":0.6,"queries":9,"method":"BCa"}]}`))
	if err != nil || len(res.Means) != 1 || res.Means[0].Queries != 9 {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = ReadResult(write(t, head+`{"name":"n","measure":"AP","value":0.5,"low":0.4,"high":0.6,"queries":0,"method":"BCa"}]}`))
	if err == nil || !strings.HasSuffix(err.Error(), `: mean "n": over 0 queries, expected at least 1`) {
		t.Errorf("%v", err)
	}
}
