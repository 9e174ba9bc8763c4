package model

import (
	"fmt"
	"math"
	"slices"
)

// ropeParameters is how transformers 5 writes a rotary embedding; rope_scaling of
// older configs is read as one.
type ropeParameters struct {
	Theta   *float64 `json:"rope_theta"`
	Type    *string  `json:"rope_type"`
	OldType *string  `json:"type"`
	Partial *float64 `json:"partial_rotary_factor"`
}

// ropeConfig is what a family with one rotary base says of it, in either style.
type ropeConfig struct {
	Theta   *float64        `json:"rope_theta"`
	New     *ropeParameters `json:"rope_parameters"`
	Scaling *ropeParameters `json:"rope_scaling"`
	Partial *float64        `json:"partial_rotary_factor"`
}

// read gives the rotary embedding of heads of dim values.
func (raw *ropeConfig) read(dim int) (Rope, error) {
	if err := checkPartial(raw.Partial); err != nil {
		return Rope{}, err
	}
	theta, err := raw.New.theta("rope_parameters", "rope_theta", raw.Theta)
	if err != nil {
		return Rope{}, err
	}
	if err := raw.Scaling.agrees(theta); err != nil {
		return Rope{}, err
	}
	return newRope(theta, dim)
}

// refuse names scalings of the angles, none of which is computed.
func (p *ropeParameters) refuse(name string) error {
	if p == nil {
		return nil
	}
	for _, kind := range []*string{p.Type, p.OldType} {
		if kind != nil && *kind != "default" {
			return fmt.Errorf("%w: %s asks for type %q; supported is default", ErrUnsupported, name, *kind)
		}
	}
	return checkPartial(p.Partial)
}

// agrees refuses a rope_scaling that scales, or that names another base than theta,
// which transformers would take.
func (p *ropeParameters) agrees(theta float64) error {
	if err := p.refuse("rope_scaling"); err != nil {
		return err
	}
	if p != nil && p.Theta != nil && *p.Theta != theta {
		return fmt.Errorf("%w: rope_scaling.rope_theta is %v, the base that config.json names elsewhere is %v: they must agree", ErrConfig, *p.Theta, theta)
	}
	return nil
}

func checkPartial(f *float64) error {
	if f != nil && *f != 1 {
		return fmt.Errorf("%w: partial_rotary_factor is %v; supported is 1", ErrUnsupported, *f)
	}
	return nil
}

// theta gives the base that either style names; a config that names it in both must
// name the same.
func (p *ropeParameters) theta(name, oldName string, old *float64) (float64, error) {
	if err := p.refuse(name); err != nil {
		return 0, err
	}
	base, from := old, oldName
	if p != nil && p.Theta != nil {
		base, from = p.Theta, name+".rope_theta"
		if old != nil && *old != *base {
			return 0, fmt.Errorf("%w: %s is %v, %s is %v: they must agree", ErrConfig, from, *base, oldName, *old)
		}
	}
	if base == nil {
		return 0, fmt.Errorf("%w: no %s.rope_theta and no %s", ErrConfig, name, oldName)
	}
	if !(*base > 1 && *base < math.MaxFloat32) {
		return 0, fmt.Errorf("%w: %s is %v, must be above 1", ErrConfig, from, *base)
	}
	return *base, nil
}

func newRope(theta float64, dim int) (Rope, error) {
	if dim%2 != 0 {
		return Rope{}, fmt.Errorf("%w: rotary positions turn pairs of values, heads have %d", ErrConfig, dim)
	}
	return Rope{Theta: theta, Dim: dim}, nil
}

// The kinds of layers, as transformers names them.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// checkLayerTypes makes sure that the list has a known kind for each layer.
func checkLayerTypes(types []string, layers int) error {
	if len(types) != layers {
		return fmt.Errorf("%w: layer_types has %d entries, num_hidden_layers is %d", ErrConfig, len(types), layers)
	}
	for i, t := range types {
		if t != fullAttention && t != slidingAttention {
			return fmt.Errorf("%w: layer_types[%d] is %.60q; supported are %s, %s", ErrUnsupported, i, t, fullAttention, slidingAttention)
		}
	}
	return nil
}

// onlyFull refuses windows where a family has none that was checked.
func onlyFull(types []string, layers int) error {
	if types == nil {
		return nil
	}
	if err := checkLayerTypes(types, layers); err != nil {
		return err
	}
	if i := slices.Index(types, slidingAttention); i >= 0 {
		return fmt.Errorf("%w: layer_types[%d] is %s; supported is %s", ErrUnsupported, i, slidingAttention, fullAttention)
	}
	return nil
}
