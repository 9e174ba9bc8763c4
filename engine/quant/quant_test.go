package quant

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

const tiny = "../model/testdata/tiny-bert-mean"

// families are directories of every kind of tensor: fused maps, shards, Dense modules.
var families = []string{"tiny-bert-mean", "tiny-bert-cls", "micro-modernbert-shards", "micro-modernbert-reranker", "micro-bert-dense", "micro-qwen3-last", "micro-gte-cls"}

func open(t testing.TB, dir, weights string) *model.Model {
	t.Helper()
	m, err := model.OpenWith(dir, model.Options{Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// convert writes a plan to a temporary file.
func convert(t testing.TB, c *Conversion) string {
	t.Helper()
	var buf bytes.Buffer
	if err := c.Write(context.Background(), &buf, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "converted.safetensors")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func planned(t testing.TB, m *model.Model, to DType) *Conversion {
	t.Helper()
	c, err := Plan(m, to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every type of every family opens as the same model again, and every value is the
// one that the plain definition gives.
func TestConversions(t *testing.T) {
	for _, name := range families {
		dir := filepath.Join("../model/testdata", name)
		m := open(t, dir, "")
		linear := map[string]bool{}
		for _, l := range m.Layers {
			for _, lin := range linears(l) {
				linear[lin.Weight] = true
			}
		}
		for _, to := range []DType{Float16, BFloat16, Int8} {
			c := planned(t, m, to)
			again := open(t, dir, convert(t, c))
			if got := Stored(again); got != string(to) {
				t.Errorf("%s to %s: stored as %s", name, to, got)
			}
			if a, b := len(again.Layers), len(m.Layers); a != b || again.Dim() != m.Dim() {
				t.Errorf("%s to %s: %d layers, %d values, want %d and %d", name, to, a, again.Dim(), b, m.Dim())
			}
			for _, s := range m.Tensors() {
				was := values(t, m, s.Name)
				switch to {
				case Float16, BFloat16:
					checkFloats(t, s.Name, was, values(t, again, s.Name), to)
				case Int8:
					if !linear[s.Name] {
						if got := values(t, again, s.Name); !slices.Equal(got, was) {
							t.Errorf("%s: %s, which is no linear map, changed", name, s.Name)
						}
						continue
					}
					checkInt8(t, again, s, was)
				}
			}
		}
	}
}

func values(t testing.TB, m *model.Model, name string) []float32 {
	t.Helper()
	v, err := m.Weights.Float32(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkFloats holds values to the definition of rounding: no representable number is
// nearer.
func checkFloats(t *testing.T, name string, was, got []float32, to DType) {
	t.Helper()
	for i, v := range was {
		below, above := neighbours(got[i], to)
		d := math.Abs(float64(v) - float64(got[i]))
		if d > math.Abs(float64(v)-below) || d > math.Abs(float64(v)-above) {
			t.Errorf("%s, value %d: %g became %g, a neighbour is nearer", name, i, v, got[i])
			return
		}
	}
}

// neighbours gives the numbers of the type before and after v.
func neighbours(v float32, to DType) (below, above float64) {
	digits, least := 11, -24 // significant bits; exponent of the smallest number
	if to == BFloat16 {
		digits, least = 8, -133
	}
	_, e := math.Frexp(float64(v))
	unit := math.Ldexp(1, max(e-digits, least))
	return float64(v) - unit, float64(v) + unit
}

func checkInt8(t *testing.T, m *model.Model, s model.Tensor, was []float32) {
	t.Helper()
	q, err := m.Weights.Int8(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	scale := values(t, m, s.Name+model.ScaleSuffix)
	in := s.Shape[1]
	for r := range s.Shape[0] {
		if want := plainScale(was[r*in : (r+1)*in]); scale[r] != want {
			t.Fatalf("%s, row %d: scale %g, want %g", s.Name, r, scale[r], want)
		}
		for i, v := range was[r*in : (r+1)*in] {
			if want := plainInt8(v, scale[r]); q[r*in+i] != want {
				t.Fatalf("%s, row %d, column %d: %g over %g became %d, want %d", s.Name, r, i, v, scale[r], q[r*in+i], want)
			}
		}
	}
}

// plainScale is the definition of a row's scale.
func plainScale(row []float32) float32 {
	most := 0.0
	for _, v := range row {
		most = max(most, math.Abs(float64(v)))
	}
	return float32(most / 127)
}

// plainInt8 is the nearest multiple of the scale, the even one of two.
func plainInt8(v, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	x := float64(v) / float64(scale)
	low := int(math.Floor(x))
	best := low
	if d := x - float64(low); d > 0.5 || d == 0.5 && low%2 != 0 {
		best++
	}
	return int8(max(-127, min(127, best)))
}

func FuzzQuantiseRow(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 191}, uint8(0))
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 128}, uint8(1)) // subnormal
	f.Add(make([]byte, 64), uint8(0))
	f.Add([]byte{255, 255, 127, 127, 0, 0, 128, 63}, uint8(7)) // the largest
	f.Fuzz(func(t *testing.T, raw []byte, shift uint8) {
		row := make([]float32, len(raw)/4)
		if len(row) == 0 {
			return
		}
		widen(row, raw, model.F32)
		if notFinite(row) >= 0 {
			return
		}
		for i := range row { // towards equal magnitudes, where ties are
			row[i] = float32(math.Ldexp(float64(row[i]), -int(shift)))
		}
		scale := rowScale(row)
		if want := plainScale(row); scale != want {
			t.Fatalf("scale %g, want %g", scale, want)
		}
		got := make([]byte, len(row))
		quantiseRow(got, row, scale)
		for i, v := range row {
			if want := plainInt8(v, scale); int8(got[i]) != want {
				t.Errorf("value %d: %g over %g is %d, want %d", i, v, scale, int8(got[i]), want)
			}
		}
	})
}

// Equal weights give equal bytes, whatever the element type of a wide copy was.
func TestSameBytes(t *testing.T) {
	m := open(t, tiny, "")
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := planned(t, m, Int8).Write(context.Background(), w, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two conversions of the same weights differ")
	}
	half := open(t, tiny, convert(t, planned(t, m, Float16)))
	wide := open(t, tiny, convert(t, planned(t, half, Float32)))
	for _, s := range half.Tensors() {
		if !slices.Equal(values(t, half, s.Name), values(t, wide, s.Name)) {
			t.Errorf("%s changed on its way from float16 to float32", s.Name)
		}
	}
	if Stored(wide) != "float32" {
		t.Errorf("widened weights are %s", Stored(wide))
	}
}

// A copy in its own type changes nothing; bfloat16 weights quantised are bfloat16
// where they are not quantised.
func TestStored(t *testing.T) {
	m := open(t, tiny, "")
	if planned(t, m, Float32).Changed() {
		t.Error("float32 to float32 converts something")
	}
	narrow := open(t, tiny, convert(t, planned(t, m, BFloat16)))
	c := planned(t, narrow, Int8)
	kinds := map[model.DType]int{}
	for _, s := range c.Tensors() {
		kinds[s.DType]++
	}
	linear := 6 * len(m.Layers)
	if kinds[model.I8] != linear || kinds[model.F32] != linear || kinds[model.BF16] != len(m.Tensors())-linear {
		t.Errorf("tensors of the types %v, want %d int8 and as many scales, the rest bfloat16", kinds, linear)
	}
	if got := Stored(open(t, modeltest.Damage(t, tiny, modeltest.Fault{}), "")); got != "float32" {
		t.Errorf("stored %s, want float32", got)
	}
	mixed := modeltest.Copy(t, tiny)
	ts := modeltest.ReadTensors(t, filepath.Join(mixed, "model.safetensors"))
	for i := range ts {
		if strings.HasSuffix(ts[i].Name, "word_embeddings.weight") {
			half := make([]byte, 0, len(ts[i].Data)/2)
			for j := 0; j < len(ts[i].Data); j += 4 {
				half = append(half, ts[i].Data[j+2], ts[i].Data[j+3])
			}
			ts[i].DType, ts[i].Data = model.BF16, half
		}
	}
	modeltest.WriteTensors(t, filepath.Join(mixed, "model.safetensors"), ts, 0)
	if got := Stored(open(t, mixed, "")); got != Mixed {
		t.Errorf("stored %s, want %s", got, Mixed)
	}
}

// The plain encoder on converted weights stays close to the one on the original.
func TestVectors(t *testing.T) {
	golden := modeltest.ReadGolden(t, tiny)
	m := open(t, tiny, "")
	for to, least := range map[DType]float64{Float16: 0.9999995, BFloat16: 0.9999, Int8: 0.999} {
		ref, err := cpu.NewReference(open(t, tiny, convert(t, planned(t, m, to))))
		if err != nil {
			t.Fatal(err)
		}
		low := 1.0
		for i, ids := range golden.InputIDs {
			v, err := ref.Encode(ids, golden.Types(i))
			if err != nil {
				t.Fatal(err)
			}
			var dot, vv, ww float64
			for j, w := range golden.Outputs()[i] {
				dot += float64(v[j]) * float64(w)
				vv += float64(v[j]) * float64(v[j])
				ww += float64(w) * float64(w)
			}
			low = min(low, dot/math.Sqrt(vv*ww))
		}
		t.Logf("%s: least cosine %.9f", to, low)
		if low < least || low > 0.9999999999 {
			t.Errorf("%s: least cosine %.9f, want %g or more, and less than 1", to, low, least)
		}
	}
}

// Files keeps a Dense module's weights in its folder, merges shards, and copies what
// is not used.
func TestFiles(t *testing.T) {
	for _, test := range []struct {
		dir   string
		paths []string
	}{
		{"tiny-bert-cls", []string{"model.safetensors"}},
		{"micro-modernbert-shards", []string{"model.safetensors"}},
		{"micro-bert-dense", nil},
	} {
		dir := filepath.Join("../model/testdata", test.dir)
		m := open(t, dir, "")
		files, err := Files(m, Float16)
		if err != nil {
			t.Fatal(err)
		}
		to := modeltest.Copy(t, dir)
		for _, name := range []string{"model.safetensors", "model.safetensors.index.json"} {
			if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
		var paths []string
		names := 0
		for _, f := range files {
			paths = append(paths, f.Path)
			names += len(f.Tensors())
			data, err := os.ReadFile(convert(t, f.Conversion))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, f.Path), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if test.paths != nil && !slices.Equal(paths, test.paths) {
			t.Errorf("%s: files %v, want %v", test.dir, paths, test.paths)
		}
		if test.dir == "micro-bert-dense" && len(paths) < 2 {
			t.Errorf("%s: files %v, want one for each Dense module too", test.dir, paths)
		}
		if want := len(m.Weights.Tensors()); names != want {
			t.Errorf("%s: %d tensors written, want %d", test.dir, names, want)
		}
		again := open(t, to, "")
		if got := Stored(again); got != "float16" {
			t.Errorf("%s: stored %s", test.dir, got)
		}
	}
}

// TestFilesStayInside gives tensors that nothing uses the names of paths: they remain
// names, in the file that they came from.
func TestFilesStayInside(t *testing.T) {
	dir := modeltest.Copy(t, "../model/testdata/micro-bert-dense")
	names := []string{"../../outside/x", "/outside/x", "a/b"}
	want := map[string]int{"model.safetensors": 3, "2_Dense/model.safetensors": 3, "3_Dense/model.safetensors": 0}
	for _, file := range []string{"model.safetensors", "2_Dense/model.safetensors"} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		ts := modeltest.ReadTensors(t, path)
		for _, name := range names {
			ts = append(ts, modeltest.Tensor{Name: name, DType: model.F32, Shape: []int{1}, Data: make([]byte, 4)})
		}
		modeltest.WriteTensors(t, path, ts, 0)
	}
	files, err := Files(open(t, dir, ""), Float16)
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		found := 0
		for _, s := range f.Tensors() {
			if slices.Contains(names, s.Name) {
				found++
			}
		}
		if n, ok := want[f.Path]; !ok || found != n {
			t.Errorf("%s has %d of the tensors, want %d", f.Path, found, n)
		}
	}
}

func TestProgress(t *testing.T) {
	c := planned(t, open(t, tiny, ""), Int8)
	var last, whole int64
	var buf bytes.Buffer
	err := c.Write(context.Background(), &buf, func(done, total int64) {
		if done <= last || total < done {
			t.Fatalf("progress went from %d to %d of %d", last, done, total)
		}
		last, whole = done, total
	})
	if err != nil || last != whole || last == 0 {
		t.Errorf("ended at %d of %d: %v", last, whole, err)
	}
	before, after := c.Converted()
	if before <= 3*after || before > 4*after {
		t.Errorf("%d bytes became %d, want a little more than a quarter", before, after)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Write(ctx, &buf, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("write with an ended context: %v", err)
	}
}

// faulty makes the value at place i of a tensor v.
func faulty(t *testing.T, name string, i int, v float32) string {
	t.Helper()
	dir := modeltest.Copy(t, tiny)
	path := filepath.Join(dir, "model.safetensors")
	ts := modeltest.ReadTensors(t, path)
	at := slices.IndexFunc(ts, func(s modeltest.Tensor) bool { return s.Name == name })
	binary.LittleEndian.PutUint32(ts[at].Data[4*i:], math.Float32bits(v))
	modeltest.WriteTensors(t, path, ts, 0)
	return dir
}

func TestErrors(t *testing.T) {
	const weight, bias = "encoder.layer.1.output.dense.weight", "encoder.layer.0.intermediate.dense.bias"
	in := open(t, tiny, "").Config.FFN
	for _, test := range []struct {
		tensor string
		at     int
		value  float32
		to     DType
		is     error
		want   string
	}{
		{weight, 2*in + 5, 70000, Float16, ErrRange, "tensor " + weight + ", row 2, column 5: value out of range: 70000; float16 ends at ±65,504; bfloat16 has the range of float32"},
		{bias, 3, -65520, Float16, ErrRange, "tensor " + bias + ", value 3: value out of range: -65520; float16 ends at ±65,504; bfloat16 has the range of float32"},
		{bias, 3, 65519, Float16, nil, ""},
		{bias, 3, 3.4e38, BFloat16, ErrRange, "tensor " + bias + ", value 3: value out of range: 3.4e+38; bfloat16 ends at ±3.39e38; leave the weights in float32"},
		{bias, 1, float32(math.NaN()), BFloat16, ErrNotFinite, "tensor " + bias + ", value 1: value not finite: NaN; the weights are damaged; get the model again"},
		{weight, in, float32(math.Inf(-1)), Int8, ErrNotFinite, "tensor " + weight + ", row 1, column 0: value not finite: -Inf; the weights are damaged; get the model again"},
	} {
		m := open(t, faulty(t, test.tensor, test.at, test.value), "")
		err := planned(t, m, test.to).Write(context.Background(), &bytes.Buffer{}, nil)
		want := test.want
		if want != "" {
			want = fmt.Sprintf("convert the weights of tiny-bert-mean to %s: %s", test.to, want)
		}
		if !errors.Is(err, test.is) || err != nil && err.Error() != want {
			t.Errorf("%g to %s: %v\nwant %s", test.value, test.to, err, want)
		}
	}
	q := open(t, tiny, convert(t, planned(t, open(t, tiny, ""), Int8)))
	_, err := Plan(q, Float16)
	want := "convert the weights of tiny-bert-mean to float16: weights already quantised: tensor encoder.layer.0.attention.self.query.weight is int8, and what its rounding lost is gone; convert the weights that it was made from"
	if !errors.Is(err, ErrStored) || err.Error() != want {
		t.Errorf("int8 to float16: %v\nwant %s", err, want)
	}
	if c, err := Plan(q, Int8); err != nil || c.Changed() {
		t.Errorf("int8 to int8: %v", err)
	}
	_, err = ParseDType("fp8")
	if want := `unknown dtype "fp8": float32, float16, bfloat16, int8`; err == nil || err.Error() != want {
		t.Errorf("fp8: %v, want %s", err, want)
	}
}
