package trec

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// FuzzJSON holds the streaming reader against encoding/json: what one reads the
// other reads, to the same rows.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"q":{"d":1,"e":2.5e-3},"r":{}}`, `{"a":{"b":{"q":{"d":1}}}}`, `{"q":{"d":1}} `, `{"q":{"d":1}}x`, `{"":{"":0}}`, `{"q":{"d":1},"q":{"d":2}}`,
		`{"mteb_model_meta":{"x":1},"a":{"b":{"q":{"d":1}}}}`, `{"q":1}`, `{"q":{"d":"1"}}`, `{"q":{"d":[1]}}`, `{"q":{"d":null}}`, `{"q":{"d":1e999}}`, `{"\u00e9":{"\ud800":-0}}`, `{`, `{}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var bare map[string]map[string]json.Number
		err := json.Unmarshal([]byte(text), &bare)
		rows, got := readAll(t, NewReader(strings.NewReader(text), "run", Options{Format: JSON}))
		if got == nil && !json.Valid([]byte(text)) {
			t.Fatalf("%q is read and is no JSON", text)
		}
		if err != nil || len(bare) == 0 || strings.Contains(text, "mteb_model_meta") || strings.Contains(text, "null") || strings.Contains(text, `"`+`"`) && strings.Contains(text, `:"`) {
			return
		}
		want, scored := 0, true
		for _, docs := range bare {
			for _, s := range docs {
				v, ok := number(string(s))
				scored = scored && ok && !math.IsInf(v, 0)
				want++
			}
		}
		if strings.Count(text, `:"`) > 0 || !scored || want == 0 {
			return // numbers in quotes, which Number accepts; no score at all
		}
		if got != nil && !strings.Contains(got.Error(), "a score is expected") {
			t.Fatalf("%q: %v", text, got)
		}
		if got != nil {
			return
		}
		if len(rows) < want {
			t.Fatalf("%q: %d rows, want %d", text, len(rows), want)
		}
		last := map[[2]string]float64{}
		for _, r := range rows {
			last[[2]string{r.query, r.doc}] = r.score // a name given twice: the last one stays
		}
		for query, docs := range bare {
			for doc, s := range docs {
				if v, _ := number(string(s)); last[[2]string{query, doc}] != v {
					t.Fatalf("%q: %s %s: %v, want %v", text, query, doc, last[[2]string{query, doc}], v)
				}
			}
		}
	})
}
