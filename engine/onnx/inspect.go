package onnx

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Dim is one dimension of an input or output: of a fixed Size when Name is "",
// else open and named. An open dimension without a name is "?".
type Dim struct {
	Size int64
	Name string
}

func (d Dim) String() string {
	if d.Name != "" {
		return d.Name
	}
	return fmt.Sprint(d.Size)
}

func (e ElemType) String() string {
	if s, ok := elemNames[e]; ok {
		return s
	}
	return fmt.Sprintf("element type %d", int32(e))
}

// Value is an input or output of a graph.
type Value struct {
	Name  string
	Elem  ElemType
	Shape []Dim
}

// String gives name, element type and shape, such as
// "input_ids int64 [batch, sequence]".
func (v Value) String() string {
	dims := make([]string, len(v.Shape))
	for i, d := range v.Shape {
		dims[i] = d.String()
	}
	return fmt.Sprintf("%s %s [%s]", v.Name, v.Elem, strings.Join(dims, ", "))
}

// Info is what an ONNX file says about itself.
type Info struct {
	IR       int64            // version of the format
	Producer string           // program that wrote it
	Opsets   map[string]int64 // operator set versions by domain, "" = standard
	Inputs   []Value          // without initializers, which old files list too
	Outputs  []Value
}

// Inspect reads the outline of an ONNX file; weights and nodes are stepped
// over, so its size does not matter.
func Inspect(path string) (*Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inspect ONNX file: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("inspect ONNX file: %w", err)
	}
	info, err := inspect(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("inspect ONNX file %s: %w", path, err)
	}
	return info, nil
}

// InspectBytes is Inspect of a graph in memory.
func InspectBytes(graph []byte) (*Info, error) {
	info, err := inspect(bytes.NewReader(graph), int64(len(graph)))
	if err != nil {
		return nil, fmt.Errorf("inspect ONNX graph: %w", err)
	}
	return info, nil
}

func inspect(r io.ReaderAt, size int64) (*Info, error) {
	d := newDecoder(r, size)
	info := &Info{Opsets: map[string]int64{}}
	graphs := 0
	err := d.message(size, func(f field) (used bool, err error) {
		switch f.number {
		case modelIR:
			info.IR, err = d.number(f, size)
		case modelProducer:
			info.Producer, err = d.text(f)
		case modelOpset:
			err = d.opset(f, info.Opsets)
		case modelGraph:
			graphs++
			err = d.graph(f, info)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if graphs != 1 || len(info.Outputs) == 0 {
		return nil, fmt.Errorf("%w: it has %d graphs with %d outputs, not one with some", ErrMalformed, graphs, len(info.Outputs))
	}
	return info, nil
}

func (d *decoder) opset(f field, opsets map[string]int64) error {
	var (
		domain  string
		version int64
	)
	err := d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case opsetDomain:
			domain, err = d.text(in)
		case opsetVersion:
			version, err = d.number(in, f.end)
		default:
			return false, nil
		}
		return true, err
	})
	opsets[domain] = version
	return err
}

func (d *decoder) graph(f field, info *Info) error {
	var inputs []Value
	weights := map[string]bool{}
	err := d.nested(f, func(in field) (used bool, err error) {
		var v Value
		switch in.number {
		case graphInput:
			v, err = d.value(in)
			inputs = append(inputs, v)
		case graphOutput:
			v, err = d.value(in)
			info.Outputs = append(info.Outputs, v)
		case graphInitializer:
			var name string
			name, err = d.named(in, tensorName)
			weights[name] = true
		default:
			return false, nil
		}
		return true, err
	})
	for _, v := range inputs {
		if !weights[v.Name] {
			info.Inputs = append(info.Inputs, v)
		}
	}
	return err
}

// named gives the text of one field of a message.
func (d *decoder) named(f field, number int) (name string, err error) {
	err = d.nested(f, func(in field) (used bool, err error) {
		if in.number != number {
			return false, nil
		}
		name, err = d.text(in)
		return true, err
	})
	return name, err
}

func (d *decoder) value(f field) (v Value, err error) {
	err = d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case valueName:
			v.Name, err = d.text(in)
		case valueType:
			err = d.nested(in, func(kind field) (bool, error) {
				if kind.number != typeTensor {
					return false, nil
				}
				return true, d.tensorType(kind, &v)
			})
		default:
			return false, nil
		}
		return true, err
	})
	return v, err
}

func (d *decoder) tensorType(f field, v *Value) error {
	return d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case tensorElem:
			var n int64
			n, err = d.number(in, f.end)
			v.Elem = ElemType(n)
		case tensorSh:
			err = d.nested(in, func(dim field) (bool, error) {
				if dim.number != shapeDim {
					return false, nil
				}
				return true, d.dim(dim, v)
			})
		default:
			return false, nil
		}
		return true, err
	})
}

func (d *decoder) dim(f field, v *Value) error {
	dim := Dim{Name: "?"}
	err := d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case dimValue:
			dim.Name = ""
			dim.Size, err = d.number(in, f.end)
		case dimParam:
			dim.Name, err = d.text(in)
		default:
			return false, nil
		}
		return true, err
	})
	v.Shape = append(v.Shape, dim)
	return err
}
