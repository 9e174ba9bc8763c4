package model_test

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// quantized writes weights of dir in one file under the names of the description,
// its maps as int8 with scales of 1/64 for every row; change edits them before.
func quantized(t *testing.T, dir string, change func([]modeltest.Tensor) []modeltest.Tensor) string {
	t.Helper()
	m := open(t, dir, model.Options{})
	maps := map[string]bool{}
	for _, l := range m.Layers {
		for _, x := range []model.Linear{l.Attention.Query, l.Attention.Output, l.FeedForward.Up, l.FeedForward.Gate, l.FeedForward.Down} {
			maps[x.Weight] = true
		}
	}
	for _, h := range m.Head {
		maps[h.Linear.Weight] = true
	}
	var ts []modeltest.Tensor
	for _, x := range m.Tensors() {
		values, err := m.Weights.Float32(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		y := modeltest.Tensor{Name: x.Name, DType: model.F32, Shape: x.Shape}
		if maps[x.Name] {
			y.DType = model.I8
			for _, v := range values {
				y.Data = append(y.Data, byte(int8(math.Round(float64(v)*64))))
			}
			scales := modeltest.Tensor{Name: x.Name + model.ScaleSuffix, DType: model.F32, Shape: x.Shape[:1]}
			for range x.Shape[0] {
				scales.Data = binary.LittleEndian.AppendUint32(scales.Data, math.Float32bits(1.0/64))
			}
			ts = append(ts, scales)
		} else {
			for _, v := range values {
				y.Data = binary.LittleEndian.AppendUint32(y.Data, math.Float32bits(v))
			}
		}
		ts = append(ts, y)
	}
	if change != nil {
		ts = change(ts)
	}
	path := filepath.Join(t.TempDir(), "int8.safetensors")
	modeltest.WriteTensors(t, path, ts, 0)
	return path
}

// TestConvertedWeights opens descriptions over other weights: those of the Dense
// modules are among them, and int8 maps have scales.
func TestConvertedWeights(t *testing.T) {
	for _, dir := range []string{microDense, microModern, microNomic} {
		path := quantized(t, dir, nil)
		m, as := open(t, dir, model.Options{Weights: path}), open(t, dir, model.Options{})
		if m.Weights.RealPath != path || filepath.Dir(path) != m.Weights.Folder() {
			t.Errorf("%s: weights %s in %s", dir, m.Weights.RealPath, m.Weights.Folder())
		}
		a, _ := m.Parameters()
		b, _ := as.Parameters()
		if a != b || m.RowFLOP(9) != as.RowFLOP(9) {
			t.Errorf("%s: %d parameters, want %d: scales are none", dir, a, b)
		}
		for i, l := range m.Layers {
			f := l.FeedForward
			for _, x := range []model.Linear{l.Attention.Query, l.Attention.Key, l.Attention.Value, f.Up, f.Gate, f.Down} {
				if x.Weight != "" && x.Scale != x.Weight+"_scale" && x.Weight != l.Attention.Key.Weight && x.Weight != l.Attention.Value.Weight {
					t.Errorf("%s layer %d: %s has scale %q", dir, i, x.Weight, x.Scale)
				}
			}
			q := l.Attention.Query
			ints, err := m.Weights.Int8(q.Weight)
			if err != nil {
				t.Fatal(err)
			}
			floats, err := as.Weights.Float32(q.Weight)
			if err != nil {
				t.Fatal(err)
			}
			for j := range ints {
				if math.Abs(float64(ints[j])/64-float64(floats[j])) > 1.0/128 {
					t.Fatalf("%s layer %d: value %d is %d/64, was %v", dir, i, j, ints[j], floats[j])
				}
			}
			scales, err := m.Weights.Float32(q.Scale)
			if err != nil || len(scales) != len(ints)/q.In {
				t.Errorf("%s layer %d: %d scales, %v", dir, i, len(scales), err)
			}
		}
	}
	dir := microDense
	path := quantized(t, dir, nil)
	m := open(t, dir, model.Options{Weights: path})
	if h := m.Head[0].Linear; h.Scale != "2_Dense/linear.weight_scale" || m.Weights.Location(m.Tensors()[0]) != "int8.safetensors" {
		t.Errorf("the module's map is %+v", h)
	}
	if _, err := m.Weights.Int8(m.Embedding.Word.Weight); !errors.Is(err, model.ErrUnsupported) {
		t.Errorf("a float table as int8: %v", err)
	}
	if _, err := m.Weights.Int8("none"); !errors.Is(err, model.ErrMissingTensor) {
		t.Errorf("a tensor that is not there: %v", err)
	}
}

func TestConvertedWeightsRefuse(t *testing.T) {
	find := func(ts []modeltest.Tensor, name string) int {
		return slices.IndexFunc(ts, func(x modeltest.Tensor) bool { return x.Name == name })
	}
	drop := func(name string) func([]modeltest.Tensor) []modeltest.Tensor {
		return func(ts []modeltest.Tensor) []modeltest.Tensor {
			i := find(ts, name)
			return slices.Delete(ts, i, i+1)
		}
	}
	const query = "encoder.layer.0.attention.self.query.weight"
	for _, c := range []struct {
		change func([]modeltest.Tensor) []modeltest.Tensor
		want   string
	}{
		{drop(query + "_scale"), "missing tensor: " + query + "_scale, of shape [16] by config.json"},
		{drop("2_Dense/linear.weight"), "missing tensor: 2_Dense/linear.weight"},
		{drop("2_Dense/linear.bias"), "missing tensor: 2_Dense/linear.bias, of shape [12] by config.json"},
		{func(ts []modeltest.Tensor) []modeltest.Tensor {
			x := &ts[find(ts, query+"_scale")]
			x.Shape, x.Data = []int{8}, x.Data[:32]
			return ts
		}, "shape mismatch: tensor " + query + "_scale is [16] by config.json, the file has [8]; these are of two models: get config.json and the weights of one"},
		{func(ts []modeltest.Tensor) []modeltest.Tensor {
			x := &ts[find(ts, query+"_scale")]
			x.DType, x.Data = model.F16, x.Data[:32]
			return ts
		}, "unsupported model: tensor " + query + "_scale has dtype F16, needed is F32"},
		{func(ts []modeltest.Tensor) []modeltest.Tensor {
			x := &ts[find(ts, "embeddings.word_embeddings.weight")]
			x.DType, x.Data = model.I8, x.Data[:len(x.Data)/4]
			return ts
		}, "unsupported model: tensor embeddings.word_embeddings.weight has dtype I8, needed is one of F32, F16, BF16"},
		{func(ts []modeltest.Tensor) []modeltest.Tensor {
			x := &ts[find(ts, query)]
			x.DType = "U8"
			return ts
		}, "unsupported model: tensor " + query + " has dtype U8, needed is one of F32, F16, BF16"},
		{func(ts []modeltest.Tensor) []modeltest.Tensor {
			return append(ts, modeltest.Tensor{Name: "encoder.layer.0.output.dense.bias_scale", DType: model.F32, Shape: []int{1}, Data: make([]byte, 4)})
		}, `bad model description: tensor "encoder.layer.0.output.dense.bias_scale" is no part of the BERT encoder that config.json describes; config.json and the weights do not belong together`},
	} {
		path := quantized(t, microDense, c.change)
		_, err := model.OpenWith(microDense, model.Options{Weights: path})
		if want := "open model: read weights " + path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	none := filepath.Join(t.TempDir(), "none.safetensors")
	_, err := model.OpenWith(microDense, model.Options{Weights: none})
	if want := "open model: read weights " + none + ": no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestClosesWhatItOpened counts descriptors after refusals in every phase.
func TestClosesWhatItOpened(t *testing.T) {
	dirs := []string{
		modeltest.Damage(t, microDense, modeltest.Fault{Drop: "encoder.layer.1.output.dense.bias"}),
		modeltest.Damage(t, microDense, modeltest.Fault{Remove: "3_Dense/model.safetensors"}),
		modeltest.Damage(t, microDense, modeltest.Fault{Cut: 1}),
	}
	before := descriptors(t)
	for range 20 {
		for _, dir := range dirs {
			if _, err := model.Open(dir); err == nil {
				t.Fatalf("%s opens", dir)
			}
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
