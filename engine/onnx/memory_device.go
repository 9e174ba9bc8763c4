package onnx

import (
	"cmp"

	"encbench/engine/model"
)

// DeviceFootprint is the memory that a session with a graph for CUDA needs on the device,
// in bytes: an upper bound by the model below, not measured. It leaves aside the context
// of the process, some 0.5 GB, which is there before a session is.
type DeviceFootprint struct {
	Weights int64 // of the session, in the types that are computed in
	Fixed   int64 // libraries' own, and what a fixed shape has computed at load
	Run     int64 // values of one run, kept by the arena for the next
}

// Sum is all of it.
func (f DeviceFootprint) Sum() int64 { return f.Weights + f.Fixed + f.Run }

// libraryBytes is what the handles of cuBLAS and cuDNN take: a workspace of 32 MiB of
// the first on devices of compute capability 9, and as much again.
const libraryBytes = 64 << 20

// DeviceMemory bounds the memory of Build(m, opt), opt for CUDA, for runs of rows rows
// padded to length tokens; a fixed shape of opt takes their place.
//
// The model: all values of the part of a layer that has most (attention, feed-forward,
// embedding or pooling) are alive at once, every operator writes a value of its own, all
// masks are alive from the first layer to the last, and the arena, whose regions are as
// large as was asked for and serve again only what fits, takes twice what is alive. Scores
// of all pairs of tokens count where the attention is not known to go by tiles (onDevice).
func DeviceMemory(m *model.Model, opt Options, rows, length int) DeviceFootprint {
	if opt.Rows > 0 {
		rows, length = opt.Rows, opt.Length
	}
	d := device{m: m, opt: opt, size: elemBytes(cmp.Or(opt.Compute, Float32)), rows: int64(rows), length: length}
	return DeviceFootprint{Weights: d.weights(), Fixed: libraryBytes, Run: 2 * d.run()}
}

// elemBytes is the size of a float.
func elemBytes(e ElemType) int64 {
	if narrow(e) {
		return 2
	}
	return 4
}

// device is the memory of a graph being counted.
type device struct {
	m      *model.Model
	opt    Options
	size   int64 // of a value that is computed
	rows   int64
	length int
}

func (d *device) weights() int64 {
	var n int64
	linear := func(l model.Linear, size int64) {
		if l.Weight != "" {
			n += size * int64(l.Out) * int64(l.In+1)
		}
	}
	norm := func(v model.Norm) { n += 2 * d.size * int64(v.Dim) }
	em := d.m.Embedding
	for _, t := range []model.Table{em.Word, em.Position, em.Type, d.m.RelativeBias.Table} {
		n += 4 * int64(t.Rows) * int64(t.Dim) // a table may stay as wide as it is stored
	}
	norm(em.Norm)
	norm(d.m.FinalNorm)
	ropes := map[model.Rope]bool{}
	for _, l := range d.m.Layers {
		a, f := l.Attention, l.FeedForward
		for _, v := range []model.Linear{a.Query, a.Key, a.Value, a.Output, f.Up, f.Gate, f.Down} {
			linear(v, d.size)
		}
		// The three biases are joined where MultiHeadAttention adds them.
		n += d.size * int64(a.Query.Out+a.Key.Out+a.Value.Out)
		for _, v := range []model.Norm{a.QueryNorm, a.KeyNorm, l.AttentionNorm, l.OutputNorm} {
			norm(v)
		}
		if a.Rope.Dim > 0 && !ropes[a.Rope] {
			ropes[a.Rope] = true
			n += d.size * int64(d.m.MaxPositions()) * int64(a.Rope.Dim)
		}
	}
	for _, h := range d.m.Head {
		linear(h.Linear, 4)
		n += 2 * 4 * int64(h.Norm.Dim)
	}
	return n
}

func (d *device) run() int64 {
	dim := int64(d.m.Embedding.Word.Dim)
	tokens := d.rows * int64(d.length)
	most := tokens * dim * (4 + 4*d.size) // words as stored, converted, and two sums and their norm
	most = max(most, tokens*dim*(d.size+3*4))
	var masks int64
	seen := map[[4]int]bool{}
	for i, r := range backwards(d.m) {
		l := d.m.Layers[i]
		a, f := l.Attention, l.FeedForward
		in, out := d.rows*int64(r.reads(d.length)), d.rows*int64(r.gives(d.length))
		wide := int64(a.Heads * a.HeadDim)
		each := d.size * (in*(2*dim+3*int64(a.Key.Out+a.Value.Out)+4*wide) + out*(2*dim+5*wide+int64(a.Output.Out)))
		most = max(most, each+d.attention(a, r))
		most = max(most, d.size*out*(3*dim+3*int64(f.Up.Out)+3*int64(f.Gate.Out)+int64(f.Down.Out)))
		key := [4]int{a.Window, r.in, r.out, int(formOf(a, r))}
		if a.Causal {
			key[0] = -a.Window
		}
		if !seen[key] {
			seen[key] = true
			masks += d.mask(a, r)
		}
	}
	return most + masks
}

// pairs is the number of pairs of a query and a key in all rows, for one head.
func (d *device) pairs(r reach) int64 {
	return d.rows * int64(r.gives(d.length)) * int64(r.reads(d.length))
}

// attention is what a kernel, or the operators of blocks, keep besides queries, keys,
// values and what they become.
func (d *device) attention(a model.Attention, r reach) int64 {
	heads, wide := int64(a.Heads), int64(a.Heads*a.HeadDim)
	if d.blocked(a, r) {
		count, queries, keys := blocking(a, r, d.length)
		asked, near := d.rows*int64(count*queries), d.rows*int64(count*keys)
		return d.size * (wide*(4*asked+2*near) + 4*heads*asked*int64(keys))
	}
	if d.opt.Plain {
		return 6 * d.size * heads * d.pairs(r)
	}
	if !d.tiled(a, r) {
		return 2 * d.size * heads * d.pairs(r)
	}
	// Sums in float32 for parts of the keys, and what every query's weights add up to.
	return 4 * (wide + 2*heads) * d.rows * int64(r.gives(d.length))
}

func (d *device) blocked(a model.Attention, r reach) bool {
	return formOf(a, r) == blockedForm && d.opt.Length > longWindow && !d.opt.DenseWindows && !d.opt.Plain
}

// tiled says whether a kernel that keeps no scores is known to compute the layer.
func (d *device) tiled(a model.Attention, r reach) bool {
	relative := d.m.RelativeBias.Table.Weight != ""
	form := formOf(a, r)
	biased := relative || form == blockedForm || r.last && a.Window > 0
	long := max(r.gives(d.length), r.reads(d.length)) >= 256
	elem := cmp.Or(d.opt.Compute, Float32)
	switch {
	case a.HeadDim%8 != 0 || relative && d.opt.Mask:
		return false
	case form == causalForm && narrow(elem), !biased && !d.opt.Mask && narrow(elem):
		return a.HeadDim <= 256
	case elem == BFloat16:
		return false
	case biased || d.opt.Mask && elem == Float32 && form == allForm:
		return int64(r.gives(d.length))%(4*d.size) == 0 && (elem == Float16 || long)
	}
	return elem == Float16 || long
}

// mask is what hides keys in a layer, with the steps that it comes from.
func (d *device) mask(a model.Attention, r reach) int64 {
	n := int64(d.length) * int64(d.length)
	switch {
	case d.blocked(a, r):
		count, queries, keys := blocking(a, r, d.length)
		pairs := int64(count) * int64(queries) * int64(keys)
		return pairs*3*8 + d.rows*pairs*(2+4+d.size)
	case d.m.RelativeBias.Table.Weight != "":
		return n*4*8 + 2*int64(a.Heads)*n*d.size
	case formOf(a, r) == blockedForm, d.opt.Plain:
		return n*3*8 + 2*d.rows*n*(2+4+d.size)
	case a.Causal && !r.last, !d.opt.Mask, d.opt.Compute == Float16 && a.HeadDim%8 == 0 && a.HeadDim <= 256:
		return 0 // padding follows all tokens, is not there, or is said by lengths
	}
	return 2 * d.pairs(r) * d.size
}
