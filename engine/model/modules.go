package model

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Pooling names how a row's token states become one vector.
type Pooling string

// The poolings that are known.
const (
	PoolMean Pooling = "mean" // mean over the row's tokens, special ones included
	PoolCLS  Pooling = "cls"  // state of the first token
)

// modules is what modules.json and the folders it names say.
type modules struct {
	transformer string // folder of config.json and weights
	pooling     Pooling
	normalize   bool
	dim         int // that the pooling expects, 0 = not said
}

const poolingAdvice = "say how with --pooling mean or --pooling cls (the model's card tells which)"

// readModules reads the sentence-transformers module list of dir: a
// Transformer, a Pooling, and perhaps a Normalize, in this order. Without the
// list the pooling must be opt's.
func readModules(dir string, opt Options) (modules, error) {
	if opt.Pooling != "" && opt.Pooling != PoolMean && opt.Pooling != PoolCLS {
		return modules{}, fmt.Errorf("%w: pooling %q; supported are mean, cls", ErrUnsupported, string(opt.Pooling))
	}
	path := filepath.Join(dir, "modules.json")
	var list []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	found, err := readJSON(path, &list)
	if err != nil {
		return modules{}, err
	}
	if !found {
		// A directory that holds no model at all has more missing than the pooling.
		config := filepath.Join(dir, "config.json")
		if _, err := os.Stat(config); err != nil {
			return modules{}, fmt.Errorf("read %s: %w", config, plain(err))
		}
		if opt.Pooling == "" {
			return modules{}, fmt.Errorf("%w: %s has no modules.json; %s", ErrPooling, dir, poolingAdvice)
		}
		return modules{transformer: dir, pooling: opt.Pooling, normalize: true}, nil
	}
	kinds := make([]string, len(list))
	for i, m := range list {
		kinds[i] = m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		if kinds[i] == "" {
			return modules{}, fmt.Errorf("read %s: %w: module %d has no type", path, ErrConfig, i)
		}
		if m.Path != "" && !filepath.IsLocal(m.Path) {
			return modules{}, fmt.Errorf("read %s: %w: module path %q leaves the directory", path, ErrConfig, m.Path)
		}
	}
	want := []string{"Transformer", "Pooling", "Normalize"}
	if len(list) == 0 {
		return modules{}, fmt.Errorf("read %s: %w: modules.json lists no modules; supported are %s, the last one optional",
			path, ErrUnsupported, strings.Join(want, ", "))
	}
	if !slices.Equal(kinds, want) && !slices.Equal(kinds, want[:2]) {
		return modules{}, fmt.Errorf("read %s: %w: the modules are %s; supported are %s, the last one optional",
			path, ErrUnsupported, strings.Join(kinds, ", "), strings.Join(want, ", "))
	}
	m := modules{transformer: filepath.Join(dir, list[0].Path), normalize: len(list) == 3}
	m.pooling, m.dim, err = readPooling(filepath.Join(dir, list[1].Path, "config.json"))
	if err != nil {
		return modules{}, err
	}
	if opt.Pooling != "" && opt.Pooling != m.pooling {
		return modules{}, fmt.Errorf("%w: --pooling %s contradicts %s, which says %s; leave the flag out",
			ErrConfig, opt.Pooling, path, m.pooling)
	}
	return m, nil
}

// poolingModes are the flags of a pooling config, with the mode each stands for.
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

// readPooling reads the pooling module's config: exactly one mode, and that a
// known one. Flags whose name is not known are modes all the same.
func readPooling(path string) (Pooling, int, error) {
	var raw map[string]any
	found, err := readJSON(path, &raw)
	if err != nil {
		return "", 0, err
	}
	if !found {
		return "", 0, fmt.Errorf("%w: modules.json names a Pooling module, but %s does not exist; get the directory again", ErrPooling, path)
	}
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
	if s, ok := raw["pooling_mode"].(string); ok && !slices.Contains(modes, s) {
		modes = append(modes, s)
	}
	slices.Sort(modes)
	if len(modes) != 1 || (modes[0] != string(PoolMean) && modes[0] != string(PoolCLS)) {
		return "", 0, fmt.Errorf("read %s: %w: pooling modes [%s]; supported is exactly one of mean, cls",
			path, ErrUnsupported, strings.Join(modes, ", "))
	}
	if include, ok := raw["include_prompt"].(bool); ok && !include {
		return "", 0, fmt.Errorf("read %s: %w: include_prompt is false: prompt tokens cannot be left out of the pooling", path, ErrUnsupported)
	}
	dim := 0
	for _, key := range []string{"word_embedding_dimension", "embedding_dimension"} {
		if d, ok := raw[key].(float64); ok {
			if dim = int(d); float64(dim) != d || dim < 1 || dim > maxSize {
				return "", 0, fmt.Errorf("read %s: %w: %s: found number %v, expected a whole number from 1 to %d", path, ErrConfig, key, d, maxSize)
			}
		}
	}
	return Pooling(modes[0]), dim, nil
}

// readExtras reads the description files that limit or accompany a text:
// length limits and prompts. All are optional.
func (m *Model) readExtras(transformer string) error {
	var bert struct {
		MaxSeqLength *int `json:"max_seq_length"`
		LowerCase    bool `json:"do_lower_case"`
	}
	if _, err := readJSON(filepath.Join(transformer, "sentence_bert_config.json"), &bert); err != nil {
		return err
	}
	if bert.MaxSeqLength != nil {
		m.MaxSeqLength = *bert.MaxSeqLength
	}
	m.LowerCase = bert.LowerCase

	var tok struct {
		// A float, because "no limit" is written as an integer of 31 digits.
		MaxLength *float64 `json:"model_max_length"`
	}
	if _, err := readJSON(filepath.Join(transformer, "tokenizer_config.json"), &tok); err != nil {
		return err
	}
	if tok.MaxLength != nil && *tok.MaxLength > 0 && *tok.MaxLength <= maxSize {
		m.TokenizerMaxLength = int(*tok.MaxLength)
	}

	var st struct {
		Prompts map[string]*string `json:"prompts"`
		Default *string            `json:"default_prompt_name"`
	}
	path := filepath.Join(m.Dir, "config_sentence_transformers.json")
	if _, err := readJSON(path, &st); err != nil {
		return err
	}
	m.Prompts = map[string]string{}
	for name, text := range st.Prompts {
		if text != nil {
			m.Prompts[name] = *text
		}
	}
	if st.Default != nil {
		m.DefaultPrompt = *st.Default
		if _, ok := m.Prompts[m.DefaultPrompt]; !ok {
			return fmt.Errorf("read %s: %w: default_prompt_name %q is not among the prompts", path, ErrConfig, m.DefaultPrompt)
		}
	}
	return nil
}
