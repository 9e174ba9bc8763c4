package quant

import (
	"fmt"
	"slices"
	"strings"

	"encbench/engine/model"
)

// Version names the rules of this package: converted weights that are kept carry it
// in their name, and it grows when the same source would give other bytes.
const Version = 1

// DType is an element type that weights can be converted to, by the name that
// Hugging Face configurations use.
type DType string

// The types.
const (
	Float32  DType = "float32"
	Float16  DType = "float16"
	BFloat16 DType = "bfloat16"
	Int8     DType = "int8" // the linear maps of the layers; the rest as it is stored
)

// DTypes lists the types, the widest first. The caller owns the result.
func DTypes() []DType { return []DType{Float32, Float16, BFloat16, Int8} }

// ParseDType reads the name of a type.
func ParseDType(s string) (DType, error) {
	if d := DType(s); slices.Contains(DTypes(), d) {
		return d, nil
	}
	names := make([]string, 0, len(DTypes()))
	for _, d := range DTypes() {
		names = append(names, string(d))
	}
	return "", fmt.Errorf("unknown dtype %q: %s", s, strings.Join(names, ", "))
}

// float is the stored type of the tensors that are converted; "" for int8.
func (d DType) float() model.DType {
	return map[DType]model.DType{Float32: model.F32, Float16: model.F16, BFloat16: model.BF16}[d]
}

// Mixed is what Stored gives for tensors of several types.
const Mixed = "mixed"

// Stored says in which type the tensors of a model are stored: the name of a DType,
// int8 where the linear maps are and whatever the rest is, or Mixed.
func Stored(m *model.Model) string {
	names := map[model.DType]DType{model.F32: Float32, model.F16: Float16, model.BF16: BFloat16}
	var found DType
	for _, t := range m.Tensors() {
		if t.DType == model.I8 {
			return string(Int8)
		}
		d := names[t.DType]
		if found != "" && d != found {
			found = Mixed
			continue
		}
		found = d
	}
	return string(found)
}
