package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Options are what a user may say about a model directory.
type Options struct {
	// Pooling is used where the directory has no modules.json; the vectors are
	// then L2-normalised. "" makes a missing modules.json an error, of a reranker
	// apart.
	Pooling Pooling
	// Name is the model's name in reports; "" is the directory's own name.
	Name string
	// Revision goes into reports, as ResolveHub gives it; "" for none.
	Revision string
	// Weights is the path of a safetensors file that is opened in place of the
	// directory's own weights, those of its Dense modules included: the same tensors
	// under the same names (Model.Tensors lists them), in other element types. ""
	// opens the directory's own.
	Weights string
	// Hashes remembers the sha256 of weights from one run to the next, for as long as
	// the files are left alone: HashDir of a folder that the program owns. nil reads
	// the weights whenever SHA256 or Fingerprint is asked for, once a Model.
	Hashes HashCache
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

	Kind      Kind
	Config    Config
	Pooling   Pooling
	Normalize bool // vectors are divided by their L2 norm
	Synthetic bool // random weights: good for speed only

	Embedding    Embedding
	RelativeBias RelativeBias // no Table.Weight = none
	Layers       []Layer
	FinalNorm    Norm        // after the last layer
	Head         []HeadLayer // after the pooling, before the normalisation: Dense modules or a classifier
	Weights      *Weights

	Prompts       map[string]string // by name; never nil
	DefaultPrompt string            // name of the prompt for every text, "" = none

	// Length limits that the directory states, special tokens included, 0 when
	// it does not: for reports, never enforced. The hard limit is MaxPositions.
	MaxSeqLength       int // sentence_bert_config.json, or its older names
	TokenizerMaxLength int // tokenizer_config.json

	LowerCase     bool   // sentence_bert_config.json: lower-case texts before tokenizing
	TokenizerPath string // tokenizer.json, "" when the directory has none, which is no error here
	ConfigSHA256  string // lower-case hex, of config.json

	// TruncateDim is how many values of a vector the directory says to keep, of a
	// model trained for it; 0 when it does not, or keeps all: for reports, never enforced.
	TruncateDim int

	synthetic     *Synthetic
	converted     bool // the weights are not the directory's own
	promptLeftOut bool // of the pooling: see CheckPrompt
}

// Open opens a model directory that says everything itself.
func Open(dir string) (*Model, error) { return OpenWith(dir, Options{}) }

// OpenWith opens a model directory in the layout of Hugging Face and
// sentence-transformers: config.json, model.safetensors or the files of
// model.safetensors.index.json, modules.json and the files those name. It reads
// descriptions and the weights' headers, not the weights. A modules.json with a
// Pooling makes an embedder; without it an architecture with a classifier makes a
// reranker, whose output is the classifier's one logit, without the activation that a
// cross-encoder may put after it. Errors name the file, what was expected and what
// was found.
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
	if opt.Pooling != "" && !slices.Contains(Poolings(), opt.Pooling) {
		return nil, fmt.Errorf("%w: pooling %q; supported are mean, cls, last, max", ErrUnsupported, string(opt.Pooling))
	}
	mods, err := readModules(dir)
	if err != nil {
		return nil, err
	}
	d, err := m.readConfig(filepath.Join(mods.transformer, "config.json"))
	if err != nil {
		return nil, err
	}
	if err := m.output(mods, d, opt.Pooling); err != nil {
		return nil, err
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
	if opt.Weights != "" {
		m.converted = true
		m.Weights, err = OpenWeights(opt.Weights)
	} else {
		m.Weights, err = openModelWeights(mods.transformer)
	}
	if err != nil {
		return nil, err
	}
	m.Weights.hashes = opt.Hashes
	if err := m.describe(d); err != nil {
		return nil, errors.Join(err, m.Weights.Close())
	}
	if err := m.describeDense(mods.dense); err != nil {
		return nil, errors.Join(err, m.Weights.Close())
	}
	if m.TruncateDim >= m.Dim() { // sentence-transformers keeps what there is
		m.TruncateDim = 0
	}
	return m, nil
}

func (m *Model) readConfig(path string) (described, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return described{}, fmt.Errorf("read %s: %w", path, plain(err))
	}
	sum := sha256.Sum256(data)
	m.ConfigSHA256 = hex.EncodeToString(sum[:])
	d, err := parseConfig(data)
	if err != nil {
		return described{}, fmt.Errorf("read %s: %w", path, err)
	}
	m.Config, m.synthetic, m.Synthetic = d.config, d.synthetic, d.synthetic != nil
	return d, nil
}

// Close closes the weights file.
func (m *Model) Close() error { return m.Weights.Close() }

// Dim is the number of values in an output: of a vector, or 1 logit.
func (m *Model) Dim() int {
	if n := len(m.Head); n > 0 {
		return m.Head[n-1].Linear.Out
	}
	return m.Config.Hidden
}

// Types is the number of token types that texts of a pair can have.
func (m *Model) Types() int { return max(1, m.Embedding.Type.Rows) }

// MaxPositions is the longest row in tokens, special tokens included.
func (m *Model) MaxPositions() int { return m.Config.Positions }

// SHA256 gives the lower-case hex sha256 of the weights file, read once.
func (m *Model) SHA256() (string, error) { return m.Weights.SHA256() }

// Fingerprint gives the lower-case hex sha256 over everything that decides the
// output for given token ids: weights, config.json, pooling, Dense modules,
// normalisation.
func (m *Model) Fingerprint() (string, error) {
	weights, err := m.SHA256()
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "weights %s\nconfig %s\npooling %s\nnormalize %t\n",
		weights, m.ConfigSHA256, m.Pooling, m.Normalize)
	if m.Kind == Embedder { // a classifier's parts follow from config.json
		for _, h := range m.Head {
			text = fmt.Appendf(text, "dense %q %d %d bias %t %q\n", h.Linear.Weight, h.Linear.In, h.Linear.Out, h.Linear.Bias != "", h.Act)
		}
	}
	sum := sha256.Sum256(text)
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

// CheckPrompt refuses a prompt, put before a text, of a model that leaves the prompt's
// tokens out of its pooling (include_prompt of sentence-transformers): here they are
// pooled with the others. Texts without a prompt are the same either way.
func (m *Model) CheckPrompt(text string) error {
	if !m.promptLeftOut || text == "" {
		return nil
	}
	return fmt.Errorf("%w: the pooling module of %s has include_prompt false: the tokens of the prompt %.60q cannot be left out of pooling %s; encode without a prompt",
		ErrUnsupported, m.Dir, text, m.Pooling)
}

// Tensors lists the tensors that the description names, in the order of computation,
// each once. The caller owns the slice, not the shapes in it.
func (m *Model) Tensors() []Tensor {
	var out []Tensor
	seen := map[string]bool{}
	for _, u := range m.uses() {
		t, ok := m.Weights.Tensor(u.name)
		if ok && !seen[u.name] {
			out = append(out, t)
		}
		seen[u.name] = true
	}
	return out
}

// SyntheticTokenizer says that the tokenizer of a synthetic directory is a stand-in:
// the same text makes other numbers of tokens than with the real one.
func (m *Model) SyntheticTokenizer() bool {
	return m.synthetic != nil && m.synthetic.Tokenizer == SyntheticStandIn
}

// SyntheticShape is what a synthetic directory says of itself; ok is false for other
// directories.
func (m *Model) SyntheticShape() (s Synthetic, ok bool) {
	if m.synthetic == nil {
		return Synthetic{}, false
	}
	return *m.synthetic, true
}
