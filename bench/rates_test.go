package bench

import "testing"

// rounds numbers the samples of a record.
func rounds(r *Record, numbers ...int) *Record {
	for i, n := range numbers {
		r.Samples[i].Round = n
	}
	return r
}

func TestPairedHeadline(t *testing.T) {
	// A machine that turns slower from round to round: the pairs cancel it.
	slow := func(scale float64) *Record {
		r := good()
		walls(r, 2*scale, 3*scale, 4*scale, 5*scale, 6*scale, 7*scale, 8*scale)
		return rounds(r, 0, 1, 2, 3, 4, 5, 6)
	}
	ratio, paired := PairedHeadline(slow(1), slow(0.5))
	if !paired || !close2(ratio.Value, 2, near) || !close2(ratio.Low, 2, near) || !close2(ratio.High, 2, near) || ratio.N != 7 {
		t.Errorf("interleaved runs: %+v, paired %v, want exactly 2 from 7 pairs", ratio, paired)
	}
	part := slow(0.5)
	part.Samples = part.Samples[3:]
	if ratio, paired := PairedHeadline(slow(1), part); !paired || !close2(ratio.Value, 2, near) || ratio.N != 4 {
		t.Errorf("an arm with later rounds alone: %+v, paired %v, want 2 from 4 pairs", ratio, paired)
	}
	chunks, base := slow(0.5), slow(1)
	chunks.Rates.Docs, base.Rates.Docs = Estimate{}, Estimate{}
	if ratio, paired := PairedHeadline(base, chunks); !paired || !close2(ratio.Value, 2, near) {
		t.Errorf("chunks/s: %+v, paired %v", ratio, paired)
	}
	if ratio, _ := PairedHeadline(slow(1), chunks); ratio != (Ratio{}) {
		t.Errorf("docs/s against chunks/s: %+v", ratio)
	}
	for name, spoil := range map[string]func(*Record){
		"another command":  func(r *Record) { r.Command = []string{"encbench", "other"} },
		"another run":      func(r *Record) { r.Started = r.Started.Add(1) },
		"another machine":  func(r *Record) { r.Env.HostHash = "h2" },
		"no round numbers": func(r *Record) { rounds(r, 0, 0, 0, 0, 0, 0, 0) },
		"one common round": func(r *Record) { rounds(r, 6, 7, 8, 9, 10, 11, 12) },
	} {
		r := slow(0.5)
		spoil(r)
		ratio, paired := PairedHeadline(slow(1), r)
		if paired || ratio.Low >= 2 || ratio.High <= 2 || !close2(ratio.Value, 2, near) {
			t.Errorf("%s: %+v, paired %v, want the wide interval of independent samples", name, ratio, paired)
		}
		if _, paired := PairedHeadline(r, slow(1)); paired {
			t.Errorf("%s, swapped: paired", name)
		}
	}
}
