package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parse gives the measure of a name. Canonical names are those of ir_measures,
// as Names lists them, with parameters in brackets and a cut-off behind @:
//
//	nDCG(dcg='exp-log2')@10   nDCG(gains={1:3,2:9})   R(rel=2)@100   RBP(p=0.95)
//
// and so are what other tools call them, in any case: ndcg_cut_10, ndcg_cut.10,
// ndcg_at_10, recip_rank, mrr@10, hit_rate@5, Accuracy@1, map_cut_100, recall@5-l2
// (ranx: level 2), ndcg_burges@10 (ranx: gain 2^grade−1), rbp.95 (ranx: p).
// Cut-offs are whole numbers from 1, levels are positive grades.
func Parse(s string) (Measure, error) {
	base, params, rest, err := split(s)
	if err != nil {
		return Measure{}, err
	}
	rest, levelled, level, err := levelSuffix(s, rest)
	if err != nil {
		return Measure{}, err
	}
	a, rest, ok := find(base, rest)
	if !ok {
		return Measure{}, unknown(s)
	}
	m := normal(a.kind)
	m.exp = a.name == "ndcg_burges"
	if err := m.set(s, params); err != nil {
		return Measure{}, err
	}
	if levelled {
		if m.level == 0 {
			return Measure{}, fmt.Errorf("measure %q: %s takes no level: ranx's -l changes its gains too, which is nDCG(gains={…}) here", s, m.family().name)
		}
		m.level = level
	}
	return m, m.setCut(s, a, rest)
}

// split takes a name apart: what stands before the brackets, the parameters in
// them, and what follows. Without brackets base is empty and rest is all of it.
func split(s string) (base, params, rest string, err error) {
	open := strings.IndexByte(s, '(')
	if open < 0 {
		return "", "", s, nil
	}
	end := strings.LastIndexByte(s, ')')
	if end < open {
		return "", "", "", fmt.Errorf("measure %q: the bracket after %q is not closed", s, s[:open])
	}
	return s[:open], s[open+1 : end], s[end+1:], nil
}

// levelSuffix takes off ranx's "-l2".
func levelSuffix(s, rest string) (string, bool, float64, error) {
	before, digits, ok := strings.Cut(rest, "-l")
	if !ok {
		return rest, false, 0, nil
	}
	level, err := parseLevel(s, digits)
	return before, true, level, err
}

// find looks a name up; rest is then what follows it.
func find(base, rest string) (alias, string, bool) {
	if base != "" {
		for _, a := range aliases {
			if strings.EqualFold(a.name, base) {
				return a, rest, true
			}
		}
		return alias{}, "", false
	}
	for _, a := range aliases {
		if len(rest) < len(a.name) || !strings.EqualFold(rest[:len(a.name)], a.name) {
			continue
		}
		after := rest[len(a.name):]
		if after == "" || after[0] == '@' || strings.HasPrefix(after, "_at_") ||
			len(after) > 1 && (after[0] == '_' || after[0] == '.') && after[1] >= '0' && after[1] <= '9' {
			return a, after, true
		}
	}
	return alias{}, "", false
}

// wordOf gives the name in lower case, less a cut-off behind @.
func wordOf(s string) string {
	word, _, _ := strings.Cut(strings.ToLower(s), "@")
	return word
}

// setCut reads what follows a name: nothing, or a cut-off with its separator.
func (m *Measure) setCut(s string, a alias, rest string) error {
	f := m.family()
	digits := ""
	for _, sep := range []string{"@", "_at_", "_", "."} {
		if after, ok := strings.CutPrefix(rest, sep); ok {
			digits = after
			break
		}
	}
	switch {
	case a.name == "accuracy" && rest == "":
		return fmt.Errorf("measure %q is ambiguous: %s", s, ambiguous["accuracy"])
	case f.kind == iprec:
		return m.setRecall(s, digits)
	case rest == "" && (f.cut == mustCut || a.cuts != nil):
		return fmt.Errorf("measure %q needs a cut-off, such as %s@10", s, f.name)
	case rest == "":
		return nil
	case f.kind == setF && rest[0] != '@':
		return m.setParam(s, "beta", digits)
	case f.kind == rbp && rest[0] == '.':
		return m.setParam(s, "p", rest)
	case f.cut == noCut:
		return fmt.Errorf("measure %q: %s takes no cut-off", s, f.name)
	}
	k, err := strconv.ParseInt(digits, 10, 32)
	// Only the digits that String prints again: no sign, no leading zero.
	if err != nil || k < 1 || strconv.FormatInt(k, 10) != digits {
		return fmt.Errorf("measure %q: the cut-off %q is not a whole number from 1 to %d", s, digits, math.MaxInt32)
	}
	m.cut = int32(k)
	return nil
}

func (m *Measure) setRecall(s, digits string) error {
	r, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(r >= 0 && r <= 1) {
		return fmt.Errorf("measure %q: the recall %q is not a number from 0 to 1, such as IPrec@0.1", s, digits)
	}
	m.param = r
	return nil
}

// set reads the parameters in brackets.
func (m *Measure) set(s, params string) error {
	for _, p := range fields(params, func(c byte) bool { return c == ',' }) {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("measure %q: the parameter %q is not of the form name=value", s, p)
		}
		if err := m.setParam(s, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	if m.exp && m.gains != "" {
		return fmt.Errorf("measure %q: gains= and dcg= exclude each other: write the gains that are meant", s)
	}
	return nil
}

func (m *Measure) setParam(s, name, value string) error {
	f := m.family()
	switch {
	case name == "rel" && f.level:
		level, err := parseLevel(s, value)
		m.level = level
		return err
	case name == "p" && f.param == name:
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || !(p > 0 && p < 1) {
			return fmt.Errorf("measure %q: p=%s is not a number between 0 and 1", s, value)
		}
		m.param = p
		return nil
	case name == "beta" && f.param == name:
		beta, err := strconv.ParseFloat(value, 64)
		if err != nil || !(beta > 0 && beta <= MaxGrade) {
			return fmt.Errorf("measure %q: beta=%s is not a positive number", s, value)
		}
		m.param = beta
		return nil
	case name == "dcg" && f.kind == ndcg:
		v := strings.Trim(value, `'"`)
		if v != "log2" && v != "exp-log2" {
			return fmt.Errorf("measure %q: dcg=%s: known are 'log2' and 'exp-log2'", s, value)
		}
		m.exp = v == "exp-log2"
		return nil
	case name == "gains" && f.kind == ndcg:
		gains, err := parseGains(value)
		if err != nil {
			return fmt.Errorf("measure %q: %w", s, err)
		}
		m.gains = gains.String()
		return nil
	}
	var known []string
	if f.kind == ndcg {
		known = append(known, "dcg", "gains")
	}
	if f.param != "" {
		known = append(known, f.param)
	}
	if f.level {
		known = append(known, "rel")
	}
	if known == nil {
		return fmt.Errorf("measure %q: %s takes no parameters", s, f.name)
	}
	return fmt.Errorf("measure %q: %s has no parameter %q: known are %s", s, f.name, name, strings.Join(known, ", "))
}

func parseLevel(s, value string) (float64, error) {
	level, err := strconv.ParseFloat(value, 64)
	if err != nil || !(level > 0 && level <= MaxGrade) {
		return 0, fmt.Errorf("measure %q: the level %q is not a positive number", s, value)
	}
	return level, nil
}

// gainTable maps grades to gains; a grade that it does not name is its own gain.
type gainTable map[float64]float64

// parseGains reads {1:3,2:9}.
func parseGains(s string) (gainTable, error) {
	inner, ok := strings.CutPrefix(s, "{")
	inner, ok2 := strings.CutSuffix(inner, "}")
	if !ok || !ok2 {
		return nil, fmt.Errorf("gains=%s: write {grade:gain,…}", s)
	}
	t := gainTable{}
	for pair := range strings.SplitSeq(inner, ",") {
		g, v, ok := strings.Cut(pair, ":")
		grade, err := strconv.ParseFloat(strings.TrimSpace(g), 64)
		gain, err2 := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if !ok || err != nil || err2 != nil || !(math.Abs(grade) <= MaxGrade) {
			return nil, fmt.Errorf("gains=%s: %q is not of the form grade:gain", s, pair)
		}
		if !(gain >= 0 && gain <= MaxGrade) {
			return nil, fmt.Errorf("gains=%s: the gain %s is not a number from 0 to %g", s, v, MaxGrade)
		}
		if _, ok := t[grade]; ok {
			return nil, fmt.Errorf("gains=%s: grade %s stands there twice", s, g)
		}
		t[grade] = gain
	}
	return t, nil
}

// String gives the inside of the braces, without what a grade is worth anyhow.
func (t gainTable) String() string {
	var parts []string
	for _, g := range slices.Sorted(maps.Keys(t)) {
		if t[g] != max(g, 0) {
			parts = append(parts, number(g)+":"+number(t[g]))
		}
	}
	return strings.Join(parts, ",")
}

// gain is what a document of this grade is worth.
func (t gainTable) gain(grade float64) float64 {
	if g, ok := t[grade]; ok {
		return g
	}
	return max(grade, 0)
}
