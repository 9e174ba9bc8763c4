package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exported assembles a file as exporters write them: with values and a large
// initializer that is also listed as an input, as old files do.
func exported(weight int, inputs, outputs []message) []byte {
	var w, gr, op, m message
	w.int(tensorDims, int64(weight))
	w.int(tensorType, int64(Float32))
	w.bytes(tensorRaw, make([]byte, 4*weight))
	w.string(tensorName, "weight")
	gr.bytes(graphInitializer, w)
	for _, i := range append(inputs, valueInfo("weight", Float32, Dim{Size: int64(weight)})) {
		gr.bytes(graphInput, i)
	}
	for _, o := range outputs {
		gr.bytes(graphOutput, o)
	}
	op.int(opsetVersion, 11)
	m.int(modelIR, 6)
	m.string(modelProducer, "pytorch")
	m.bytes(modelGraph, gr)
	m.bytes(modelOpset, op)
	return m
}

func dims(names ...string) []Dim {
	ds := make([]Dim, len(names))
	for i, n := range names {
		ds[i] = Dim{Name: n}
	}
	return ds
}

// threeInputs are those of a BERT export.
func threeInputs(elem ElemType) []message {
	var in []message
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		in = append(in, valueInfo(name, elem, dims("batch_size", "sequence_length")...))
	}
	return in
}

func states(name string) message {
	return valueInfo(name, Float32, Dim{Name: "b"}, Dim{Name: "s"}, Dim{Size: 384})
}

func vectors(name string) message { return valueInfo(name, Float32, Dim{Name: "b"}, Dim{Size: 384}) }

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	// The weight is far larger than the reader's buffer, so it is jumped over.
	if err := os.WriteFile(path, exported(100_000, threeInputs(Int64), []message{states("last_hidden_state")}), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := list(info.Inputs); got != "input_ids int64 [batch_size, sequence_length]; attention_mask int64 [batch_size, sequence_length]; token_type_ids int64 [batch_size, sequence_length]" {
		t.Errorf("inputs %s", got)
	}
	if got := list(info.Outputs); got != "last_hidden_state float32 [b, s, 384]" {
		t.Errorf("outputs %s", got)
	}
	if info.IR != 6 || info.Producer != "pytorch" || info.Opsets[""] != 11 {
		t.Errorf("IR %d, producer %q, opsets %v", info.IR, info.Producer, info.Opsets)
	}
	f, err := info.Form()
	want := Form{IDs: "input_ids", Mask: "attention_mask", Types: "token_type_ids", Elem: Int64, Output: "last_hidden_state", Dim: 384}
	if err != nil || f != want {
		t.Errorf("form %+v, %v; want %+v", f, err, want)
	}
}

func TestForm(t *testing.T) {
	ids := threeInputs(Int64)[:1]
	for _, c := range []struct {
		name            string
		inputs, outputs []message
		want            Form
		err             string
	}{
		{"sentence-transformers export", threeInputs(Int64), []message{states("token_embeddings"), vectors("sentence_embedding")},
			Form{"input_ids", "attention_mask", "token_type_ids", Int64, "sentence_embedding", true, 384, false}, ""},
		{"with pooler", threeInputs(Int32), []message{vectors("pooler_output"), states("last_hidden_state")},
			Form{"input_ids", "attention_mask", "token_type_ids", Int32, "last_hidden_state", false, 384, false}, ""},
		{"one unknown output, no dim", ids, []message{valueInfo("out", Float32, dims("b", "d")...)},
			Form{"input_ids", "", "", Int64, "out", true, 0, false}, ""},
		{"nameless dims", []message{valueInfo("input_ids", Int64, Dim{Size: 1}, Dim{Size: 128})}, []message{states("x")},
			Form{"input_ids", "", "", Int64, "x", false, 384, false}, ""},
		{"reranker", threeInputs(Int64), []message{valueInfo("logits", Float32, Dim{Name: "b"}, Dim{Size: 1})},
			Form{"input_ids", "attention_mask", "token_type_ids", Int64, "logits", true, 1, true}, ""},
		{"half reranker", ids, []message{valueInfo("logits", Float16, Dim{Name: "b"}, Dim{Size: 1})}, Form{},
			"not a known form of encoder graph: output logits float16 [b, 1] must be float32 of 2 dimensions"},
		{"classes not said", ids, []message{valueInfo("logits", Float32, dims("b", "c")...)}, Form{},
			"not a known form of encoder graph: none of the outputs sentence_embedding, last_hidden_state, token_embeddings, logits of one value; the graph has logits float32 [b, c]"},
		{"classifier", ids, []message{vectors("logits")}, Form{},
			"not a known form of encoder graph: none of the outputs sentence_embedding, last_hidden_state, token_embeddings, logits of one value; the graph has logits float32 [b, 384]"},
		{"two unknown outputs", ids, []message{vectors("x"), states("y")}, Form{},
			"not a known form of encoder graph: none of the outputs sentence_embedding, last_hidden_state, token_embeddings, logits of one value; the graph has x float32 [b, 384]; y float32 [b, s, 384]"},
		{"half", ids, []message{valueInfo("last_hidden_state", Float16, dims("b", "s", "d")...)}, Form{},
			"not a known form of encoder graph: output last_hidden_state float16 [b, s, d] must be float32 of 3 dimensions"},
		{"no ids", threeInputs(Int64)[1:], []message{states("x")}, Form{},
			"not a known form of encoder graph: no input input_ids; the graph has attention_mask int64 [batch_size, sequence_length]; token_type_ids int64 [batch_size, sequence_length]"},
		{"unknown input", append(threeInputs(Int64), valueInfo("position_ids", Int64, dims("b", "s")...)), []message{states("x")}, Form{},
			"not a known form of encoder graph: input position_ids int64 [b, s] is not known; known are input_ids, attention_mask, token_type_ids"},
		{"mixed types", append(threeInputs(Int64)[:1], threeInputs(Int32)[1]), []message{states("x")}, Form{},
			"not a known form of encoder graph: inputs must be all int64 or all int32 of two dimensions; the graph has input_ids int64 [batch_size, sequence_length]; attention_mask int32 [batch_size, sequence_length]"},
	} {
		info, err := InspectBytes(exported(3, c.inputs, c.outputs))
		if err != nil {
			t.Fatal(err)
		}
		f, err := info.Form()
		if c.err == "" && (err != nil || f != c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, f, err, c.want)
		}
		if c.err != "" && (err == nil || err.Error() != c.err || !errors.Is(err, ErrForm)) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.err)
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	good := exported(3, threeInputs(Int64), []message{states("last_hidden_state")})
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "malformed ONNX file: it has 0 graphs with 0 outputs, not one with some"},
		{"text", []byte("not a graph"), "malformed ONNX file: byte 1: field 13 has the unknown wire type 6"},
		{"too long a field", []byte{modelGraph<<3 | wireBytes, 111, 0}, "malformed ONNX file: byte 2: field 7 of 111 bytes does not fit in the 1 bytes left"},
		{"two graphs", append(bytes.Clone(good), good...), "malformed ONNX file: it has 2 graphs with 2 outputs, not one with some"},
		{"cut in a number", []byte{modelIR << 3, 0x80}, "malformed ONNX file: byte 2: a number is cut off"},
		{"endless number", append([]byte{modelIR << 3}, bytes.Repeat([]byte{0xff}, 11)...), "malformed ONNX file: byte 11: a number has more than 64 bits"},
		{"number as text", []byte{modelProducer << 3, 1}, "malformed ONNX file: byte 1: field 2 is no text"},
		{"text as number", []byte{modelIR<<3 | wireBytes, 0}, "malformed ONNX file: byte 2: field 1 is no number"},
		{"number as graph", []byte{modelGraph << 3, 1}, "malformed ONNX file: byte 1: field 7 is no message"},
		{"field 0", []byte{0}, "malformed ONNX file: byte 1: impossible field tag 0"},
		{"wire type 3", []byte{99<<3&0x7f | 3}, "malformed ONNX file: byte 1: field 3 has the unknown wire type 3"},
		{"cut in 4 bytes", []byte{10<<3 | wireI32, 0, 0}, "malformed ONNX file: byte 1: field 10 is cut off"},
		{"long name", longName(), "malformed ONNX file: byte 4: text of 65537 bytes, the limit is 65536"},
	} {
		_, err := InspectBytes(c.file)
		if want := "inspect ONNX graph: " + c.want; err == nil || err.Error() != want || !errors.Is(err, ErrMalformed) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, want)
		}
	}
	for n := range len(good) {
		if _, err := InspectBytes(good[:n]); err == nil && n < bytes.Index(good, []byte("last_hidden_state")) {
			t.Errorf("the first %d bytes of a file pass for a whole one", n)
		}
	}
	path := filepath.Join(t.TempDir(), "none.onnx")
	if _, err := Inspect(path); err == nil || err.Error() != "inspect ONNX file: open "+path+": no such file or directory" {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, good[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(path); err == nil || !strings.HasPrefix(err.Error(), "inspect ONNX file "+path+": malformed ONNX file: byte ") {
		t.Errorf("cut file: %v", err)
	}
}

func longName() []byte {
	b := binary.AppendUvarint([]byte{modelProducer<<3 | wireBytes}, maxText+1)
	return append(b, make([]byte, maxText+1)...)
}

// FuzzInspect checks that no file makes the reader panic, and that what it
// accepts can be described.
func FuzzInspect(f *testing.F) {
	f.Add(exported(3, threeInputs(Int64), []message{states("last_hidden_state")}))
	f.Add(exported(2000, threeInputs(Int32)[:1], []message{vectors("sentence_embedding")}))
	f.Add(build(f, open(f, tinyMean), Options{Mask: true}))
	f.Add([]byte{0x08, 0x80})
	f.Fuzz(func(t *testing.T, file []byte) {
		info, err := InspectBytes(file)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("an error without its kind: %v", err)
			}
			return
		}
		if form, err := info.Form(); err == nil && (form.IDs == "" || form.Output == "" || form.Dim < 0) {
			t.Fatalf("form %+v", form)
		}
	})
}
