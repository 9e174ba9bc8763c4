package onnx

import "encbench/engine/model"

// causalTile is how many keys GroupQueryAttention takes at a time, and causalQueries
// how many queries, on a processor with 1 MiB of second-level cache and heads of 64.
const (
	causalTile    = 512
	causalQueries = 128
)

// FLOP is the floating-point work that a built graph really issues for rows of
// length tokens each, padding included: multiplications of matrices, a multiply-add
// counted as 2. It differs from the model's own work where the graph computes less,
// states that nothing takes, and more, keys of a block or tile that a query does not
// attend to.
func FLOP(m *model.Model, rows, length int) float64 {
	var row float64
	for i, r := range backwards(m) {
		a, f := &m.Layers[i].Attention, &m.Layers[i].FeedForward
		in, out := float64(r.reads(length)), float64(r.gives(length))
		row += in * (linearFLOP(a.Key) + linearFLOP(a.Value))
		row += out * (linearFLOP(a.Query) + linearFLOP(a.Output) + linearFLOP(f.Up) + linearFLOP(f.Gate) + linearFLOP(f.Down))
		row += 4 * float64(a.Heads*a.HeadDim) * pairs(*a, r, length)
	}
	for _, h := range m.Head {
		row += linearFLOP(h.Linear)
	}
	return float64(rows) * row
}

// linearFLOP is the work of a map for one token.
func linearFLOP(l model.Linear) float64 {
	if l.Weight == "" {
		return 0
	}
	return 2 * float64(l.In) * float64(l.Out)
}

// pairs are the scores that a layer computes for each head in a row of n tokens.
func pairs(a model.Attention, r reach, n int) float64 {
	reads, gives := r.reads(n), r.gives(n)
	switch formOf(a, r) {
	case blockedForm:
		count, queries, keys := blocking(a, r, n)
		return float64(count) * float64(queries) * float64(keys)
	case causalForm:
		var sum float64
		for first := 0; first < gives; first += causalQueries {
			last := min(first+causalQueries, gives)
			seen := min((last+causalTile-1)/causalTile*causalTile, reads)
			sum += float64(last-first) * float64(seen)
		}
		return sum
	}
	return float64(gives) * float64(reads)
}
