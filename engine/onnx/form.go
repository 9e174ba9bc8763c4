package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// Form says how a ready encoder graph is fed and what it gives.
type Form struct {
	// IDs is the input of token ids, [rows, len] as the others. Mask takes 1 for
	// a real token and 0 for padding, Types the token types; each is "" when the
	// graph has no such input.
	IDs, Mask, Types string
	Elem             ElemType // Int64 or Int32, of every input

	// Output is float32: token states [rows, len, Dim], to be pooled outside, or
	// when Pooled vectors [rows, Dim], of which it is not known whether they are
	// normalised. Dim is 0 when the graph does not say.
	Output string
	Pooled bool
	Dim    int
	// Logits says that the output is a reranker's, [rows, 1]: Pooled, and not to be
	// normalised.
	Logits bool
}

// The names that exporters give to inputs and outputs.
var (
	pooledNames = []string{"sentence_embedding"}
	stateNames  = []string{"last_hidden_state", "token_embeddings"}
	logitsName  = "logits"
	notVectors  = []string{logitsName, "pooler_output"}
)

// Form recognises the inputs and outputs of an encoder: input_ids and perhaps
// attention_mask and token_type_ids, all int64 or all int32; sentence_embedding,
// else last_hidden_state or token_embeddings, else logits of one value, else the only
// output there is. Errors list what the graph has.
func (i *Info) Form() (Form, error) {
	var f Form
	for _, in := range i.Inputs {
		switch in.Name {
		case "input_ids":
			f.IDs = in.Name
		case "attention_mask":
			f.Mask = in.Name
		case "token_type_ids":
			f.Types = in.Name
		default:
			return Form{}, fmt.Errorf("%w: input %s is not known; known are input_ids, attention_mask, token_type_ids", ErrForm, in)
		}
		if (in.Elem != Int64 && in.Elem != Int32) || (f.Elem != 0 && in.Elem != f.Elem) || len(in.Shape) != 2 {
			return Form{}, fmt.Errorf("%w: inputs must be all int64 or all int32 of two dimensions; the graph has %s", ErrForm, list(i.Inputs))
		}
		f.Elem = in.Elem
	}
	if f.IDs == "" {
		return Form{}, fmt.Errorf("%w: no input input_ids; the graph has %s", ErrForm, list(i.Inputs))
	}
	out, err := i.output()
	if err != nil {
		return Form{}, err
	}
	f.Output, f.Pooled, f.Logits = out.Name, len(out.Shape) == 2, out.Name == logitsName
	if last := out.Shape[len(out.Shape)-1]; last.Name == "" && last.Size > 0 {
		f.Dim = int(last.Size)
	}
	return f, nil
}

// output chooses the output to read. Classifiers' outputs have the rank of
// pooled vectors, so an unknown name counts only when nothing else is there.
func (i *Info) output() (Value, error) {
	for _, c := range []struct {
		names []string
		rank  int
	}{{pooledNames, 2}, {stateNames, 3}} {
		for _, v := range i.Outputs {
			if slices.Contains(c.names, v.Name) {
				return usable(v, c.rank)
			}
		}
	}
	for _, v := range i.Outputs {
		// More values, or a number of them that is not said, are those of a classifier.
		if n := len(v.Shape); v.Name == logitsName && n > 0 && v.Shape[n-1] == (Dim{Size: 1}) {
			return usable(v, 2)
		}
	}
	if len(i.Outputs) == 1 && !slices.Contains(notVectors, i.Outputs[0].Name) {
		v := i.Outputs[0]
		if rank := len(v.Shape); rank == 2 || rank == 3 {
			return usable(v, rank)
		}
	}
	return Value{}, fmt.Errorf("%w: none of the outputs %s, logits of one value; the graph has %s", ErrForm,
		strings.Join(append(slices.Clone(pooledNames), stateNames...), ", "), list(i.Outputs))
}

func usable(v Value, rank int) (Value, error) {
	if v.Elem != Float32 || len(v.Shape) != rank {
		return Value{}, fmt.Errorf("%w: output %s must be float32 of %d dimensions", ErrForm, v, rank)
	}
	return v, nil
}

func list(vs []Value) string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = v.String()
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, "; ")
}
