package synth

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"encbench/engine/model"
)

// block is how many values are made at a time: 256 KiB of float32.
const block = 64 << 10

// Tensors lists the tensors of the shape's checkpoint in the order of its file: by
// name, those that would misalign others at the end.
func (s Shape) Tensors(dtype model.DType) []model.TensorSpec {
	var specs []model.TensorSpec
	for _, t := range s.tensors() {
		specs = append(specs, model.TensorSpec{Name: t.name, DType: dtype, Shape: t.shape})
	}
	return model.Arrange(specs)
}

// WriteWeights writes the weights of a shape as a safetensors file to w: the same
// bytes for the same shape, seed and dtype (F32, F16 or BF16) everywhere. It holds
// no tensor in memory and buffers what it writes. progress, if any, is told the
// bytes written so far and in all, from time to time. The error of ctx ends it.
func WriteWeights(ctx context.Context, w io.Writer, s Shape, seed int64, dtype model.DType, progress func(done, total int64)) error {
	if !dtype.Float() {
		return fmt.Errorf("synthesise %s: %w: dtype %q; supported are F32, F16, BF16", s.Name, model.ErrUnsupported, string(dtype))
	}
	byName := map[string]tensor{}
	for _, t := range s.tensors() {
		byName[t.name] = t
	}
	total := int64(0)
	specs := s.Tensors(dtype)
	for _, spec := range specs {
		total += spec.Bytes()
	}
	out, err := model.NewWriter(w, specs, map[string]string{
		"encbench_synthetic": s.Name, "encbench_seed": strconv.FormatInt(seed, 10),
	})
	if err != nil {
		return fmt.Errorf("synthesise %s: %w", s.Name, err)
	}
	values, data := make([]float32, block), make([]byte, 4*block)
	done := int64(0)
	for spec, more := out.Tensor(); more; spec, more = out.Tensor() {
		t := byName[spec.Name]
		err := t.fill(newStream(s.Name, seed, t.name), values, func(values []float32) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := data[:int64(len(values))*elementBytes(dtype)]
			encode(part, values, dtype)
			_, err := out.Write(part)
			if done += int64(len(part)); err == nil && progress != nil {
				progress(done, total)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("synthesise %s: %w", s.Name, err)
		}
	}
	return out.Close()
}

// fill gives the values of the tensor to write, a block at a time.
func (t tensor) fill(s stream, buf []float32, write func([]float32) error) error {
	width := 1 // values of a row
	for _, d := range t.shape[1:] {
		width *= d
	}
	at := uint64(0)
	for _, p := range t.parts {
		for left := p.rows * width; left > 0; {
			values := buf[:min(left, len(buf))]
			s.floats(values, at, p)
			if err := write(values); err != nil {
				return err
			}
			at += uint64(len(values))
			left -= len(values)
		}
	}
	return nil
}

func elementBytes(d model.DType) int64 { return model.TensorSpec{DType: d}.Bytes() }
