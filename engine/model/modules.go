package model

import (
	"encoding/json"
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
	poolingConfig
	dense     []denseModule
	normalize bool
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
	if m.poolingConfig, err = readPooling(filepath.Join(dir, at().Path, "config.json")); err != nil {
		return modules{}, err
	}
	for next("Dense") {
		if filepath.Clean(at().Path) == "." {
			return modules{}, fmt.Errorf("read %s: %w: the module Dense has no path; its weights need a folder of their own", path, ErrConfig)
		}
		d, err := readDense(dir, at().Path)
		if err != nil {
			return modules{}, err
		}
		m.dense = append(m.dense, d)
	}
	if m.normalize = next("Normalize"); m.normalize {
		if err := checkNormalize(filepath.Join(dir, at().Path, "config.json")); err != nil {
			return modules{}, err
		}
	}
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

// checkNormalize reads the config of a Normalize, which older releases do not write.
func checkNormalize(path string) error {
	var raw struct {
		Input  *string `json:"module_input_name"`
		Output *string `json:"module_output_name"`
	}
	if _, err := readJSON(path, &raw); err != nil {
		return err
	}
	if err := onVectors(raw.Input, raw.Output); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// onVectors refuses a module that reads or writes something else than a text's vector.
func onVectors(names ...*string) error {
	for _, name := range names {
		if name != nil && *name != "sentence_embedding" {
			return fmt.Errorf("%w: the module works on %.60q; supported is sentence_embedding", ErrUnsupported, *name)
		}
	}
	return nil
}

// modulePackage begins the names of the classes that are understood: a model's own
// class of the same name may compute anything.
const modulePackage = "sentence_transformers."

// moduleKinds gives the class of every module, without its package.
func moduleKinds(list []moduleEntry) ([]string, error) {
	kinds := make([]string, len(list))
	for i, m := range list {
		kinds[i] = m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		if kinds[i] == "" {
			return nil, fmt.Errorf("%w: module %d has no type", ErrConfig, i)
		}
		if !strings.HasPrefix(m.Type, modulePackage) {
			return nil, fmt.Errorf("%w: module %d is %.100q, code of the model's own; supported are modules of %s*", ErrUnsupported, i, m.Type, modulePackage)
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
		if said != "" && said != mods.mode {
			return fmt.Errorf("%w: --pooling %s contradicts %s, which says %s; leave the flag out", ErrConfig, said, mods.path, mods.mode)
		}
		m.Kind, m.Pooling, m.Normalize, m.promptLeftOut = Embedder, mods.mode, mods.normalize, !mods.prompt
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

// transformerConfigs are the names that the config of a Transformer has had; the first
// that is there counts, as in sentence-transformers.
var transformerConfigs = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// transformerOutput says what a Transformer gives to the pooling, since release 5 of
// sentence-transformers.
type transformerOutput struct {
	Task       *string `json:"transformer_task"`
	Modalities struct {
		Text struct {
			Output json.RawMessage `json:"method_output_name"`
		} `json:"text"`
	} `json:"modality_config"`
}

// check refuses what are not the states after the last layer.
func (o transformerOutput) check() error {
	if o.Task != nil && *o.Task != "feature-extraction" {
		return fmt.Errorf("%w: transformer_task %.60q before a Pooling; supported is feature-extraction", ErrUnsupported, *o.Task)
	}
	if out := o.Modalities.Text.Output; out != nil && string(out) != `"last_hidden_state"` {
		return fmt.Errorf("%w: modality_config.text.method_output_name is %.60s; supported is last_hidden_state", ErrUnsupported, out)
	}
	return nil
}

// readExtras reads the description files that limit or accompany a text:
// length limits and prompts. All are optional.
func (m *Model) readExtras(transformer string) error {
	var bert struct {
		MaxSeqLength *int `json:"max_seq_length"`
		LowerCase    bool `json:"do_lower_case"`
		transformerOutput
	}
	for _, name := range transformerConfigs {
		found, err := readJSON(filepath.Join(transformer, name), &bert)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if m.Kind == Embedder {
			if err := bert.check(); err != nil {
				return fmt.Errorf("read %s: %w", filepath.Join(transformer, name), err)
			}
		}
		break
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
