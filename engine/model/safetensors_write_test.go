package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine/model"
)

// written writes a file of these tensors, byte i of the data being i's low byte, in
// pieces of step bytes, and opens it.
func written(tb testing.TB, tensors []model.TensorSpec, meta map[string]string, step int) *model.Weights {
	tb.Helper()
	var file bytes.Buffer
	w, err := model.NewWriter(&file, tensors, meta)
	if err != nil {
		tb.Fatal(err)
	}
	start, total := file.Len(), 0
	for _, t := range tensors {
		total += int(t.Bytes())
	}
	data := make([]byte, total)
	for i := range data {
		data[i] = byte(i)
	}
	for rest := data; len(rest) > 0; {
		n := min(step, len(rest))
		if k, err := w.Write(rest[:n]); k != n || err != nil {
			tb.Fatalf("write %d bytes: %d, %v", n, k, err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if start%64 != 0 {
		tb.Errorf("the data begin at byte %d, no multiple of 64", start)
	}
	path := filepath.Join(tb.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
	opened, err := model.OpenWeights(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { opened.Close() })
	return opened
}

func TestWriter(t *testing.T) {
	specs := []model.TensorSpec{
		{Name: "one", DType: model.F32, Shape: []int{1}},
		{Name: "matrix", DType: model.F32, Shape: []int{3, 16}},
		{Name: "half \"quoted\" <é>", DType: model.F16, Shape: []int{5}},
		{Name: "int8", DType: "I8", Shape: []int{64, 2}},
		{Name: "none", DType: model.F32, Shape: []int{0, 7}},
		{Name: "scalar", DType: model.BF16},
	}
	arranged := model.Arrange(specs)
	var names []string
	for _, s := range arranged {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, ", "), "matrix, int8, none, one, half \"quoted\" <é>, scalar"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if specs[0].Name != "one" {
		t.Error("Arrange changed its argument")
	}
	for _, step := range []int{1, 7, 100, 1 << 20} {
		w := written(t, arranged, map[string]string{"b": "2", "a": "\u2028"}, step)
		if got := fmt.Sprint(w.Metadata); got != "map[a:\u2028 b:2 format:pt]" {
			t.Errorf("metadata %s", got)
		}
		at := int64(0)
		for i, tensor := range w.Tensors() {
			want := arranged[i]
			if tensor.Name != want.Name || tensor.DType != want.DType || fmt.Sprint(tensor.Shape) != fmt.Sprint(append([]int{}, want.Shape...)) || tensor.Bytes != want.Bytes() {
				t.Errorf("tensor %d is %+v, written was %+v", i, tensor, want)
			}
			at += tensor.Bytes
		}
		if data := w.Size - at; data%64 != 0 {
			t.Errorf("the data begin at %d", data)
		}
	}
	w := written(t, arranged, nil, 1)
	values, err := w.Float32("one")
	if err != nil {
		t.Fatal(err)
	}
	// 192 bytes of matrix and 128 of int8 lie before it.
	if want := math.Float32frombits(0x43424140); len(values) != 1 || values[0] != want {
		t.Errorf("values %v, want %v", values, want)
	}
}

func TestWriterRefuses(t *testing.T) {
	one := model.TensorSpec{Name: "w", DType: model.F32, Shape: []int{2}}
	for _, c := range []struct {
		tensors []model.TensorSpec
		want    string
		is      error
	}{
		{[]model.TensorSpec{one, one}, `write weights: malformed safetensors header: tensor "w" twice`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "__metadata__", DType: model.F32}}, `write weights: malformed safetensors header: tensor "__metadata__" twice`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "", DType: model.F32}}, `write weights: malformed safetensors header: tensor name "" has 0 bytes, must be 1 to 4096`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "w", DType: "F31"}}, `write weights: unknown dtype "F31" of tensor "w"`, model.ErrDType},
		{[]model.TensorSpec{{Name: "w", DType: model.F32, Shape: make([]int, 9)}}, `write weights: malformed safetensors header: tensor "w" has 9 dimensions, more than 8`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "w", DType: model.F32, Shape: []int{-1}}}, `write weights: malformed safetensors header: tensor "w" has the impossible shape [-1]`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "w", DType: model.F32, Shape: []int{math.MaxInt32, math.MaxInt32, 4}}},
			`write weights: malformed safetensors header: tensor "w" has the impossible shape [2147483647 2147483647 4]`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "v", DType: model.F32, Shape: []int{math.MaxInt32, 1 << 29}}, {Name: "w", DType: model.F32, Shape: []int{math.MaxInt32, 1 << 29}}},
			`write weights: malformed safetensors header: tensor "w" of 4611686016279904256 bytes ends beyond the largest file`, model.ErrHeader},
		{[]model.TensorSpec{{Name: "v", DType: "I8", Shape: []int{3}}, one},
			`write weights: malformed safetensors header: tensor "w" of dtype F32 would begin at byte 3 of the data, no multiple of 4; put the tensors into the order of Arrange`, model.ErrHeader},
	} {
		var file bytes.Buffer
		if _, err := model.NewWriter(&file, c.tensors, nil); err == nil || err.Error() != c.want || !errors.Is(err, c.is) || file.Len() > 0 {
			t.Errorf("%v: %v, want %s; %d bytes written", c.tensors, err, c.want, file.Len())
		}
	}
	var file bytes.Buffer
	w, err := model.NewWriter(&file, []model.TensorSpec{one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, 5))
	if tensor, more := w.Tensor(); !more || tensor.Name != "w" {
		t.Errorf("tensor %v, %t", tensor, more)
	}
	if err := w.Close(); err == nil || err.Error() != `write weights: truncated: tensor "w" lacks 3 of its 8 bytes` || !errors.Is(err, model.ErrTruncated) {
		t.Error(err)
	}
	if n, err := w.Write(make([]byte, 4)); n != 0 || err == nil || err.Error() != "write weights: 4 bytes for the last 3 that the header announces" {
		t.Error(n, err)
	}
	if _, err := w.Write(make([]byte, 3)); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if n, err := w.Write([]byte{1}); n != 0 || err == nil || err.Error() != "write weights: 1 bytes for the last 0 that the header announces" {
		t.Error(n, err)
	}
}

// errDisk is what failing writes.
var errDisk = errors.New("disk is full")

// failing writes room bytes and no more.
type failing struct{ room int }

func (f *failing) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	if n < len(p) {
		return n, errDisk
	}
	return n, nil
}

func TestWriterDiskFull(t *testing.T) {
	specs := []model.TensorSpec{{Name: "w", DType: model.F32, Shape: []int{2}}}
	if _, err := model.NewWriter(&failing{10}, specs, nil); err == nil || err.Error() != "write weights: header: disk is full" || !errors.Is(err, errDisk) {
		t.Error(err)
	}
	var header bytes.Buffer
	if _, err := model.NewWriter(&header, specs, nil); err != nil {
		t.Fatal(err)
	}
	w, err := model.NewWriter(&failing{header.Len() + 3}, specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, 8)); n != 3 || err == nil || err.Error() != "write weights: disk is full" || !errors.Is(err, errDisk) {
		t.Error(n, err)
	}
	if err := w.Close(); err == nil || err.Error() != `write weights: truncated: tensor "w" lacks 5 of its 8 bytes` {
		t.Error(err)
	}
}

// Whatever tensors there are: arranged they can be written, each is aligned to its
// element size and as far as its own size allows, and the file reads back.
func FuzzWriter(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 250}, uint8(3))
	f.Add([]byte{}, uint8(1))
	f.Fuzz(func(t *testing.T, sizes []byte, step uint8) {
		dtypes := []model.DType{model.F32, model.F16, model.BF16, "I8", "I64", "BOOL"}
		var specs []model.TensorSpec
		for i, n := range sizes[:min(len(sizes), 40)] {
			specs = append(specs, model.TensorSpec{Name: fmt.Sprintf("t%d", i), DType: dtypes[(i+int(n))%len(dtypes)], Shape: []int{int(n) % 50, 1 + i%3}})
		}
		w := written(t, model.Arrange(specs), nil, 1+int(step))
		if len(w.Tensors()) != len(specs) {
			t.Fatalf("%d tensors of %d", len(w.Tensors()), len(specs))
		}
		for _, tensor := range w.Tensors() {
			align := int64(64)
			for tensor.Bytes%align != 0 {
				align /= 2
			}
			if tensor.Offset%align != 0 {
				t.Errorf("tensor %+v is not aligned to %d", tensor, align)
			}
		}
	})
}
