package cpu

import (
	"iter"
	"math"

	"encbench/engine/model"
)

// attention is model.Attention with its weights.
type attention struct {
	query, key, value, output linear
	heads, kvHeads, headDim   int
	queryNorm, keyNorm        norm
	rope                      model.Rope
	window                    int // tokens to each side, 0 = all
	causal                    bool
}

// apply replaces x, the states of n tokens, by the block's output. bias is what
// relativeBias.forRow gives.
func (a *attention) apply(x []float64, n int, bias [][]float64, m *room) {
	q, k, v := sized(&m.query, n*a.query.out), sized(&m.key, n*a.key.out), sized(&m.value, n*a.value.out)
	a.query.apply(q, x)
	a.key.apply(k, x)
	a.value.apply(v, x)
	a.queryNorm.apply(q)
	a.keyNorm.apply(k)
	rotate(q, n, a.headDim, a.rope)
	rotate(k, n, a.headDim, a.rope)
	a.mix(q, k, v, n, bias)
	a.output.apply(x, q)
}

// rotate turns the values of every head of n tokens by the token's position.
func rotate(x []float64, n, headDim int, r model.Rope) {
	half, width := r.Dim/2, len(x)/n
	for i := range half {
		frequency := math.Pow(r.Theta, -2*float64(i)/float64(r.Dim))
		for t := range n {
			sin, cos := math.Sincos(float64(t) * frequency)
			for h := t * width; h < (t+1)*width; h += headDim {
				u, v := x[h+i], x[h+i+half]
				x[h+i], x[h+i+half] = u*cos-v*sin, v*cos+u*sin
			}
		}
	}
}

// span gives the keys [from, to) that query i of n attends to.
func (a *attention) span(i, n int) (from, to int) {
	from, to = 0, n
	if a.window > 0 {
		from, to = max(from, i-a.window), min(to, i+a.window+1)
	}
	if a.causal {
		to = i + 1
	}
	return from, to
}

// blockQueries is how many queries of a head are computed together: what bounds the
// scores in memory, blockQueries times the tokens of a row.
const blockQueries = 64

// mix replaces the queries q, [n, heads·headDim], by the mixes of the values that
// each head makes: softmax(Q·Kᵀ/√headDim + bias)·V over the span of a query. Blocks
// of queries of a head are independent of one another.
func (a *attention) mix(q, k, v []float64, n int, bias [][]float64) {
	widest := n // keys of a block
	if a.window > 0 {
		widest = min(n, blockQueries+2*a.window)
	}
	spread(ceilDiv(n, blockQueries)*a.heads, func(mine iter.Seq[int]) {
		b := queryBlock{
			attention: a, q: q, k: k, v: v, n: n,
			scores: make([]float64, blockQueries*widest),
			keys:   make([][lanes]float64, a.headDim),
			values: make([][lanes]float64, widest),
		}
		for t := range mine {
			b.head, b.first = t%a.heads, t/a.heads*blockQueries
			b.last = min(b.first+blockQueries, n)
			b.from, _ = a.span(b.first, n)
			_, b.to = a.span(b.last-1, n)
			b.score()
			if bias != nil {
				b.shift(bias[b.head])
			}
			b.mix()
		}
	})
}

// queryBlock is the queries [first, last) of a head and the keys [from, to) that any
// of them attends to.
type queryBlock struct {
	*attention
	q, k, v                        []float64 // [n, heads or kvHeads, headDim]
	n, head, first, last, from, to int

	scores []float64 // [queries, to − from], of which each query uses its span
	keys   [][lanes]float64
	values [][lanes]float64
}

// query gives query i.
func (b *queryBlock) query(i int) []float64 {
	return b.q[(i*b.heads+b.head)*b.headDim:][:b.headDim]
}

// shared is where key or value j begins: as many neighbouring heads of queries share
// one as there are more of them.
func (b *queryBlock) shared(j int) int {
	return (j*b.kvHeads + b.head/(b.heads/b.kvHeads)) * b.headDim
}

// row gives the span of query i and the scores of that span.
func (b *queryBlock) row(i int) (from, to int, scores []float64) {
	from, to = b.span(i, b.n)
	at := (i - b.first) * (b.to - b.from)
	return from, to, b.scores[at+from-b.from : at+to-b.from]
}

// score sets the scores of all queries, keys taken lanes at a time.
func (b *queryBlock) score() {
	scale := 1 / math.Sqrt(float64(b.headDim))
	for j := b.from; j < b.to; j += lanes {
		end := min(j+lanes, b.to)
		pack(b.keys, b.k[b.shared(j):], b.kvHeads*b.headDim, end-j)
		for i := b.first; i < b.last; i++ {
			from, to, scores := b.row(i)
			if end <= from || j >= to {
				continue
			}
			var s [lanes]float64
			accumulate(&s, b.query(i), b.keys)
			for key := max(j, from); key < min(end, to); key++ {
				scores[key-from] = s[key-j] * scale
			}
		}
	}
}

// shift adds the head's bias, by key − query + n − 1, to the scores.
func (b *queryBlock) shift(bias []float64) {
	for i := b.first; i < b.last; i++ {
		from, _, scores := b.row(i)
		add(scores, bias[from-i+b.n-1:][:len(scores)])
	}
}

// mix turns the scores into weights and replaces each query by the weighted sum of
// the values, lanes of them at a time.
func (b *queryBlock) mix() {
	for i := b.first; i < b.last; i++ {
		_, _, scores := b.row(i)
		softmax(scores)
	}
	for c := 0; c < b.headDim; c += lanes {
		width := min(lanes, b.headDim-c)
		for j := b.from; j < b.to; j++ {
			copy(b.values[j-b.from][:width], b.v[b.shared(j)+c:])
		}
		for i := b.first; i < b.last; i++ {
			from, to, weights := b.row(i)
			var s [lanes]float64
			accumulate(&s, weights, b.values[from-b.from:to-b.from])
			copy(b.query(i)[c:], s[:width])
		}
	}
}

// relativeBias is model.RelativeBias with its table; without one there is no bias.
type relativeBias struct {
	table          []float32 // [buckets, heads]
	buckets, heads int
	maxDistance    int
}

// forRow gives each head's bias by key − query + n − 1 for a row of n tokens, nil
// without a table.
func (r *relativeBias) forRow(n int) [][]float64 {
	if r.table == nil {
		return nil
	}
	out := make([][]float64, r.heads)
	for h := range out {
		out[h] = make([]float64, 2*n-1)
		for i := range out[h] {
			out[h][i] = float64(r.table[r.bucket(i-n+1)*r.heads+h])
		}
	}
	return out
}

// bucket gives the row of the table for the distance key − query.
func (r *relativeBias) bucket(distance int) int {
	half := r.buckets / 2
	first := 0
	if distance > 0 {
		first = half
	} else {
		distance = -distance
	}
	exact := half / 2
	if distance < exact {
		return first + distance
	}
	// In float32, step by step, as the models were trained: a distance at the edge of
	// two buckets falls into the one that the rounding chooses.
	grown := float32(math.Log(float64(float32(distance) / float32(exact))))
	grown /= float32(math.Log(float64(r.maxDistance) / float64(exact)))
	return first + min(half-1, exact+int(grown*float32(half-exact)))
}
