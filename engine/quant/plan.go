package quant

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"encbench/engine/model"
)

// Conversion is a weights file that is to be written: its tensors in order, and where
// each comes from. It reads from the model that it was planned for, which stays open
// meanwhile.
type Conversion struct {
	name    string // of the model
	weights *model.Weights
	to      DType
	parts   []part
}

// part is one tensor of the new file.
type part struct {
	spec model.TensorSpec
	from model.Tensor
	how  how
}

// how a tensor comes about.
type how uint8

const (
	copied    how = iota
	narrowed      // or widened: converted value by value
	quantised     // to int8, row by row
	scales        // of a quantised tensor
)

// MostIn is the longest row of a weight that is quantised: the product of a row with
// one of activations, at most 255 · 127 each, stays within an int32.
const MostIn = 1 << 16

// File is a weights file of a model's directory.
type File struct {
	Path string // from the directory, with slashes
	*Conversion
}

// Plan plans one file with all tensors that the model uses, Dense modules included:
// what model.Options.Weights opens in place of the directory's own.
func Plan(m *model.Model, to DType) (*Conversion, error) {
	c, err := plan(m, to, m.Tensors(), "")
	if err != nil {
		return nil, fmt.Errorf("convert the weights of %s to %s: %w", m.Name, to, err)
	}
	return c, nil
}

// Files plans the files of a whole directory: model.safetensors with the tensors of
// the transformer, of however many files they came, and one in the folder of each
// Dense module. Tensors that the model does not use, such as a pooler's, are copied
// as they are. The folders are those that modules.json names, whatever the names of
// tensors look like.
func Files(m *model.Model, to DType) ([]File, error) {
	byFolder := map[string][]model.Tensor{}
	folders := []string{""}
	for _, h := range m.Head {
		// Within a name of a classifier's tensor there is no slash.
		if i := strings.LastIndexByte(h.Linear.Weight, '/'); i >= 0 && !slices.Contains(folders, h.Linear.Weight[:i]) {
			folders = append(folders, h.Linear.Weight[:i])
		}
	}
	for _, t := range m.Weights.Tensors() {
		folder := ""
		for _, f := range folders[1:] {
			if strings.HasPrefix(t.Name, f+"/") && len(f) > len(folder) {
				folder = f
			}
		}
		byFolder[folder] = append(byFolder[folder], t)
	}
	var out []File
	for _, folder := range folders {
		c, err := plan(m, to, byFolder[folder], folder)
		if err != nil {
			return nil, fmt.Errorf("convert the weights of %s to %s: %w", m.Name, to, err)
		}
		out = append(out, File{path.Join(folder, "model.safetensors"), c})
	}
	return out, nil
}

// plan plans a file with these tensors, whose names lose the folder before them.
func plan(m *model.Model, to DType, tensors []model.Tensor, folder string) (*Conversion, error) {
	used, linear := map[string]bool{}, map[string]bool{}
	for _, t := range m.Tensors() {
		if t.DType == model.I8 && to != Int8 {
			return nil, fmt.Errorf("%w: tensor %s is int8, and what its rounding lost is gone; convert the weights that it was made from", ErrStored, t.Name)
		}
		used[t.Name] = true
	}
	for _, l := range m.Layers {
		for _, lin := range linears(l) {
			linear[lin.Weight] = true
		}
	}
	c := &Conversion{name: m.Name, weights: m.Weights, to: to}
	byName := map[string]part{}
	var specs []model.TensorSpec
	add := func(p part) {
		if folder != "" {
			p.spec.Name = strings.TrimPrefix(p.spec.Name, folder+"/")
		}
		specs = append(specs, p.spec)
		byName[p.spec.Name] = p
	}
	for _, t := range tensors {
		spec := model.TensorSpec{Name: t.Name, DType: t.DType, Shape: t.Shape}
		switch float := to.float(); {
		case to == Int8 && linear[t.Name] && t.DType != model.I8:
			if len(t.Shape) != 2 || t.Shape[1] < 1 || t.Shape[1] > MostIn {
				return nil, fmt.Errorf("%w: tensor %s is %v, int8 takes rows of 1 to %d values", ErrShape, t.Name, t.Shape, MostIn)
			}
			spec.DType = model.I8
			add(part{spec, t, quantised})
			add(part{model.TensorSpec{Name: t.Name + model.ScaleSuffix, DType: model.F32, Shape: t.Shape[:1]}, t, scales})
		case to != Int8 && used[t.Name] && t.DType != float:
			spec.DType = float
			add(part{spec, t, narrowed})
		default:
			add(part{spec, t, copied})
		}
	}
	for _, s := range model.Arrange(specs) {
		c.parts = append(c.parts, byName[s.Name])
	}
	return c, nil
}

// linears lists the maps of a layer; those that it does not have name no weight.
func linears(l model.Layer) []model.Linear {
	a, f := l.Attention, l.FeedForward
	return []model.Linear{a.Query, a.Key, a.Value, a.Output, f.Up, f.Gate, f.Down}
}

// Changed says whether any tensor is converted: without one the new file would hold
// what the old one does.
func (c *Conversion) Changed() bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.how != copied })
}

// Tensors lists the tensors of the new file in their order.
func (c *Conversion) Tensors() []model.TensorSpec {
	out := make([]model.TensorSpec, len(c.parts))
	for i, p := range c.parts {
		out[i] = p.spec
	}
	return out
}

// Converted gives the bytes of the tensors that are converted, before and after.
func (c *Conversion) Converted() (before, after int64) {
	for _, p := range c.parts {
		switch p.how {
		case narrowed, quantised:
			before += p.from.Bytes
			after += p.spec.Bytes()
		case scales:
			after += p.spec.Bytes()
		}
	}
	return before, after
}
