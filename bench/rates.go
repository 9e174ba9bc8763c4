package bench

import "slices"

// series is one rate of every sample, in the order taken.
type series struct {
	Name, Unit string
	Field      string // in Rates, as in the record
	Of         func(*Sample) float64
	In         func(*Rates) *Estimate
}

// fiveRates are the rates of a record, the headline first. docs/s of a sample is
// stored because a stratified sample's is projected; the others are counted.
var fiveRates = [5]series{
	{"documents", "docs/s", "docs_per_s", func(s *Sample) float64 { return s.DocsPerS }, func(r *Rates) *Estimate { return &r.Docs }},
	{"chunks", "chunks/s", "chunks_per_s", func(s *Sample) float64 { return s.per(float64(s.Chunks)) }, func(r *Rates) *Estimate { return &r.Chunks }},
	{"tokens", "tokens/s", "tokens_per_s", func(s *Sample) float64 { return s.per(float64(s.RealTokens)) }, func(r *Rates) *Estimate { return &r.Tokens }},
	{"tokens with padding", "tokens/s", "padded_tokens_per_s", func(s *Sample) float64 { return s.per(float64(s.PaddedTokens)) }, func(r *Rates) *Estimate { return &r.Padded }},
	{"text", "MB/s", "text_mb_per_s", func(s *Sample) float64 { return s.per(float64(s.TextBytes) / 1e6) }, func(r *Rates) *Estimate { return &r.TextMB }},
}

// per gives n a second of the sample's wall time, 0 for a sample without time.
func (s *Sample) per(n float64) float64 {
	if s.WallS <= 0 {
		return 0
	}
	return n / s.WallS
}

// values gives the rate of every sample, or nil when no sample has it.
func (c series) values(samples []Sample) []float64 {
	xs := make([]float64, len(samples))
	seen := false
	for i := range samples {
		xs[i] = c.Of(&samples[i])
		seen = seen || xs[i] > 0
	}
	if !seen {
		return nil
	}
	return xs
}

// RatesOf summarizes the five rates of the samples. A rate that no sample has,
// such as text MB/s of pre-tokenized input, is the zero Estimate.
func RatesOf(samples []Sample) Rates {
	var r Rates
	for _, c := range fiveRates {
		*c.In(&r) = Summarize(c.values(samples))
	}
	return r
}

// TimedSeconds is the wall time of all samples.
func (r *Record) TimedSeconds() float64 {
	var sum float64
	for i := range r.Samples {
		sum += r.Samples[i].WallS
	}
	return sum
}

// Headline gives the rate that a record is judged by and its unit: docs/s, or
// chunks/s where documents were not counted.
func (r *Record) Headline() (Estimate, string) {
	if r.Rates.Docs.N > 0 {
		return r.Rates.Docs, "docs/s"
	}
	return r.Rates.Chunks, "chunks/s"
}

// HalfWidth is the distance of the farther end of the interval from the median,
// as a share of the median: 0.01 reads "within ±1 %". It is 0 without a median.
func (e Estimate) HalfWidth() float64 {
	if e.Median <= 0 {
		return 0
	}
	return max(e.High-e.Median, e.Median-e.Low) / e.Median
}

// PairedHeadline gives the headline rate of r ÷ that of base. Two runs of one
// command were interleaved: they are compared over the rounds that both took part
// in, so that a slow minute of the machine weighs on both (paired is true).
// Otherwise, or below 2 common rounds, they are independent samples. Two records
// with different headline units give the zero Ratio.
func PairedHeadline(base, r *Record) (ratio Ratio, paired bool) {
	_, unit := base.Headline()
	if _, other := r.Headline(); other != unit {
		return Ratio{}, false
	}
	of := fiveRates[0].Of
	if unit != fiveRates[0].Unit {
		of = fiveRates[1].Of
	}
	if a, b := commonRounds(base, r, of); len(a) >= 2 {
		return PairedRatio(b, a), true
	}
	var a, b []float64
	for i := range base.Samples {
		a = append(a, of(&base.Samples[i]))
	}
	for i := range r.Samples {
		b = append(b, of(&r.Samples[i]))
	}
	return RatioCI(b, a), false
}

// commonRounds gives a value of both records for every round that both took part
// in; none for records of different commands, or that do not number their rounds.
func commonRounds(a, b *Record, of func(*Sample) float64) (xa, xb []float64) {
	if !a.Started.Equal(b.Started) || !slices.Equal(a.Command, b.Command) || a.Env.HostHash != b.Env.HostHash {
		return nil, nil
	}
	at := map[int]int{}
	for i, s := range a.Samples {
		if _, twice := at[s.Round]; twice {
			return nil, nil
		}
		at[s.Round] = i
	}
	seen := map[int]bool{}
	for i, s := range b.Samples {
		if seen[s.Round] {
			return nil, nil
		}
		seen[s.Round] = true
		if k, ok := at[s.Round]; ok {
			xa, xb = append(xa, of(&a.Samples[k])), append(xb, of(&b.Samples[i]))
		}
	}
	return xa, xb
}
