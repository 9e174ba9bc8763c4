package onnx

import "bytes"

// is notes the type of a value in a rounded twin.
func (g *graph) is(name string, elem ElemType) {
	if g.elems != nil {
		g.elems[name] = elem
	}
}

// rounded is outputs in a rounded twin: values that would be narrow are float32, rounded
// to the narrow type.
func (g *graph) rounded(names []string, domain, op string, inputs []string, attrs []attribute) []string {
	to := ElemType(0)
	for _, a := range attrs {
		if name, n := attributeNumber(a); name == "to" {
			to = ElemType(n)
		}
	}
	elems := make([]ElemType, len(inputs))
	for i, in := range inputs {
		elems[i] = g.elems[in]
	}
	elem := infer(op, to, elems)
	for _, n := range names {
		g.elems[n] = elem
	}
	if !narrow(elem) {
		return g.emit(names, domain, op, inputs, attrs)
	}
	wide := inputs[0]
	for i, n := range names {
		if op != "Cast" {
			wide = n + "/wide"
		}
		if op != "Cast" && i == 0 {
			all := make([]string, len(names))
			for i, n := range names {
				all[i] = n + "/wide"
			}
			g.emit(all, domain, op, inputs, attrs)
		}
		less := g.emit([]string{n + "/narrow"}, "", "Cast", []string{wide}, []attribute{attrInt("to", int64(elem))})
		g.emit([]string{n}, "", "Cast", less, []attribute{attrInt("to", int64(Float32))})
	}
	return names
}

// widened gives a stored tensor as what stands for it: in a rounded twin float32.
func (g *graph) widened(name string, elem ElemType) string {
	if g.elems == nil || !narrow(elem) {
		g.is(name, elem)
		return name
	}
	as := name + "/wide"
	if !g.seen[as] {
		g.seen[as] = true
		g.elems[as] = elem
		g.emit([]string{as}, "", "Cast", []string{name}, []attribute{attrInt("to", int64(Float32))})
	}
	return as
}

// infer gives the type of an operator's outputs from those of its inputs, "to" for Cast.
func infer(op string, to ElemType, inputs []ElemType) ElemType {
	switch op {
	case "Cast":
		return to
	case "Shape":
		return Int64
	case "Less", "LessOrEqual", "GreaterOrEqual", "And":
		return Bool
	case "Where":
		return inputs[1]
	}
	if len(inputs) == 0 {
		return 0
	}
	return inputs[0]
}

// attributeNumber reads the name and the integer of an attribute.
func attributeNumber(a []byte) (name string, n int64) {
	d := newDecoder(bytes.NewReader(a), int64(len(a)))
	// What this package wrote is well-formed, and what it reads was checked before.
	_ = d.message(int64(len(a)), func(f field) (used bool, err error) {
		switch {
		case f.number == attributeName:
			name, err = d.text(f)
		case f.number == attributeInt && f.wire == wireVarint:
			n, err = d.number(f, int64(len(a)))
		default:
			return false, nil
		}
		return true, err
	})
	return name, n
}
