package onnx

import "encbench/engine/model"

// runMemory gives the bytes that become resident for the values of one run: it goes
// through the graph as encoder writes it and has an arena hold what is alive. What
// the runtime really takes was 0.7 to 1.25 times as much where the two were compared:
// values of a few bytes, which are left aside here, decide where large ones find room.
func runMemory(m *model.Model, opt Options, rows, length int) int64 {
	w := &walk{
		enc: &encoder{m: m, opt: opt, reach: reaches(m)}, rows: int64(rows), length: length,
		arena: newArena(), known: true, kept: map[int64][]value{},
	}
	w.model()
	return w.arena.resident
}

// walk goes through the values of a graph in the order of computation.
type walk struct {
	enc    *encoder
	rows   int64
	length int
	arena  *arena

	// known says whether the sizes of the values follow from rows and length alone.
	// The runtime plans such values when it loads the graph: their memory is kept, by
	// size, for later ones, and sums take the place of a summand.
	known bool
	kept  map[int64][]value
}

// value is a block of memory in the arena; a planned one is kept for others.
type value struct {
	at, size int64
	planned  bool
}

// take accounts for a value of n float32 numbers.
func (w *walk) take(n int64) value {
	size := floatBytes * n
	if kept := w.kept[size]; w.known && len(kept) > 0 {
		w.kept[size] = kept[:len(kept)-1]
		return kept[len(kept)-1]
	}
	return value{at: w.arena.take(size), size: size, planned: w.known}
}

// scratch is memory that a kernel takes for itself.
func (w *walk) scratch(n int64) value {
	size := floatBytes * n
	return value{at: w.arena.take(size), size: size}
}

func (w *walk) drop(values ...value) {
	for _, v := range values {
		if v.planned && w.known {
			w.kept[v.size] = append(w.kept[v.size], v)
		} else {
			w.arena.drop(v.at)
		}
	}
}

// forget ends what is planned: sizes from here on depend on what is computed.
func (w *walk) forget() {
	if !w.known {
		return
	}
	w.known = false
	for size, values := range w.kept {
		for _, v := range values {
			w.arena.drop(v.at)
		}
		delete(w.kept, size)
	}
}

// become is an operator that gives a value of n numbers from others, which nothing
// needs afterwards.
func (w *walk) become(n int64, from ...value) value {
	v := w.take(n)
	w.drop(from...)
	return v
}

// sum adds the others to the first value, which nothing needs afterwards, nor them.
func (w *walk) sum(v value, others ...value) value {
	if !w.known {
		return w.become(v.size/floatBytes, append(others, v)...)
	}
	w.drop(others...)
	return v
}

func (w *walk) model() {
	m := w.enc.m
	dim := int64(m.Embedding.Word.Dim)
	all := w.rows * int64(w.length)
	x := w.take(all * dim)
	x = w.sum(x) // positions
	if w.enc.opt.Types {
		x = w.sum(x, w.take(all*dim))
	}
	x = w.become(all*dim, x) // normalised
	if len(w.enc.reach) > 0 && w.enc.reach[0].in > 0 {
		w.forget()
		x = w.become(w.reads(w.enc.reach[0])*dim, x)
	}
	w.shared()
	for i, l := range m.Layers {
		x = w.layer(l, w.enc.reach[i], x)
	}
	tokens := x.size / floatBytes
	if m.FinalNorm.Weight != "" {
		x = w.become(tokens, x)
	}
	if m.Pooling == model.PoolMax && w.enc.opt.Mask {
		x = w.become(tokens, x)
	}
	w.become(w.rows*dim, x)
}

// reads and gives are the tokens of all rows that a layer reads and gives.
func (w *walk) reads(r reach) int64 { return w.rows * int64(r.reads(w.length)) }
func (w *walk) gives(r reach) int64 { return w.rows * int64(r.gives(w.length)) }

// shared accounts for what is computed once and kept to the end of the run: the masks
// of blocks, veils, a relative bias.
func (w *walk) shared() {
	type key struct {
		form            form
		window, in, out int
		causal          bool
	}
	seen := map[key]bool{}
	for i, l := range w.enc.m.Layers {
		a, r := l.Attention, w.enc.reach[i]
		k := key{formOf(a, r), a.Window, r.in, r.out, a.Causal}
		if seen[k] {
			continue
		}
		seen[k] = true
		switch {
		case k.form == blockedForm:
			count, queries, keys := blocking(a, r, w.length)
			pairs := int64(count) * int64(queries) * int64(keys)
			// Distances are int64, comparisons one byte.
			distance := w.scratch(2 * pairs)
			if w.enc.opt.Mask {
				pairs *= w.rows
			}
			w.drop(distance, w.scratch(pairs/floatBytes))
			w.scratch(pairs)
		case k.form == causalForm:
		case w.enc.m.RelativeBias.Table.Weight != "":
			pairs := int64(w.length) * int64(w.length)
			w.drop(w.scratch(2*pairs), w.scratch(2*pairs))
			w.scratch(int64(a.Heads) * pairs)
		case w.veiled(a, r):
			w.scratch(w.gives(r) * int64(a.Heads))
			w.scratch(w.reads(r) * int64(a.Heads))
		}
	}
}

func (w *walk) veiled(a model.Attention, r reach) bool {
	return w.enc.veiled() || r.last && a.Window > 0
}

// layer gives the states after one block.
func (w *walk) layer(l model.Layer, r reach, x value) value {
	dim := int64(w.enc.m.Embedding.Word.Dim)
	in, normed := x, l.PreNorm && l.AttentionNorm.Weight != ""
	if normed {
		in = w.take(w.reads(r) * dim)
	}
	mix := w.attention(l.Attention, r, in, normed)
	a := w.linear(l.Attention.Output, w.gives(r), mix)
	if r.narrows() {
		x = w.become(w.gives(r)*dim, x)
	}
	a = w.sum(a, x)
	if !l.PreNorm {
		a = w.become(w.gives(r)*dim, a)
	}
	in = a
	if l.PreNorm {
		in = w.take(w.gives(r) * dim)
	}
	f := w.sum(w.feedForward(l.FeedForward, w.gives(r), in, l.PreNorm), a)
	if !l.PreNorm {
		f = w.become(w.gives(r)*dim, f)
	}
	return f
}

// linear gives the product of a map for so many tokens, and drops x.
func (w *walk) linear(l model.Linear, tokens int64, x value) value {
	y := w.product(l, tokens)
	w.drop(x)
	return y
}

// product gives the product of a map whose input stays.
func (w *walk) product(l model.Linear, tokens int64) value {
	if l.Scale == "" {
		return w.take(tokens * int64(l.Out))
	}
	codes := w.take((tokens*int64(l.In) + floatBytes - 1) / floatBytes)
	return w.become(tokens*int64(l.Out), w.take(tokens*int64(l.Out)), codes)
}

// feedForward drops x at its last use if last is set.
func (w *walk) feedForward(f model.FeedForward, tokens int64, x value, last bool) value {
	h := w.product(f.Up, tokens)
	h = w.become(tokens*int64(f.Up.Out), h)
	if f.Gate.Weight != "" {
		gate := w.product(f.Gate, tokens)
		if last {
			w.drop(x)
		}
		h = w.sum(h, gate)
	} else if last {
		w.drop(x)
	}
	return w.linear(f.Down, tokens, h)
}

// attention gives the mix of values before the output's map. It drops x at its last
// use if last is set.
func (w *walk) attention(a model.Attention, r reach, x value, last bool) value {
	reads, gives := w.reads(r), w.gives(r)
	var q value
	if r.narrows() {
		w.forget()
		states := w.take(gives * int64(a.Query.In))
		q = w.linear(a.Query, gives, states)
	} else {
		q = w.product(a.Query, gives)
	}
	k, v := w.product(a.Key, reads), w.product(a.Value, reads)
	if last {
		w.drop(x)
	}
	if a.Rope.Dim > 0 {
		q = w.become(gives*int64(a.Query.Out), q)
		k = w.become(reads*int64(a.Key.Out), k)
	}
	wide := int64(a.Heads * a.HeadDim)
	form := formOf(a, r)
	if form != causalForm && a.KVHeads != a.Heads {
		k, v = w.become(reads*wide, k), w.become(reads*wide, v)
	}
	switch form {
	case blockedForm:
		return w.window(a, r, q, k, v)
	case causalForm:
		// Keys and values are outputs too, which nothing takes and the runtime keeps
		// to the end of the run.
		w.scratch(reads * int64(a.Key.Out))
		w.scratch(reads * int64(a.Value.Out))
		turned := w.scratch(gives * wide)
		mix := w.become(gives*wide, q, k, v)
		w.drop(turned)
		return mix
	}
	veil := int64(0)
	if w.veiled(a, r) {
		veil = int64(a.Heads)
		q, k = w.become(gives*(wide+veil), q), w.become(reads*(wide+veil), k)
	}
	// The operator turns queries, keys and values to lie head by head.
	turned := []value{w.scratch(gives * (wide + veil)), w.scratch(reads * (wide + veil)), w.scratch(reads * wide)}
	if w.enc.m.RelativeBias.Table.Weight != "" {
		pairs := gives * int64(r.reads(w.length))
		turned = append(turned, w.scratch(int64(a.Heads)*pairs), w.scratch(pairs))
	}
	mix := w.become(gives*wide, q, k, v)
	w.drop(turned...)
	return mix
}

// window is attention in blocks, a group of heads at a time.
func (w *walk) window(a model.Attention, r reach, q, k, v value) value {
	wide := int64(a.Heads * a.HeadDim)
	groups := int64(a.Heads / groupSize(a.Heads))
	// heads turns to lie head by head, and splits into groups.
	heads := func(x value) []value {
		n := x.size / floatBytes
		turned := w.become(n, x)
		if groups == 1 {
			return []value{turned}
		}
		var parts []value
		for range groups {
			parts = append(parts, w.take(n/groups))
		}
		w.drop(turned)
		return parts
	}
	queries, keys, values := heads(q), heads(k), heads(v)
	w.forget()
	count, each, near := blocking(a, r, w.length)
	asked, read := w.rows*int64(count)*int64(each), w.rows*int64(count)*int64(near)
	part := wide / groups
	pairs := asked * int64(near) * int64(a.Heads) / groups
	var mixes []value
	for i := range queries {
		q, k, v := w.take(asked*part), w.take(read*part), w.take(read*part)
		w.drop(queries[i], keys[i], values[i])
		scores := w.become(pairs, q, k)
		scores = w.become(pairs, scores) // masked
		scores = w.become(pairs, scores) // weights
		mixed := w.become(asked*part, scores, v)
		mixes = append(mixes, w.become(asked*part, mixed))
	}
	mix := mixes[0]
	if len(mixes) > 1 {
		mix = w.become(asked*wide, mixes...)
	}
	return w.become(w.gives(r)*wide, mix)
}
