package metrics

// kind is a measure without its parameters.
type kind uint8

const (
	noKind kind = iota
	ndcg
	recall
	recallCap
	precision
	reciprocalRank
	averagePrecision
	success
	rPrecision
	bpref
	infAP
	iprec
	gmMap
	errMeasure
	rbp
	judgedShare
	unjudgedShare
	setP
	setR
	setF
	numQ
	numRet
	numRel
	numRelRet
)

type cutRule uint8

const (
	noCut cutRule = iota
	mayCut
	mustCut
)

// family describes a kind.
type family struct {
	kind    kind
	name    string
	cut     cutRule
	level   bool    // takes rel=
	param   string  // name of its further parameter, "" for none
	normal  float64 // and its default
	sum     bool    // a count, whose aggregate is the sum
	trec    string  // what trec_eval calls it without a cut-off
	trecCut string  // and with one, less "_k"
}

// The kind is the index.
var families = [...]family{
	{},
	{kind: ndcg, name: "nDCG", cut: mayCut, trec: "ndcg", trecCut: "ndcg_cut"},
	{kind: recall, name: "R", cut: mustCut, level: true, trecCut: "recall"},
	{kind: recallCap, name: "R_cap", cut: mustCut, level: true},
	{kind: precision, name: "P", cut: mustCut, level: true, trecCut: "P"},
	{kind: reciprocalRank, name: "RR", cut: mayCut, level: true, trec: "recip_rank"},
	{kind: averagePrecision, name: "AP", cut: mayCut, level: true, trec: "map", trecCut: "map_cut"},
	{kind: success, name: "Success", cut: mustCut, level: true, trecCut: "success"},
	{kind: rPrecision, name: "Rprec", level: true, trec: "Rprec"},
	{kind: bpref, name: "Bpref", level: true, trec: "bpref"},
	{kind: infAP, name: "infAP", level: true, trec: "infAP"},
	{kind: iprec, name: "IPrec", level: true},
	{kind: gmMap, name: "gm_map", level: true, trec: "gm_map"},
	{kind: errMeasure, name: "ERR", cut: mayCut},
	{kind: rbp, name: "RBP", cut: mayCut, level: true, param: "p", normal: .8},
	{kind: judgedShare, name: "Judged", cut: mayCut},
	{kind: unjudgedShare, name: "unj", cut: mustCut, trecCut: "unj"},
	{kind: setP, name: "SetP", level: true, trec: "set_P"},
	{kind: setR, name: "SetR", level: true, trec: "set_recall"},
	{kind: setF, name: "SetF", level: true, param: "beta", normal: 1, trec: "set_F"},
	{kind: numQ, name: "NumQ", sum: true, trec: "num_q"},
	{kind: numRet, name: "NumRet", sum: true, trec: "num_ret"},
	{kind: numRel, name: "NumRel", level: true, sum: true, trec: "num_rel"},
	{kind: numRelRet, name: "NumRelRet", level: true, sum: true, trec: "num_rel_ret"},
}

func (m Measure) family() *family { return &families[m.kind] }

// normal gives the measure of a kind with every parameter at its default.
func normal(k kind) Measure {
	m := Measure{kind: k, param: families[k].normal}
	if families[k].level {
		m.level = Level
	}
	return m
}

// Names lists the forms that Parse accepts, with k for a cut-off and r for a
// recall.
func Names() []string {
	var names []string
	for _, f := range families[1:] {
		if f.kind == iprec {
			names = append(names, f.name+"@r")
			continue
		}
		if f.cut != mustCut {
			names = append(names, f.name)
		}
		if f.cut != noCut {
			names = append(names, f.name+"@k")
		}
	}
	return names
}

// alias is another name of a measure, in lower case.
type alias struct {
	name string
	kind kind
	// cuts are what trec_eval prints for the name alone.
	cuts []int
}

var (
	cutsDefault = []int{5, 10, 15, 20, 30, 100, 200, 500, 1000}
	cutsSuccess = []int{1, 5, 10}
	cutsUnj     = []int{5, 10, 20}
)

// Aliases are looked up without regard to case; where one is the beginning of
// another the longer one comes first.
var aliases = []alias{
	{"ndcg_burges", ndcg, nil},
	{"ndcg_cut", ndcg, cutsDefault},
	{"ndcg", ndcg, nil},
	{"recall_cap", recallCap, nil},
	{"r_cap", recallCap, nil},
	{"recall", recall, cutsDefault},
	{"precision", precision, nil},
	{"recip_rank", reciprocalRank, nil},
	{"mrr", reciprocalRank, nil},
	{"rr", reciprocalRank, nil},
	{"map_cut", averagePrecision, cutsDefault},
	{"map", averagePrecision, nil},
	{"ap", averagePrecision, nil},
	{"success", success, cutsSuccess},
	{"hit_rate", success, nil},
	{"hit", success, nil},
	{"match", success, nil},
	{"accuracy", success, nil},
	{"r_precision", rPrecision, nil},
	{"r-precision", rPrecision, nil},
	{"rprec", rPrecision, nil},
	{"bpref", bpref, nil},
	{"infap", infAP, nil},
	{"iprec_at_recall", iprec, nil},
	{"iprec", iprec, nil},
	{"gm_map", gmMap, nil},
	{"gmap", gmMap, nil},
	{"err", errMeasure, nil},
	{"rbp", rbp, nil},
	{"judged", judgedShare, nil},
	{"unj", unjudgedShare, cutsUnj},
	{"set_recall", setR, nil},
	{"set_p", setP, nil},
	{"set_r", setR, nil},
	{"set_f", setF, nil},
	{"setp", setP, nil},
	{"setr", setR, nil},
	{"setf", setF, nil},
	{"num_rel_ret", numRelRet, nil},
	{"numrelret", numRelRet, nil},
	{"num_rel", numRel, nil},
	{"numrel", numRel, nil},
	{"num_ret", numRet, nil},
	{"numret", numRet, nil},
	{"num_q", numQ, nil},
	{"numq", numQ, nil},
	{"p", precision, cutsDefault},
	{"r", recall, nil},
	{"m", success, nil},
}

// Names that mean different things in different tools are refused, with the
// measures that they may stand for.
var ambiguous = map[string]string{
	"accuracy":       "it is Success@1 in sentence-transformers, R@1 in MTEB, and in ir_measures the chance that a relevant document stands before another: name one of Success@k, R@k",
	"top_k_accuracy": "MTEB's counts hits only, so that its mean is always 1: use Success@k",
	"hits":           "ranx counts the relevant documents in the ranking: use NumRelRet; for the share of queries with a hit, Success@k",
	"hole":           "it is the share of documents without a judgement: use unj@k",
}
