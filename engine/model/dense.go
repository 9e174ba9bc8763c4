package model

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// denseModule is a Dense module of sentence-transformers: a linear map of the pooled
// vector and an activation, with weights in a file of its own.
type denseModule struct {
	folder  string // from the directory, as modules.json has it, with slashes
	in, out int
	bias    bool
	act     Activation
}

// denseActivations are the classes that config.json may name.
var denseActivations = map[string]Activation{
	"Identity": "", "Tanh": Tanh, "GELU": GELU, "ReLU": ReLU, "SiLU": SiLU,
}

// readDense reads dir/folder/config.json.
func readDense(dir, folder string) (denseModule, error) {
	path := filepath.Join(dir, folder, "config.json")
	var raw struct {
		In       *int            `json:"in_features"`
		Out      *int            `json:"out_features"`
		Bias     *bool           `json:"bias"`
		Act      json.RawMessage `json:"activation_function"`
		Input    *string         `json:"module_input_name"`
		Output   *string         `json:"module_output_name"`
		Residual bool            `json:"use_residual"`
	}
	found, err := readJSON(path, &raw)
	if err != nil {
		return denseModule{}, err
	}
	if !found {
		return denseModule{}, fmt.Errorf("%w: modules.json names a Dense module, but %s does not exist; get the directory again", ErrConfig, path)
	}
	fail := func(err error) (denseModule, error) { return denseModule{}, fmt.Errorf("read %s: %w", path, err) }
	d := denseModule{folder: filepath.ToSlash(filepath.Clean(folder)), bias: raw.Bias == nil || *raw.Bias}
	if err := readSizes([]size{{"in_features", raw.In, &d.in}, {"out_features", raw.Out, &d.out}}); err != nil {
		return fail(err)
	}
	if err := onVectors(raw.Input, raw.Output); err != nil {
		return fail(err)
	}
	if raw.Residual {
		return fail(fmt.Errorf("%w: use_residual is true; supported is a plain map", ErrUnsupported))
	}
	if d.act, err = denseActivation(raw.Act); err != nil {
		return fail(err)
	}
	return d, nil
}

// denseActivation reads the class of the activation; Tanh where none is named, the
// default of sentence-transformers.
func denseActivation(raw json.RawMessage) (Activation, error) {
	if raw == nil {
		return Tanh, nil
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", fmt.Errorf("%w: activation_function: %w", ErrConfig, explained("", err))
	}
	act, ok := denseActivations[name[strings.LastIndexByte(name, '.')+1:]]
	if !ok || !strings.HasPrefix(name, "torch.nn.") {
		return "", fmt.Errorf("%w: activation_function %.100q; supported are Identity, Tanh, GELU, ReLU and SiLU of torch.nn", ErrUnsupported, name)
	}
	return act, nil
}

// name gives a tensor of the module the name it has in the model's weights.
func (d denseModule) name(tensor string) string { return d.folder + "/" + tensor }

// describeDense appends the Dense modules to the head; their weights are opened
// unless they are there already, as in weights that were converted.
func (m *Model) describeDense(dense []denseModule) error {
	dim := m.Config.Hidden
	for _, d := range dense {
		if d.in != dim {
			return fmt.Errorf("%s: %w: module %s expects %d values, what is before it gives %d", m.Dir, ErrConfig, d.folder, d.in, dim)
		}
		dim = d.out
		n := names{w: m.Weights, prefix: d.name("")}
		if !n.has("linear.weight") {
			if err := m.openDense(d); err != nil {
				return err
			}
		}
		h := HeadLayer{Linear: n.linear("linear", d.in, d.out, d.bias), Act: d.act}
		if err := m.check(h.uses()); err != nil {
			return err
		}
		if t, ok := m.Weights.Tensor(d.name("linear.bias")); ok && !d.bias {
			return fmt.Errorf("read weights %s: %w: tensor linear.bias is there, the module's config.json says that it has no bias",
				m.Weights.files[t.file].path, ErrConfig)
		}
		m.Head = append(m.Head, h)
	}
	return nil
}

func (m *Model) openDense(d denseModule) error {
	if m.converted {
		return fmt.Errorf("read weights %s: %w: %s", m.Weights.Path, ErrMissingTensor, d.name("linear.weight"))
	}
	path := filepath.Join(m.Dir, filepath.FromSlash(d.folder), "model.safetensors")
	if old := filepath.Join(filepath.Dir(path), "pytorch_model.bin"); !exists(path) && exists(old) {
		return fmt.Errorf("%s: %w: weights in PyTorch's own format are not read; convert them to model.safetensors", old, ErrUnsupported)
	}
	_, err := m.Weights.add(path, d.name(""))
	return err
}
