package cpu

import (
	"fmt"
	"math"

	"encbench/engine/model"
)

// Reference is the plain Go encoder that defines the right answer. It holds all
// weights in memory, float32 or int8, and nothing of the model it was made from. It
// is safe for concurrent use; a single row is spread over the processors too, and
// its result does not depend on how many there are.
type Reference struct {
	name      string
	positions int // longest row
	types     int // token types
	dim       int // of the output

	embedding embedding
	relative  relativeBias
	layers    []layer
	finalNorm norm
	pooling   model.Pooling
	head      []headLayer
	normalize bool
}

// embedding is model.Embedding with its tables; a nil table is none.
type embedding struct {
	word, position, tokenType []float32 // [rows, dim]
	vocab, dim                int
	firstPosition             int
	norm                      norm
}

// headLayer is model.HeadLayer with its weights; without a weight the linear map is
// left out.
type headLayer struct {
	linear linear
	act    func(float64) float64
	norm   norm
}

// Dim is the number of values in an output: of a vector, or 1 logit.
func (r *Reference) Dim() int { return r.dim }

// Encode gives the output for one row of token ids, special tokens in place and
// no padding: the vector of a text, or the logit of a pair. types holds the token
// type of every id; nil means all 0. The caller owns the result. A row that is
// empty, longer than the model's positions, or holds an id or a type that the model
// does not have is refused.
func (r *Reference) Encode(ids []int32, types []uint8) ([]float32, error) {
	if err := r.check(ids, types); err != nil {
		return nil, fmt.Errorf("encode with %s: %w: %w", r.name, ErrRow, err)
	}
	x := r.embedding.apply(ids, types)
	bias := r.relative.forRow(len(ids))
	var room room
	for i := range r.layers {
		r.layers[i].apply(x, len(ids), bias, &room)
	}
	r.finalNorm.apply(x)
	v := pool(x, r.embedding.dim, r.pooling)
	for i := range r.head {
		v = r.head[i].apply(v)
	}
	if r.normalize {
		toUnit(v)
	}
	out := make([]float32, len(v))
	for i, s := range v {
		out[i] = float32(s)
	}
	return out, nil
}

func (r *Reference) check(ids []int32, types []uint8) error {
	if len(ids) == 0 {
		return fmt.Errorf("it has no tokens")
	}
	if len(ids) > r.positions {
		return fmt.Errorf("it has %d tokens, the model has %d positions", len(ids), r.positions)
	}
	for i, id := range ids {
		if id < 0 || int(id) >= r.embedding.vocab {
			return fmt.Errorf("token %d is id %d, the vocabulary ends at %d", i, id, r.embedding.vocab-1)
		}
	}
	if types != nil && len(types) != len(ids) {
		return fmt.Errorf("it has %d tokens and %d token types", len(ids), len(types))
	}
	for i, t := range types {
		if int(t) >= r.types {
			return fmt.Errorf("token %d is of type %d, the model's last is %d", i, t, r.types-1)
		}
	}
	return nil
}

// apply gives the states before the first layer, [tokens, dim].
func (e *embedding) apply(ids []int32, types []uint8) []float64 {
	x := make([]float64, len(ids)*e.dim)
	for i, id := range ids {
		state := x[i*e.dim:][:e.dim]
		e.add(state, e.word, int(id))
		e.add(state, e.position, e.firstPosition+i)
		if types == nil {
			e.add(state, e.tokenType, 0)
		} else {
			e.add(state, e.tokenType, int(types[i]))
		}
	}
	e.norm.apply(x)
	return x
}

// add adds a row of a table to a state.
func (e *embedding) add(state []float64, table []float32, row int) {
	if table == nil {
		return
	}
	for j, v := range table[row*e.dim:][:e.dim] {
		state[j] += float64(v)
	}
}

// pool makes one vector of the states of dim values, as the model's card says.
func pool(x []float64, dim int, by model.Pooling) []float64 {
	v := append([]float64{}, x[:dim]...)
	switch by {
	case model.PoolLast:
		copy(v, x[len(x)-dim:])
	case model.PoolMax:
		for i, s := range x {
			v[i%dim] = max(v[i%dim], s)
		}
	case model.PoolMean:
		for i := dim; i < len(x); i += dim {
			add(v, x[i:][:dim])
		}
		for j := range v {
			v[j] /= float64(len(x) / dim)
		}
	}
	return v
}

func (h *headLayer) apply(x []float64) []float64 {
	y := x
	if h.linear.out > 0 {
		y = make([]float64, h.linear.out)
		h.linear.apply(y, x)
	}
	for i, v := range y {
		y[i] = h.act(v)
	}
	h.norm.apply(y)
	return y
}

// toUnit divides v by its length. A vector of zeros stays one, as in PyTorch's
// normalize.
func toUnit(v []float64) {
	var square float64
	for _, s := range v {
		square += s * s
	}
	length := max(math.Sqrt(square), 1e-12)
	for i := range v {
		v[i] /= length
	}
}
