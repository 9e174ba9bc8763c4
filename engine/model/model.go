package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Options are what a user may say about a model directory.
type Options struct {
	// Pooling is used where the directory has no modules.json; the vectors are
	// then L2-normalised. "" makes a missing modules.json an error.
	Pooling Pooling
	// Name is the model's name in reports; "" is the directory's own name.
	Name string
	// Revision goes into reports, as ResolveHub gives it; "" for none.
	Revision string
}

// Where a model came from.
const (
	SourceDirectory = "directory" // the user's or a cached asset's
	SourceHub       = "hub"       // a revision in the Hugging Face cache
)

// Model is an opened and checked model directory. It holds the weights file
// open: Close it. All fields are read-only after Open.
type Model struct {
	Dir      string // as given
	Name     string
	Revision string // commit in the hub, "" = none known
	Source   string // SourceHub when a revision was given, else SourceDirectory

	Config    Config
	Pooling   Pooling
	Normalize bool // vectors are divided by their L2 norm
	Embedding Embedding
	Layers    []Layer
	Weights   *Weights

	Prompts       map[string]string // by name; never nil
	DefaultPrompt string            // name of the prompt for every text, "" = none

	// Length limits that the directory states, special tokens included, 0 when
	// it does not: for reports, never enforced. The hard limit is MaxPositions.
	MaxSeqLength       int // sentence_bert_config.json
	TokenizerMaxLength int // tokenizer_config.json

	LowerCase     bool   // sentence_bert_config.json: lower-case texts before tokenizing
	TokenizerPath string // tokenizer.json, "" when the directory has none, which is no error here
	ConfigSHA256  string // lower-case hex, of config.json
}

// Open opens a model directory that says everything itself.
func Open(dir string) (*Model, error) { return OpenWith(dir, Options{}) }

// OpenWith opens a model directory in the layout of Hugging Face and
// sentence-transformers: config.json, model.safetensors, modules.json and the
// files those name. It reads descriptions and the weights' header, not the
// weights. Errors name the file, what was expected and what was found.
func OpenWith(dir string, opt Options) (*Model, error) {
	m, err := openModel(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	return m, nil
}

func openModel(dir string, opt Options) (m *Model, err error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, plain(err))
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%s: %w: not a directory", dir, ErrConfig)
	}
	m = &Model{Dir: dir, Name: opt.Name, Revision: opt.Revision, Source: SourceDirectory}
	if m.Name == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		m.Name = filepath.Base(abs)
	}
	if m.Revision != "" {
		m.Source = SourceHub
	}
	mods, err := readModules(dir, opt)
	if err != nil {
		return nil, err
	}
	m.Pooling, m.Normalize = mods.pooling, mods.normalize
	if err := m.readConfig(filepath.Join(mods.transformer, "config.json")); err != nil {
		return nil, err
	}
	if mods.dim != 0 && mods.dim != m.Config.Hidden {
		return nil, fmt.Errorf("%s: %w: the pooling expects %d values a token, config.json has hidden_size %d",
			dir, ErrConfig, mods.dim, m.Config.Hidden)
	}
	if err := m.readExtras(mods.transformer); err != nil {
		return nil, err
	}
	tokenizer := filepath.Join(mods.transformer, "tokenizer.json")
	if _, err := os.Stat(tokenizer); err == nil {
		m.TokenizerPath = tokenizer
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", tokenizer, plain(err))
	}
	if m.Weights, err = openModelWeights(mods.transformer); err != nil {
		return nil, err
	}
	if err := m.describeBERT(); err != nil {
		return nil, errors.Join(err, m.Weights.Close())
	}
	return m, nil
}

func (m *Model) readConfig(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	sum := sha256.Sum256(data)
	m.ConfigSHA256 = hex.EncodeToString(sum[:])
	if m.Config, err = parseConfig(data); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// openModelWeights opens model.safetensors, and says what else it saw when
// there is none.
func openModelWeights(dir string) (*Weights, error) {
	path := filepath.Join(dir, "model.safetensors")
	_, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return OpenWeights(path)
	}
	for _, other := range []struct{ file, why string }{
		{"model.safetensors.index.json", "weights in several files are not supported"},
		{"pytorch_model.bin", "weights in PyTorch's own format are not read; convert them to model.safetensors"},
	} {
		if _, err := os.Stat(filepath.Join(dir, other.file)); err == nil {
			return nil, fmt.Errorf("%s: %w: no model.safetensors but %s: %s", dir, ErrUnsupported, other.file, other.why)
		}
	}
	return OpenWeights(path)
}

// Close closes the weights file.
func (m *Model) Close() error { return m.Weights.Close() }

// Dim is the number of values in a vector.
func (m *Model) Dim() int { return m.Config.Hidden }

// MaxPositions is the longest row in tokens, special tokens included.
func (m *Model) MaxPositions() int { return m.Config.Positions }

// SHA256 gives the lower-case hex sha256 of the weights file, read once.
func (m *Model) SHA256() (string, error) { return m.Weights.SHA256() }

// Fingerprint gives the lower-case hex sha256 over everything that decides the
// vectors of given token ids: weights, config.json, pooling, normalisation.
func (m *Model) Fingerprint() (string, error) {
	weights, err := m.SHA256()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "weights %s\nconfig %s\npooling %s\nnormalize %t\n",
		weights, m.ConfigSHA256, m.Pooling, m.Normalize))
	return hex.EncodeToString(sum[:]), nil
}

// DocumentPrompt gives the text to put before every document, and its name: the
// first of the prompts document, passage and corpus that the directory has
// (the order of sentence-transformers), else its default prompt, else "".
func (m *Model) DocumentPrompt() (text, name string) {
	for _, name := range []string{"document", "passage", "corpus"} {
		if text, ok := m.Prompts[name]; ok {
			return text, name
		}
	}
	return m.Prompts[m.DefaultPrompt], m.DefaultPrompt
}
