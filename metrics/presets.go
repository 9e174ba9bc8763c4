package metrics

import "strings"

// Preset is a list of measures that belong together. Its note names the gain, the
// level and the rule of averaging under which published values were computed.
type Preset struct {
	Name     string
	Note     string
	Measures []Measure
}

var presets = []struct{ name, note, list string }{
	{"default", "linear gain; relevant from grade 1; mean over all judged queries, a missing one scores 0",
		"nDCG@10 nDCG@100 AP R@5 R@10 R@100 R@1000 P@10 RR RR@10 Success@1 Success@5 Success@10 Rprec Bpref Judged@10 NumQ NumRet NumRel NumRelRet"},
	{"official", "trec_eval's own: relevant from grade 1 (-l); mean over queries in both run and judgements, with -c over all judged ones",
		"NumQ NumRet NumRel NumRelRet AP gm_map Rprec Bpref RR iprec_at_recall P"},
	{"dl19", "TREC Deep Learning 2019 and 2020, passages: nDCG gains are all grades, the binary measures count from grade 2; mean over judged queries",
		"nDCG@10 nDCG@100 AP(rel=2) R(rel=2)@100 R(rel=2)@1000 RR(rel=2) RR(rel=2)@10 P(rel=2)@10 Judged@10"},
	{"dl20", "as dl19",
		"dl19"},
	{"msmarco", "MS MARCO passages, dev: relevant from grade 1; mean over all judged queries, a missing one scores 0",
		"RR@10 R@50 R@200 R@1000"},
	{"beir", "BEIR: linear gain; relevant from grade 1; documents with the query's own id dropped from runs; mean over scored queries",
		"nDCG@1,3,5,10,100,1000 AP@1,3,5,10,100,1000 R@1,3,5,10,100,1000 P@1,3,5,10,100,1000 RR@1,3,5,10,100,1000 R_cap@1,3,5,10,100,1000"},
	{"mteb", "MTEB retrieval: linear gain; relevant from grade 1; mean over scored queries; main score nDCG@10",
		"nDCG@1,3,5,10,20,100,1000 AP@1,3,5,10,20,100,1000 R@1,3,5,10,20,100,1000 P@1,3,5,10,20,100,1000 RR@1,3,5,10,20,100,1000 Success@1,3,5,10,20,100,1000"},
}

// Presets lists the presets. ParseList accepts their names.
func Presets() []Preset {
	var list []Preset
	for _, p := range presets {
		preset, _ := PresetNamed(p.name)
		list = append(list, preset)
	}
	return list
}

// PresetNamed gives the preset of a name, in any case.
func PresetNamed(name string) (Preset, bool) {
	for _, p := range presets {
		if strings.EqualFold(p.name, name) {
			measures, err := ParseList(p.list)
			if err != nil {
				panic("metrics: preset " + p.name + ": " + err.Error())
			}
			return Preset{p.name, p.note, measures}, true
		}
	}
	return Preset{}, false
}

func presetNames() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}
