package metrics

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseList gives the measures of a list of names, separated by spaces or commas.
// A bare number repeats the name before it with another cut-off, so that
// "nDCG@5,10" is nDCG@5 and nDCG@10; a preset's name stands for its measures (see
// Presets), and a name that trec_eval expands, such as ndcg_cut or P, for its
// cut-offs. A measure named twice is listed once, at its first place.
func ParseList(s string) ([]Measure, error) {
	var list []Measure
	add := func(ms ...Measure) {
		for _, m := range ms {
			if !contains(list, m) {
				list = append(list, m)
			}
		}
	}
	last := "" // the name before, less its cut-off
	for _, word := range fields(s, func(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' }) {
		if isNumber(word) && last != "" {
			m, err := Parse(last + "@" + word)
			if err != nil {
				return nil, err
			}
			add(m)
			continue
		}
		if p, ok := PresetNamed(word); ok {
			add(p.Measures...)
			last = ""
			continue
		}
		if ms := expand(word); ms != nil {
			add(ms...)
			last = ""
			continue
		}
		m, err := Parse(word)
		if err != nil {
			return nil, err
		}
		add(m)
		last = ""
		if name, _, cut := strings.Cut(m.String(), "@"); cut {
			last = name
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no measure named: write names such as nDCG@10, or a preset: %s", strings.Join(presetNames(), ", "))
	}
	return list, nil
}

// expand gives what trec_eval prints for a name without cut-offs.
func expand(word string) []Measure {
	var ms []Measure
	if strings.EqualFold(word, "iprec_at_recall") {
		for i := range 11 {
			m := normal(iprec)
			m.param = float64(i) / 10
			ms = append(ms, m)
		}
		return ms
	}
	for _, a := range aliases {
		if strings.EqualFold(a.name, word) {
			for _, k := range a.cuts {
				m := normal(a.kind)
				m.cut = int32(k)
				ms = append(ms, m)
			}
		}
	}
	return ms
}

func contains(list []Measure, m Measure) bool {
	for _, have := range list {
		if have == m {
			return true
		}
	}
	return false
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// fields splits at separators outside of brackets and quotes; empty fields are
// left out.
func fields(s string, separates func(c byte) bool) []string {
	var out []string
	depth, from := 0, 0
	var quote byte
	for i := 0; i <= len(s); i++ {
		if i < len(s) {
			switch c := s[i]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
				continue
			case c == '\'' || c == '"':
				quote = c
				continue
			case c == '(' || c == '{':
				depth++
				continue
			case c == ')' || c == '}':
				depth--
				continue
			case depth > 0 || !separates(c):
				continue
			}
		}
		if from < i {
			out = append(out, s[from:i])
		}
		from = i + 1
	}
	return out
}

// unknown is the error for a name that stands for nothing, with the nearest one.
func unknown(s string) error {
	if why, ok := ambiguous[wordOf(s)]; ok {
		return fmt.Errorf("measure %q is ambiguous: %s", s, why)
	}
	known := "nown are " + strings.Join(Names(), ", ")
	if m, ok := nearest(s); ok {
		return fmt.Errorf("unknown measure %q: did you mean %s? K%s", s, m, known)
	}
	return fmt.Errorf("unknown measure %q: k%s", s, known)
}

// nearest gives the measure whose name takes the fewest changes to get from s,
// at the cut-off of s, if these are few for the length of the name.
func nearest(s string) (Measure, bool) {
	word := strings.ToLower(s)
	cut := len(word)
	for cut > 0 && word[cut-1] >= '0' && word[cut-1] <= '9' {
		cut--
	}
	word, digits := strings.TrimRight(word[:cut], "@_.-"), word[cut:]
	word, _, _ = strings.Cut(word, "(")
	if len(word) > 32 {
		return Measure{}, false
	}
	best, found := len(word)/2+1, Measure{}
	for _, a := range aliases {
		if d := distance(word, a.name); d < best {
			m := normal(a.kind)
			k, err := strconv.ParseInt(digits, 10, 32)
			switch f := m.family(); {
			case a.kind == iprec:
				m.param = .1
			case f.cut == noCut:
			case err == nil && k > 0:
				m.cut = int32(k)
			case f.cut == mustCut || a.cuts != nil:
				m.cut = 10
			}
			best, found = d, m
		}
	}
	return found, found.kind != noKind
}

// distance is the number of letters to put in, take out, change or swap with
// their neighbour to get from a to b.
func distance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := 1; i <= len(a); i++ {
		prev2, prev, row = prev, row, prev2
		row[0] = i
		for k := 1; k <= len(b); k++ {
			change := 1
			if a[i-1] == b[k-1] {
				change = 0
			}
			row[k] = min(prev[k]+1, row[k-1]+1, prev[k-1]+change)
			if i > 1 && k > 1 && a[i-1] == b[k-2] && a[i-2] == b[k-1] {
				row[k] = min(row[k], prev2[k-2]+1)
			}
		}
	}
	return row[len(b)]
}
