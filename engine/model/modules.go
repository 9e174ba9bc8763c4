package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// modules is what modules.json and the folders it names say.
type modules struct {
	path        string // of modules.json, "" when there is none
	transformer string // folder of config.json and weights
	pooled      bool   // the list has a Pooling: an embedder, whatever the architecture
	pooling     Pooling
	normalize   bool
	dim         int // that the pooling expects, 0 = not said
	dense       []denseModule
}

const modulesAllowed = "supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"

// readModules reads the sentence-transformers module list of dir: a Transformer, a
// Pooling, then perhaps Dense modules and a Normalize, in this order; or the
// Transformer alone, as newer releases write beside a classifier.
func readModules(dir string) (modules, error) {
	path := filepath.Join(dir, "modules.json")
	var list []moduleEntry
	found, err := readJSON(path, &list)
	if err != nil {
		return modules{}, err
	}
	if !found {
		return modules{transformer: dir}, nil
	}
	kinds, err := moduleKinds(list)
	if err != nil {
		return modules{}, fmt.Errorf("read %s: %w", path, err)
	}
	if len(list) == 0 {
		return modules{}, fmt.Errorf("read %s: %w: modules.json lists no modules; %s", path, ErrUnsupported, modulesAllowed)
	}
	m := modules{path: path, transformer: filepath.Join(dir, list[0].Path)}
	rest, ok := kinds, false
	next := func(kind string) bool {
		ok = len(rest) > 0 && rest[0] == kind
		if ok {
			rest = rest[1:]
		}
		return ok
	}
	at := func() moduleEntry { return list[len(kinds)-len(rest)-1] }
	unknown := func() (modules, error) {
		return modules{}, fmt.Errorf("read %s: %w: the modules are %s; %s", path, ErrUnsupported, strings.Join(kinds, ", "), modulesAllowed)
	}
	if !next("Transformer") {
		return unknown()
	}
	if len(rest) == 0 {
		return m, nil
	}
	if !next("Pooling") {
		return unknown()
	}
	m.pooled = true
	if m.pooling, m.dim, err = readPooling(filepath.Join(dir, at().Path, "config.json")); err != nil {
		return modules{}, err
	}
	for next("Dense") {
		if at().Path == "" {
			return modules{}, fmt.Errorf("read %s: %w: the module Dense has no path; its weights need a folder of their own", path, ErrConfig)
		}
		d, err := readDense(dir, at().Path)
		if err != nil {
			return modules{}, err
		}
		m.dense = append(m.dense, d)
	}
	m.normalize = next("Normalize")
	if len(rest) > 0 {
		return unknown()
	}
	return m, nil
}

// moduleEntry is a module as modules.json has it.
type moduleEntry struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// moduleKinds gives the class of every module, without its package.
func moduleKinds(list []moduleEntry) ([]string, error) {
	kinds := make([]string, len(list))
	for i, m := range list {
		kinds[i] = m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		if kinds[i] == "" {
			return nil, fmt.Errorf("%w: module %d has no type", ErrConfig, i)
		}
		if m.Path != "" && !filepath.IsLocal(m.Path) {
			return nil, fmt.Errorf("%w: module path %q leaves the directory", ErrConfig, m.Path)
		}
	}
	return kinds, nil
}

// output decides what the model gives, by the modules, the architecture and what the
// user says of the pooling.
func (m *Model) output(mods modules, d described, said Pooling) error {
	switch {
	case mods.pooled:
		if said != "" && said != mods.pooling {
			return fmt.Errorf("%w: --pooling %s contradicts %s, which says %s; leave the flag out", ErrConfig, said, mods.path, mods.pooling)
		}
		m.Kind, m.Pooling, m.Normalize = Embedder, mods.pooling, mods.normalize
	case d.reranker:
		if said != "" {
			return fmt.Errorf("%w: --pooling %s, but %s is a reranker, whose classifier says how it pools; leave the flag out",
				ErrConfig, said, d.config.Architecture)
		}
		if d.labels != 1 {
			return fmt.Errorf("read %s: %w: %s has %d labels (id2label, num_labels); a reranker has one: its logit is the score of a pair",
				filepath.Join(mods.transformer, "config.json"), ErrUnsupported, d.config.Architecture, d.labels)
		}
		m.Kind = Reranker // describe sets the pooling
	case mods.path != "":
		return fmt.Errorf("read %s: %w: the modules are Transformer; %s", mods.path, ErrUnsupported, modulesAllowed)
	case said == "":
		return fmt.Errorf("%w: %s has no modules.json; say how with --pooling mean, cls, last or max (the model's card tells which)", ErrPooling, m.Dir)
	default:
		m.Kind, m.Pooling, m.Normalize = Embedder, said, true
	}
	if mods.dim != 0 && mods.dim != m.Config.Hidden {
		return fmt.Errorf("%s: %w: the pooling expects %d values a token, config.json has hidden_size %d",
			m.Dir, ErrConfig, mods.dim, m.Config.Hidden)
	}
	return nil
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
	return m.readPrompts(filepath.Join(m.Dir, "config_sentence_transformers.json"))
}

// readPrompts reads prompts and the number of values that the authors want kept.
func (m *Model) readPrompts(path string) error {
	var st struct {
		Prompts     map[string]*string `json:"prompts"`
		Default     *string            `json:"default_prompt_name"`
		TruncateDim *int               `json:"truncate_dim"`
	}
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
	if st.TruncateDim != nil {
		m.TruncateDim = *st.TruncateDim
		if m.TruncateDim < 1 || m.TruncateDim > maxSize {
			return fmt.Errorf("read %s: %w: truncate_dim is %d, must be 1 to %d", path, ErrConfig, m.TruncateDim, maxSize)
		}
	}
	return nil
}

// exists says whether a file is there; what else is wrong with it shows when it is
// opened.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
