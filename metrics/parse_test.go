package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const knownMeasures = "nDCG, nDCG@k, R@k, R_cap@k, P@k, RR, RR@k, AP, AP@k, Success@k, Rprec, Bpref, infAP, IPrec@r, gm_map, ERR, ERR@k, RBP, RBP@k, Judged, Judged@k, unj@k, SetP, SetR, SetF, NumQ, NumRet, NumRel, NumRelRet"

// TestCanonical: canonical names are read and printed as they are.
func TestCanonical(t *testing.T) {
	names := []string{"P@2147483647", "IPrec@0.25", "IPrec@1.0", "IPrec(rel=2)@0.0", "nDCG(gains={1:3.5,2:9})", "RBP(p=0.95,rel=2)@10", "SetF(beta=0.5)", "R_cap(rel=0.5)@3"}
	for name := range everyMeasure(10) {
		names = append(names, name)
	}
	for _, s := range names {
		m, err := Parse(s)
		if err != nil || m.String() != s {
			t.Errorf("Parse(%q) gives %v, %v", s, m, err)
		}
	}
}

// TestAliases: what other tools call a measure, defaults written out, and the name
// trec_eval prints.
func TestAliases(t *testing.T) {
	for _, c := range []struct{ canonical, trec, aliases string }{
		{"nDCG", "ndcg", "ndcg NDCG nDCG(dcg='log2') nDCG(gains={1:1,0:0})"},
		{"nDCG@10", "ndcg_cut_10", "ndcg_cut_10 ndcg_cut.10 ndcg_at_10 ndcg@10 NDCG@10 NDCG_CUT_10"},
		{"nDCG(dcg='exp-log2')@10", "", `ndcg_burges@10 nDCG(dcg="exp-log2")@10`},
		{"nDCG(gains={1:3,2:9})", "ndcg_1=3,2=9", "nDCG(gains={2:9,1:3,3:3}) ndcg(gains={1:3,2:9.0})"},
		{"nDCG(gains={1:3,2:9})@10", "", ""},
		{"R@5", "recall_5", "recall_5 recall.5 recall_at_5 recall@5 Recall@5 R(rel=1)@5"},
		{"R(rel=2)@5", "recall_5", "recall@5-l2 R(rel=2.0)@5 recall(rel=2)@5"},
		{"R_cap@10", "", "R_cap_at_10 recall_cap@10"},
		{"RR", "recip_rank", "recip_rank mrr MRR"},
		{"RR@10", "", "mrr@10 mrr_at_10 MRR@10"},
		{"AP", "map", "map MAP"},
		{"AP@100", "map_cut_100", "map_cut_100 map_cut.100 map@100 map_at_100"},
		{"P@5", "P_5", "P_5 P.5 precision@5 precision_at_5 p@5"},
		{"Success@5", "success_5", "success_5 hit@5 hit_rate@5 hit_rate_at_5 Match@5 M@5 Accuracy@5 accuracy_at_5"},
		{"Rprec", "Rprec", "r_precision r-precision rprec"},
		{"Bpref", "bpref", "bpref"},
		{"infAP", "infAP", "infap"},
		{"IPrec@0.1", "iprec_at_recall_0.10", "iprec_at_recall_0.10 iprec_at_recall.0.1 iprec@.1"},
		{"gm_map", "gm_map", "GMAP"},
		{"ERR@20", "", "err@20"},
		{"RBP(p=0.95)", "", "rbp.95 rbp(p=.95)"},
		{"RBP", "", "RBP(rel=1) rbp(p=0.8)"},
		{"Judged@10", "", "judged@10"},
		{"unj@10", "unj_10", "unj_10 unj.10"},
		{"SetP", "set_P", "set_P"},
		{"SetR", "set_recall", "set_recall"},
		{"SetF", "set_F", "set_F set_F_1.0 set_F.1"},
		{"SetF(beta=2)", "set_F_2", "set_F_2.0 set_F.2"},
		{"NumQ", "num_q", "num_q"},
		{"NumRet", "num_ret", "num_ret"},
		{"NumRel", "num_rel", "num_rel"},
		{"NumRelRet", "num_rel_ret", "num_rel_ret"},
	} {
		for _, s := range append(strings.Fields(c.aliases), c.canonical) {
			m, err := Parse(s)
			if err != nil || m.String() != c.canonical || m.TrecName() != c.trec {
				t.Errorf("Parse(%q) is %v, in trec_eval %q, %v; want %s, %q", s, m, m.TrecName(), err, c.canonical, c.trec)
			}
			same, err := Parse(c.canonical)
			if err != nil || same != m {
				t.Errorf("%q and %q differ: %#v, %#v", s, c.canonical, m, same)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for s, want := range map[string]string{
		"":             `unknown measure "": known are ` + knownMeasures,
		"zzzzz@10":     `unknown measure "zzzzz@10": known are ` + knownMeasures,
		"ndgc@10":      `unknown measure "ndgc@10": did you mean nDCG@10? Known are ` + knownMeasures,
		"preciscion@3": `unknown measure "preciscion@3": did you mean P@3? Known are ` + knownMeasures,
		"sucess":       `unknown measure "sucess": did you mean Success@10? Known are ` + knownMeasures,
		"iprecs":       `unknown measure "iprecs": did you mean IPrec@0.1? Known are ` + knownMeasures,
		"ndcg_rel":     `unknown measure "ndcg_rel": did you mean nDCG@10? Known are ` + knownMeasures,
		"recall5":      `unknown measure "recall5": did you mean R@5? Known are ` + knownMeasures,

		"Accuracy":       `measure "Accuracy" is ambiguous: it is Success@1 in sentence-transformers, R@1 in MTEB, and in ir_measures the chance that a relevant document stands before another: name one of Success@k, R@k`,
		"top_k_accuracy": `measure "top_k_accuracy" is ambiguous: MTEB's counts hits only, so that its mean is always 1: use Success@k`,
		"hits@10":        `measure "hits@10" is ambiguous: ranx counts the relevant documents in the ranking: use NumRelRet; for the share of queries with a hit, Success@k`,
		"hole@10":        `measure "hole@10" is ambiguous: it is the share of documents without a judgement: use unj@k`,

		"P":            `measure "P" needs a cut-off, such as P@10`,
		"ndcg_cut":     `measure "ndcg_cut" needs a cut-off, such as nDCG@10`,
		"P@":           `measure "P@": the cut-off "" is not a whole number from 1 to 2147483647`,
		"P@0":          `measure "P@0": the cut-off "0" is not a whole number from 1 to 2147483647`,
		"P@-1":         `measure "P@-1": the cut-off "-1" is not a whole number from 1 to 2147483647`,
		"P@+1":         `measure "P@+1": the cut-off "+1" is not a whole number from 1 to 2147483647`,
		"P@05":         `measure "P@05": the cut-off "05" is not a whole number from 1 to 2147483647`,
		"P@2147483648": `measure "P@2147483648": the cut-off "2147483648" is not a whole number from 1 to 2147483647`,
		"nDCG@10@5":    `measure "nDCG@10@5": the cut-off "10@5" is not a whole number from 1 to 2147483647`,
		"Bpref@10":     `measure "Bpref@10": Bpref takes no cut-off`,
		"IPrec":        `measure "IPrec": the recall "" is not a number from 0 to 1, such as IPrec@0.1`,
		"IPrec@5":      `measure "IPrec@5": the recall "5" is not a number from 0 to 1, such as IPrec@0.1`,
		"IPrec@nan":    `measure "IPrec@nan": the recall "nan" is not a number from 0 to 1, such as IPrec@0.1`,

		"nDCG(rel=2)@10":                   `measure "nDCG(rel=2)@10": nDCG has no parameter "rel": known are dcg, gains`,
		"NumQ(rel=2)":                      `measure "NumQ(rel=2)": NumQ takes no parameters`,
		"AP(p=2)":                          `measure "AP(p=2)": AP has no parameter "p": known are rel`,
		"RBP(q=2)":                         `measure "RBP(q=2)": RBP has no parameter "q": known are p, rel`,
		"AP(rel)":                          `measure "AP(rel)": the parameter "rel" is not of the form name=value`,
		"AP(rel=0)":                        `measure "AP(rel=0)": the level "0" is not a positive number`,
		"AP(rel=x)":                        `measure "AP(rel=x)": the level "x" is not a positive number`,
		"RBP(p=1)":                         `measure "RBP(p=1)": p=1 is not a number between 0 and 1`,
		"SetF(beta=-1)":                    `measure "SetF(beta=-1)": beta=-1 is not a positive number`,
		"nDCG(dcg='log')@5":                `measure "nDCG(dcg='log')@5": dcg='log': known are 'log2' and 'exp-log2'`,
		"nDCG(gains=3)":                    `measure "nDCG(gains=3)": gains=3: write {grade:gain,…}`,
		"nDCG(gains={1})":                  `measure "nDCG(gains={1})": gains={1}: "1" is not of the form grade:gain`,
		"nDCG(gains={1:-3})":               `measure "nDCG(gains={1:-3})": gains={1:-3}: the gain -3 is not a number from 0 to 1e+15`,
		"nDCG(gains={1:2,1:3})":            `measure "nDCG(gains={1:2,1:3})": gains={1:2,1:3}: grade 1 stands there twice`,
		"nDCG(gains={1:3},dcg='exp-log2')": `measure "nDCG(gains={1:3},dcg='exp-log2')": gains= and dcg= exclude each other: write the gains that are meant`,
		"nDCG(dcg='log2'":                  `measure "nDCG(dcg='log2'": the bracket after "nDCG" is not closed`,
		"ndcg@10-l2":                       `measure "ndcg@10-l2": nDCG takes no level: ranx's -l changes its gains too, which is nDCG(gains={…}) here`,
		"recall@10-lx":                     `measure "recall@10-lx": the level "x" is not a positive number`,
	} {
		if m, err := Parse(s); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) gives %v and error\n%v, want\n%s", s, m, err, want)
		}
	}
}

func TestParseList(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"nDCG@10 R@5,RR  Success@5", "nDCG@10 R@5 RR Success@5"},
		{"nDCG@5,10 , 20", "nDCG@5 nDCG@10 nDCG@20"},
		{"AP(rel=2)@10,100", "AP(rel=2)@10 AP(rel=2)@100"},
		{"nDCG(dcg='exp-log2')@5,nDCG(gains={1:3, 2:9})@5", "nDCG(dcg='exp-log2')@5 nDCG(gains={1:3,2:9})@5"},
		{"IPrec@0.1,0.2", "IPrec@0.1 IPrec@0.2"},
		{"mrr RR recip_rank@10", "RR"},
		{"success", "Success@1 Success@5 Success@10"},
		{"P,AP", "P@5 P@10 P@15 P@20 P@30 P@100 P@200 P@500 P@1000 AP"},
		{"unj\n\tmap_cut_3", "unj@5 unj@10 unj@20 AP@3"},
		{"MSMARCO nDCG", "RR@10 R@50 R@200 R@1000 nDCG"},
	} {
		list, err := ParseList(c.list)
		if strings.Contains(c.list, "recip_rank@10") {
			c.want += " RR@10"
		}
		if got := strings.Trim(fmt.Sprint(list), "[]"); err != nil || got != c.want {
			t.Errorf("ParseList(%q) is %s, %v, want %s", c.list, got, err, c.want)
		}
	}
	for list, want := range map[string]string{
		"":              "no measure named: write names such as nDCG@10, or a preset: default, official, dl19, dl20, msmarco, beir, mteb",
		" , ":           "no measure named: write names such as nDCG@10, or a preset: default, official, dl19, dl20, msmarco, beir, mteb",
		"AP ndgc@10 P@": `unknown measure "ndgc@10": did you mean nDCG@10? Known are ` + knownMeasures,
		"RR,10":         `unknown measure "10": known are ` + knownMeasures,
		"P@5,0":         `measure "P@0": the cut-off "0" is not a whole number from 1 to 2147483647`,
	} {
		if got, err := ParseList(list); err == nil || err.Error() != want {
			t.Errorf("ParseList(%q) gives %v and error\n%v, want\n%s", list, got, err, want)
		}
	}
}

// TestPresets: the official list prints the names of trec_eval's, in its order.
func TestPresets(t *testing.T) {
	official, ok := PresetNamed("Official")
	if !ok {
		t.Fatal("no official preset")
	}
	var names []string
	for _, m := range official.Measures {
		names = append(names, m.TrecName())
	}
	const want = "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank " +
		"iprec_at_recall_0.00 iprec_at_recall_0.10 iprec_at_recall_0.20 iprec_at_recall_0.30 iprec_at_recall_0.40 iprec_at_recall_0.50 iprec_at_recall_0.60 iprec_at_recall_0.70 iprec_at_recall_0.80 iprec_at_recall_0.90 iprec_at_recall_1.00 " +
		"P_5 P_10 P_15 P_20 P_30 P_100 P_200 P_500 P_1000"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("official is %s, want %s", got, want)
	}
	dl, _ := PresetNamed("dl19")
	for _, m := range dl.Measures {
		if binary := m.Rel() != 0; binary && m.Rel() != 2 {
			t.Errorf("dl19 has %s at level %v, want 2", m, m.Rel())
		}
	}
	seen := map[string]bool{}
	for _, p := range Presets() {
		if len(p.Measures) == 0 || p.Note == "" || seen[p.Name] {
			t.Errorf("preset %q: %d measures, note %q, named before: %v", p.Name, len(p.Measures), p.Note, seen[p.Name])
		}
		seen[p.Name] = true
		if again, err := ParseList(p.Name); err != nil || !slices.Equal(again, p.Measures) {
			t.Errorf("ParseList(%q) is %v, %v, want %v", p.Name, again, err, p.Measures)
		}
	}
	if _, ok := PresetNamed("none"); ok {
		t.Error("a preset that is not there was found")
	}
}

// TestPerQuery: trec_eval prints these for all queries together only.
func TestPerQuery(t *testing.T) {
	for name := range everyMeasure(10) {
		m, _ := Parse(name)
		if want := name != "NumQ" && m.kind != gmMap; m.PerQuery() != want {
			t.Errorf("%s per query: %v", name, m.PerQuery())
		}
	}
}

// TestFamilies: a kind is the index of its family, and its name is its own alias.
func TestFamilies(t *testing.T) {
	for k, f := range families {
		if f.kind != kind(k) {
			t.Errorf("family %d is of kind %d", k, f.kind)
		}
	}
	for i, a := range aliases {
		if a.name != strings.ToLower(a.name) {
			t.Errorf("alias %q is not in lower case", a.name)
		}
		for _, b := range aliases[:i] {
			if a.name == b.name || strings.HasPrefix(a.name, b.name+"_") {
				t.Errorf("alias %q hides %q", b.name, a.name)
			}
		}
	}
	if got := strings.Join(Names(), ", "); got != knownMeasures {
		t.Errorf("Names gives %s", got)
	}
	if len(families) != int(numRelRet)+1 {
		t.Errorf("%d families for %d kinds", len(families), numRelRet+1)
	}
}
