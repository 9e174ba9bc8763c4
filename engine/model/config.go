package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Config holds the sizes of config.json, checked to be consistent.
type Config struct {
	Family       string // as Families names it
	Architecture string // of the checkpoint, "" when config.json names none
	ModelType    string
	Layers       int
	Hidden       int
	Heads        int // of queries
	KVHeads      int // of keys and values
	HeadDim      int
	FFN          int // width of the feed-forward blocks
	Vocab        int
	Positions    int // longest row, special tokens included
	Types        int // token types, 0 where the family has none
	Act          Activation
	NormEps      float64
	PadID        int // 0 when config.json names none
}

// maxSize bounds every size in config.json, far above any encoder, so that
// products of two stay within an int64.
const maxSize = 1 << 28

// commonConfig is what every family's config.json may say; a nil field is absent or
// null.
type commonConfig struct {
	Architectures []string                   `json:"architectures"`
	ModelType     string                     `json:"model_type"`
	Vocab         *int                       `json:"vocab_size"`
	Positions     *int                       `json:"max_position_embeddings"`
	PadID         *int                       `json:"pad_token_id"`
	PositionType  *string                    `json:"position_embedding_type"`
	Decoder       bool                       `json:"is_decoder"`
	Cross         bool                       `json:"add_cross_attention"`
	Quantization  json.RawMessage            `json:"quantization_config"`
	NumLabels     *int                       `json:"num_labels"`
	Labels        map[string]json.RawMessage `json:"id2label"`
	Synthetic     *Synthetic                 `json:"encbench_synthetic"`
}

// Synthetic is what a directory of random weights says of itself, under
// encbench_synthetic in config.json.
type Synthetic struct {
	Shape     string `json:"shape"`     // name of the model whose sizes it has
	Seed      int64  `json:"seed"`      // of the weights
	Tokenizer string `json:"tokenizer"` // SyntheticReal or SyntheticStandIn
}

// The tokenizers of synthetic directories.
const (
	SyntheticReal    = "real"     // of the model whose sizes it has
	SyntheticStandIn = "stand-in" // trained by encbench
)

// described is what config.json says, as far as a family understands it.
type described struct {
	config    Config
	family    *family
	reranker  bool   // by the architecture: a classifier of pairs
	labels    int    // of the classifier
	layout    layout // the family's names and shapes
	synthetic *Synthetic
}

// parseConfig reads config.json: first the family, which says what the rest
// means, then everything the layer description needs.
func parseConfig(data []byte) (described, error) {
	var raw commonConfig
	if err := decode(data, &raw); err != nil {
		return described{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	d := described{config: Config{ModelType: raw.ModelType}, labels: raw.labels(), synthetic: raw.Synthetic}
	if len(raw.Architectures) > 0 {
		d.config.Architecture = raw.Architectures[0]
	}
	if err := d.findFamily(); err != nil {
		return described{}, err
	}
	if err := raw.refuse(d.family); err != nil {
		return described{}, err
	}
	l, err := d.family.read(data, &d.config)
	if err != nil {
		return described{}, err
	}
	d.layout, d.config.Family = l, d.family.Name
	if err := raw.pad(&d.config); err != nil {
		return described{}, err
	}
	return d, raw.Synthetic.check()
}

// findFamily finds who understands config.json, by model_type, and whether the
// architecture is one of the family's.
func (d *described) findFamily() error {
	c := d.config
	if c.ModelType == "" {
		return fmt.Errorf("%w: no model_type", ErrConfig)
	}
	named := c.ModelType
	if c.Architecture != "" {
		named = c.Architecture + ", model_type " + c.ModelType
	}
	var types []string
	for i := range families {
		f := &families[i]
		types = append(types, f.ModelType)
		if f.ModelType != c.ModelType {
			continue
		}
		d.family = f
		d.reranker = slices.Contains(f.Rerankers, c.Architecture)
		if c.Architecture == "" || d.reranker || slices.Contains(f.Embedders, c.Architecture) {
			return nil
		}
		return fmt.Errorf("%w: architecture %s; of this type supported are %s",
			ErrUnsupported, named, strings.Join(append(slices.Clone(f.Embedders), f.Rerankers...), ", "))
	}
	return fmt.Errorf("%w: architecture %s; supported model types are %s",
		ErrUnsupported, named, strings.Join(types, ", "))
}

// refuse names what config.json can ask for and nothing here computes.
func (raw *commonConfig) refuse(f *family) error {
	switch {
	case raw.PositionType != nil && f.positions != "" && *raw.PositionType != f.positions:
		return fmt.Errorf("%w: position_embedding_type %q; supported is %s", ErrUnsupported, *raw.PositionType, f.positions)
	case raw.Decoder:
		return fmt.Errorf("%w: is_decoder is true; supported are encoders", ErrUnsupported)
	case raw.Cross:
		return fmt.Errorf("%w: add_cross_attention is true; supported are encoders", ErrUnsupported)
	case len(raw.Quantization) > 0 && string(raw.Quantization) != "null":
		return fmt.Errorf("%w: quantization_config is set; supported are unquantized weights", ErrUnsupported)
	}
	return nil
}

// labels counts the classes of a classifier: two where config.json does not say.
// Their number goes over their names, as transformers has it.
func (raw *commonConfig) labels() int {
	switch {
	case raw.NumLabels != nil:
		return *raw.NumLabels
	case raw.Labels != nil:
		return len(raw.Labels)
	}
	return 2
}

func (raw *commonConfig) pad(c *Config) error {
	if raw.PadID != nil {
		c.PadID = *raw.PadID
	}
	if c.PadID < 0 || c.PadID >= c.Vocab {
		return fmt.Errorf("%w: pad_token_id %d lies outside the vocabulary of %d", ErrConfig, c.PadID, c.Vocab)
	}
	return nil
}

func (s *Synthetic) check() error {
	if s == nil || s.Tokenizer == SyntheticReal || s.Tokenizer == SyntheticStandIn {
		return nil
	}
	return fmt.Errorf("%w: encbench_synthetic.tokenizer is %q, must be %s or %s", ErrConfig, s.Tokenizer, SyntheticReal, SyntheticStandIn)
}

// size is one size of config.json and where it goes.
type size struct {
	name string
	from *int
	to   *int
}

func readSizes(sizes []size) error {
	for _, f := range sizes {
		if f.from == nil {
			return fmt.Errorf("%w: no %s", ErrConfig, f.name)
		}
		if *f.from < 1 || *f.from > maxSize {
			return fmt.Errorf("%w: %s is %d, must be 1 to %d", ErrConfig, f.name, *f.from, maxSize)
		}
		*f.to = *f.from
	}
	return nil
}

// heads splits the states among the heads; the names are those of the two sizes.
func (c *Config) heads(hidden, heads string) error {
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("%w: %s %d is not a multiple of %s %d", ErrConfig, hidden, c.Hidden, heads, c.Heads)
	}
	c.KVHeads, c.HeadDim = c.Heads, c.Hidden/c.Heads
	return nil
}

// eps reads the constant of the normalisations; byDefault is the family's own.
func (c *Config) eps(name string, from *float64, byDefault float64) error {
	c.NormEps = byDefault
	if from != nil {
		c.NormEps = *from
	}
	if !(c.NormEps >= 0 && c.NormEps < 1) {
		return fmt.Errorf("%w: %s is %v, must be at least 0 and below 1", ErrConfig, name, c.NormEps)
	}
	return nil
}

// activations are the names that transformers has for what is computed here. Its
// names for the tanh approximation differ in the order of the multiplications.
var activations = map[string]Activation{
	"gelu": GELU, "gelu_python": GELU,
	"gelu_new": GELUTanh, "gelu_pytorch_tanh": GELUTanh, "gelu_python_tanh": GELUTanh, "gelu_fast": GELUTanh, "gelu_accurate": GELUTanh,
	"silu": SiLU, "swish": SiLU,
	"relu": ReLU, "tanh": Tanh,
}

func readActivation(name string, from *string) (Activation, error) {
	if from == nil {
		return "", fmt.Errorf("%w: no %s", ErrConfig, name)
	}
	act, ok := activations[*from]
	if !ok {
		return "", fmt.Errorf("%w: %s %q; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh", ErrUnsupported, name, *from)
	}
	return act, nil
}
