package bench

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadRecordRefusesWhatNoRunWrites(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Record)
		want  string
	}{
		{func(r *Record) { r.Protocol = Protocol{} }, `field "protocol.chunk" is 0 or absent, expected the tokens of a chunk; the record is not whole, measure again`},
		{func(r *Record) { r.Protocol.Chunk = -512 }, `field "protocol.chunk" is -512 or absent, expected the tokens of a chunk; the record is not whole, measure again`},
		{func(r *Record) { r.Protocol.Overlap = 512 }, `field "protocol.overlap" is 512, expected 0 to 511`},
		{func(r *Record) { r.Protocol.Overlap = -1 }, `field "protocol.overlap" is -1, expected 0 to 511`},
		{func(r *Record) { r.Protocol.Batch = 0 }, `field "protocol.batch" is 0 or absent, expected the chunks of a batch; the record is not whole, measure again`},
		{func(r *Record) { r.Protocol.BatchTokens = 511 }, `field "protocol.batch_tokens" is 511, expected 0 or at least the 512 tokens of a chunk`},
		{func(r *Record) { r.Protocol.BatchTokens = -1 }, `field "protocol.batch_tokens" is -1, expected 0 or at least the 512 tokens of a chunk`},
		{func(r *Record) { r.Samples[3].WallS = -1 }, `field "samples[3].wall_s" is -1, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[0].WallS = 0 }, `field "samples[0].wall_s" is 0, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[0].WallS = 1e10 }, `field "samples[0].wall_s" is 1e+10, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[0].WallS = 1e-300 }, `field "samples[0].chunks" is 1.3e+302, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].Chunks = 0 }, `field "samples[1].chunks" is 0, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].RealTokens = -7 }, `field "samples[1].real_tokens" is -7, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].PaddedTokens = 1 }, `field "samples[1].padded_tokens" is 1, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].TextBytes = -1 }, `field "samples[1].text_bytes" is -1, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].Docs = -1 }, `field "samples[1].docs" is -1, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[1].Round = -1 }, `field "samples[1].round" is -1, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[2].DocsPerS = -4 }, `field "samples[2].docs_per_s" is -4, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[2].DocsPerS = 1e300 }, `field "samples[2].docs_per_s" is 1e+300, which no run measures; the record was changed, measure again`},
		{func(r *Record) { r.Samples[2].ModelFLOP = -1 }, `field "samples[2].model_flop" is -0.`},
		{func(r *Record) { r.Rates.Docs.Low = -1 }, `field "rates.docs_per_s" does not hold 0 ≤ min ≤ ci_low ≤ median ≤ ci_high ≤ max (`},
		{func(r *Record) { r.Rates.Tokens.CV = -1 }, `field "rates.tokens_per_s" does not hold 0 ≤ min`},
		{func(r *Record) { r.Rates.Chunks.N = 13 }, `field "rates.chunks_per_s.median" is 21.6`},
		{func(r *Record) { r.Rates.TextMB = Estimate{} }, `field "rates.text_mb_per_s.median" is 0 from 0 samples, but the samples give 0.01`},
		{func(r *Record) { r.Samples = nil }, `field "rates.docs_per_s.median" is 4.16`},
	} {
		r := good()
		c.spoil(r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, string(data))
		_, err = ReadRecord(path)
		if want := "read record " + path + ":1:1: " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A run without samples, such as one whose gate failed, has no rates.
func TestReadRecordWithoutSamples(t *testing.T) {
	r := good()
	r.Samples, r.Rates = []Sample{}, Rates{}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecord(write(t, string(data))); err != nil {
		t.Error(err)
	}
}
