package model

import (
	"fmt"
	"slices"
	"strings"
)

// Pooling names how a row's token states become one vector.
type Pooling string

// The poolings that are known.
const (
	PoolMean Pooling = "mean" // mean over the row's tokens, special ones included
	PoolCLS  Pooling = "cls"  // state of the first token
	PoolLast Pooling = "last" // state of the last token
	PoolMax  Pooling = "max"  // largest of each value over the row's tokens
)

// Poolings lists the poolings that are known. The caller owns the result.
func Poolings() []Pooling { return []Pooling{PoolMean, PoolCLS, PoolLast, PoolMax} }

// poolingModes are the flags and names of a pooling config that are known to
// sentence-transformers, with the mode each stands for.
var poolingModes = map[string]string{
	"pooling_mode_cls_token":                "cls",
	"pooling_mode_mean_tokens":              "mean",
	"pooling_mode_max_tokens":               "max",
	"pooling_mode_mean_sqrt_len_tokens":     "mean_sqrt_len_tokens",
	"pooling_mode_weightedmean_tokens":      "weightedmean",
	"pooling_mode_weighted_mean_tokens":     "weightedmean",
	"pooling_mode_lasttoken":                "lasttoken",
	"pooling_mode_last_token":               "lasttoken",
	"pooling_mode_mean_last_layer_tokens":   "mean_last_layer_tokens",
	"pooling_mode_concat_last_layer_tokens": "concat_last_layer_tokens",
}

// computed are the modes that are computed.
var computed = map[string]Pooling{"mean": PoolMean, "cls": PoolCLS, "lasttoken": PoolLast, "max": PoolMax}

// poolingConfig is the config of a pooling module.
type poolingConfig struct {
	mode   Pooling
	dim    int  // of a state, 0 = not said
	prompt bool // prompt tokens are pooled with the others
}

// readPooling reads the pooling module's config: exactly one mode, and that a
// known one. Flags whose name is not known are modes all the same.
func readPooling(path string) (poolingConfig, error) {
	var raw map[string]any
	none := poolingConfig{}
	found, err := readJSON(path, &raw)
	if err != nil {
		return none, err
	}
	if !found {
		return none, fmt.Errorf("%w: modules.json names a Pooling module, but %s does not exist; get the directory again", ErrPooling, path)
	}
	modes, err := readModes(raw)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", path, err)
	}
	var pooling Pooling
	if len(modes) == 1 {
		pooling = computed[modes[0]]
	}
	if pooling == "" {
		return none, fmt.Errorf("read %s: %w: pooling modes [%s]; supported is exactly one of mean, cls, lasttoken, max",
			path, ErrUnsupported, strings.Join(modes, ", "))
	}
	p := poolingConfig{mode: pooling, prompt: true}
	if include, ok := raw["include_prompt"].(bool); ok {
		p.prompt = include || pooling == PoolLast // whose token is no prompt's
	}
	for _, key := range []string{"word_embedding_dimension", "embedding_dimension"} {
		if d, ok := raw[key].(float64); ok {
			if p.dim = int(d); float64(p.dim) != d || p.dim < 1 || p.dim > maxSize {
				return none, fmt.Errorf("read %s: %w: %s: found number %v, expected a whole number from 1 to %d", path, ErrConfig, key, d, maxSize)
			}
		}
	}
	return p, nil
}

// readModes gives the modes that the config asks for, sorted, each once: those whose
// flag is on, and those of pooling_mode, a name or, since release 5 of
// sentence-transformers, a list of names.
func readModes(raw map[string]any) ([]string, error) {
	var modes []string
	for key, v := range raw {
		on, isBool := v.(bool)
		if strings.HasPrefix(key, "pooling_mode_") && isBool && on {
			mode, known := poolingModes[key]
			if !known {
				mode = key
			}
			modes = append(modes, mode)
		}
	}
	switch v := raw["pooling_mode"].(type) {
	case nil:
	case string:
		modes = append(modes, v)
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("%w: pooling_mode: expected a name or a list of names", ErrConfig)
			}
			modes = append(modes, s)
		}
	default:
		return nil, fmt.Errorf("%w: pooling_mode: expected a name or a list of names", ErrConfig)
	}
	slices.Sort(modes)
	return slices.Compact(modes), nil
}
