package metrics

import (
	"strings"
	"testing"
)

// Which measures are shares of queries and which tell of the judgements follows from
// the measure, whatever its cut-off and level.
func TestKinds(t *testing.T) {
	list, err := ParseList("nDCG@10 AP R@5 R_cap@5 P@1 RR RR@1 Success@1 Success(rel=2)@10 Rprec Bpref Judged@10 unj@5 SetP NumRel")
	if err != nil {
		t.Fatal(err)
	}
	var binary, coverage []string
	for _, m := range list {
		if m.Binary() {
			binary = append(binary, m.String())
		}
		if m.Coverage() {
			coverage = append(coverage, m.String())
		}
	}
	if got, want := strings.Join(binary, " "), "Success@1 Success(rel=2)@10"; got != want {
		t.Errorf("binary: %s, want %s", got, want)
	}
	if got, want := strings.Join(coverage, " "), "Judged@10 unj@5"; got != want {
		t.Errorf("coverage: %s, want %s", got, want)
	}
}
