package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Config holds the sizes of config.json, checked to be consistent.
type Config struct {
	Architecture string // of the checkpoint, "" when config.json names none
	ModelType    string
	Layers       int
	Hidden       int
	Heads        int
	FFN          int // width of the feed-forward blocks
	Vocab        int
	Positions    int // longest row, special tokens included
	Types        int // token types
	Act          Activation
	NormEps      float64
	PadID        int
}

// maxSize bounds every size in config.json, far above any encoder, so that
// products of two stay within an int64.
const maxSize = 1 << 28

// rawConfig is config.json as written; a nil field is absent or null.
type rawConfig struct {
	Architectures []string        `json:"architectures"`
	ModelType     string          `json:"model_type"`
	Layers        *int            `json:"num_hidden_layers"`
	Hidden        *int            `json:"hidden_size"`
	Heads         *int            `json:"num_attention_heads"`
	FFN           *int            `json:"intermediate_size"`
	Vocab         *int            `json:"vocab_size"`
	Positions     *int            `json:"max_position_embeddings"`
	Types         *int            `json:"type_vocab_size"`
	Act           *string         `json:"hidden_act"`
	NormEps       *float64        `json:"layer_norm_eps"`
	PadID         *int            `json:"pad_token_id"`
	PositionType  *string         `json:"position_embedding_type"`
	Decoder       bool            `json:"is_decoder"`
	Cross         bool            `json:"add_cross_attention"`
	Quantization  json.RawMessage `json:"quantization_config"`
}

// parseConfig reads config.json: first the family, which says what the rest
// means, then everything the layer description needs.
func parseConfig(data []byte) (Config, error) {
	var raw rawConfig
	if err := decode(data, &raw); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c := Config{ModelType: raw.ModelType}
	if len(raw.Architectures) > 0 {
		c.Architecture = raw.Architectures[0]
	}
	if err := c.checkFamily(); err != nil {
		return Config{}, err
	}
	if err := raw.refuse(); err != nil {
		return Config{}, err
	}
	if err := raw.sizes(&c); err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c Config) checkFamily() error {
	if c.ModelType == "" {
		return fmt.Errorf("%w: no model_type", ErrConfig)
	}
	named := c.ModelType
	if c.Architecture != "" {
		named = c.Architecture + ", model_type " + c.ModelType
	}
	if c.ModelType != "bert" || (c.Architecture != "" && !slices.Contains(supported, c.Architecture)) {
		return fmt.Errorf("%w: architecture %s; supported are %s, of model_type bert",
			ErrUnsupported, named, strings.Join(supported, ", "))
	}
	return nil
}

// refuse names what BERT's config.json can ask for and nothing here computes.
func (raw *rawConfig) refuse() error {
	switch {
	case raw.PositionType != nil && *raw.PositionType != "absolute":
		return fmt.Errorf("%w: position_embedding_type %q; supported is absolute", ErrUnsupported, *raw.PositionType)
	case raw.Decoder:
		return fmt.Errorf("%w: is_decoder is true; supported are encoders", ErrUnsupported)
	case raw.Cross:
		return fmt.Errorf("%w: add_cross_attention is true; supported are encoders", ErrUnsupported)
	case len(raw.Quantization) > 0 && string(raw.Quantization) != "null":
		return fmt.Errorf("%w: quantization_config is set; supported are unquantized weights", ErrUnsupported)
	case raw.Act == nil:
		return fmt.Errorf("%w: no hidden_act", ErrConfig)
	case *raw.Act != string(GELU):
		return fmt.Errorf("%w: hidden_act %q; supported is %s (by the error function)", ErrUnsupported, *raw.Act, GELU)
	}
	return nil
}

func (raw *rawConfig) sizes(c *Config) error {
	for _, f := range []struct {
		name string
		from *int
		to   *int
	}{
		{"num_hidden_layers", raw.Layers, &c.Layers},
		{"hidden_size", raw.Hidden, &c.Hidden},
		{"num_attention_heads", raw.Heads, &c.Heads},
		{"intermediate_size", raw.FFN, &c.FFN},
		{"vocab_size", raw.Vocab, &c.Vocab},
		{"max_position_embeddings", raw.Positions, &c.Positions},
		{"type_vocab_size", raw.Types, &c.Types},
	} {
		if f.from == nil {
			return fmt.Errorf("%w: no %s", ErrConfig, f.name)
		}
		if *f.from < 1 || *f.from > maxSize {
			return fmt.Errorf("%w: %s is %d, must be 1 to %d", ErrConfig, f.name, *f.from, maxSize)
		}
		*f.to = *f.from
	}
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("%w: hidden_size %d is not a multiple of num_attention_heads %d", ErrConfig, c.Hidden, c.Heads)
	}
	c.Act, c.NormEps = GELU, 1e-12 // the family's default
	if raw.NormEps != nil {
		c.NormEps = *raw.NormEps
	}
	if !(c.NormEps >= 0 && c.NormEps < 1) {
		return fmt.Errorf("%w: layer_norm_eps is %v, must be at least 0 and below 1", ErrConfig, c.NormEps)
	}
	if raw.PadID != nil {
		c.PadID = *raw.PadID
	}
	if c.PadID < 0 || c.PadID >= c.Vocab {
		return fmt.Errorf("%w: pad_token_id %d lies outside the vocabulary of %d", ErrConfig, c.PadID, c.Vocab)
	}
	return nil
}
