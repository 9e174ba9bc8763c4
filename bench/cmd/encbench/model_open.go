package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/bench/assets"
	"encbench/corpus/tokenize"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/quant"
)

// pinnedModels are the names of --model that stand for an asset.
var pinnedModels = map[string]string{"minilm-l6": "all-minilm-l6-v2"}

const defaultModel = "minilm-l6"

// loadedModel is a model ready to be built for an engine: a Hugging Face directory,
// or a bare graph beside a tokenizer.
type loadedModel struct {
	dir       *model.Model // as it is computed; nil for a bare graph
	original  *model.Model // as the directory has it, where dir is on converted weights; else nil
	dtype     quant.DType  // that dir's weights were converted to; "" = as they are stored
	opened    []*model.Model
	said      model.Pooling // by --pooling
	graph     string        // bare graph
	form      onnx.Form     // of the bare graph
	tok       tokenize.Tokenizer
	tokInfo   tokenize.Info
	prompt    string
	promptIDs []int32
	pooling   string
	normalize bool
	facts     bench.Model
}

// modelOptions are the flags that name a model.
type modelOptions struct {
	name    string
	pooling string
	prompt  *string    // document prompt in place of the model's own
	kind    model.Kind // what the command needs; "" = an embedder
	dtype   string     // --dtype: what the weights are converted to; "" or auto = as they are stored
}

// openModel finds and opens what --model names; assets are obtained on the way.
func (a *app) openModel(ctx context.Context, opt modelOptions) (*loadedModel, error) {
	dir, revision, source, err := a.findModel(ctx, opt.name)
	if err != nil {
		return nil, err
	}
	m := &loadedModel{}
	m.facts.Name, m.facts.Revision, m.facts.Source = opt.name, revision, source
	if m.facts.Name == "" {
		m.facts.Name = defaultModel
		if source != "asset" {
			m.facts.Name = filepath.Base(dir)
		}
	}
	if graph, ok, err := bareGraph(dir); err != nil {
		return nil, err
	} else if ok {
		if err := m.openBare(ctx, a, graph, opt); err != nil {
			return nil, err
		}
	} else if err := m.openDir(ctx, a, dir, revision, opt); err != nil {
		return nil, err
	}
	if err := m.openTokenizer(opt); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// findModel resolves a name to a directory or a graph file.
func (a *app) findModel(ctx context.Context, name string) (dir, revision, source string, err error) {
	if name == "" {
		own, _, err := assets.Override(pinnedModels[defaultModel], "")
		if err != nil || own != "" {
			return own, "", "directory", err
		}
		name = defaultModel
	}
	if asset, ok := pinnedModels[name]; ok {
		got, err := a.asset(ctx, asset)
		if err != nil {
			return "", "", "", err
		}
		return got.Path, got.Package + " " + got.Version, "asset", nil
	}
	if _, err := os.Stat(name); err == nil {
		return name, "", "directory", nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", "", "", fmt.Errorf("open model: %w", err)
	}
	if model.IsHubRef(name) {
		dir, revision, err := model.ResolveHub(name)
		return dir, revision, "hub-cache", err
	}
	return "", "", "", usagef("unknown model %q: give a directory, an .onnx file, org/name of your Hugging Face cache, or one of: %s", name, strings.Join(modelNames(), ", "))
}

// bareGraph says whether path is, or holds nothing but, a ready .onnx graph.
func bareGraph(path string) (string, bool, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", false, fmt.Errorf("open model: %w", err)
	}
	if !st.IsDir() {
		if filepath.Ext(path) != ".onnx" {
			return "", false, usagef("model %s is a file, but no .onnx file; name the model's directory", path)
		}
		return path, true, nil
	}
	for _, name := range []string{"model.safetensors", "model.safetensors.index.json", "0_Transformer/model.safetensors"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return "", false, nil
		}
	}
	var found []string
	for _, pattern := range []string{"*.onnx", "onnx/*.onnx"} {
		names, _ := filepath.Glob(filepath.Join(path, pattern))
		found = append(found, names...)
	}
	switch {
	case len(found) == 1:
		return found[0], true, nil
	case len(found) > 1:
		return "", false, usagef("model directory %s holds no model.safetensors and %d graphs; name one of them: %s", path, len(found), strings.Join(found, ", "))
	}
	return "", false, nil
}

func (m *loadedModel) openDir(ctx context.Context, a *app, dir, revision string, opt modelOptions) error {
	d, err := model.OpenWith(dir, model.Options{Pooling: model.Pooling(opt.pooling), Name: m.facts.Name, Revision: revision, Hashes: hashes()})
	if err != nil {
		return err
	}
	m.dir, m.opened, m.said = d, []*model.Model{d}, model.Pooling(opt.pooling)
	if err := m.checkKind(opt.kind); err != nil {
		return errors.Join(err, m.close())
	}
	m.pooling, m.normalize = string(d.Pooling), d.Normalize
	m.prompt, _ = d.DocumentPrompt()
	f := &m.facts
	c := d.Config
	f.Architecture = c.Architecture
	f.Layers, f.Hidden, f.Heads, f.FFN, f.Vocab, f.MaxPositions = c.Layers, c.Hidden, c.Heads, c.FFN, c.Vocab, d.MaxPositions()
	f.Parameters, _ = d.Parameters()
	f.ConfigSHA256 = d.ConfigSHA256
	f.Synthetic, f.StandInTokenizer = d.Synthetic, d.SyntheticTokenizer()
	m.work()
	if f.SHA256, err = d.SHA256(); err == nil {
		m.describeTypes()
		err = m.convert(ctx, a, opt.dtype)
	}
	if err != nil {
		return errors.Join(err, m.close())
	}
	return nil
}

// hashes remembers the sha256 of weights in the cache's folder of derived files.
func hashes() model.HashCache {
	dir, err := assets.DefaultDir()
	if err != nil {
		return nil // computed every time
	}
	return model.HashDir(filepath.Join(dir, "derived", "hashes"))
}

// checkKind refuses a reranker where an embedder is needed, and the reverse.
func (m *loadedModel) checkKind(want model.Kind) error {
	what, reranker := "onnx graph", m.form.Logits
	if m.dir != nil {
		what, reranker = m.dir.Config.Architecture, m.dir.Kind == model.Reranker
	}
	switch {
	case want == anyKind:
		return nil
	case reranker && want != model.Reranker:
		return usagef("model %s is a reranker (%s): it scores pairs and gives no vectors; use encbench rerank", m.facts.Name, what)
	case !reranker && want == model.Reranker:
		return usagef("model %s is no reranker (%s): it gives vectors and scores no pairs; name a cross-encoder", m.facts.Name, what)
	}
	return nil
}

func (m *loadedModel) openBare(ctx context.Context, a *app, graph string, opt modelOptions) error {
	info, err := onnx.Inspect(graph)
	if err != nil {
		return err
	}
	if m.form, err = info.Form(); err != nil {
		return fmt.Errorf("graph %s: %w", graph, err)
	}
	if err := m.checkKind(opt.kind); err != nil {
		return err
	}
	m.graph = graph
	m.pooling = opt.pooling
	if m.pooling == "" && !m.form.Pooled {
		return usagef("graph %s gives token states and says nothing of pooling: choose --pooling mean or cls", graph)
	}
	if m.form.Pooled {
		m.pooling = "in graph"
	}
	m.normalize = !m.form.Logits
	f := &m.facts
	f.Source, f.Architecture, f.Hidden = "onnx", "onnx graph", m.form.Dim
	f.Stored, f.Computed = "as in the graph", "as in the graph"
	if f.SHA256, err = fileSHA256(graph); err != nil {
		return err
	}
	return m.convert(ctx, a, opt.dtype)
}

// openTokenizer loads tokenizer.json beside the model and tokenizes the prompt.
func (m *loadedModel) openTokenizer(opt modelOptions) error {
	path := ""
	if m.dir != nil {
		path = m.dir.TokenizerPath
	} else {
		path = filepath.Join(filepath.Dir(m.graph), "tokenizer.json")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			path = filepath.Join(filepath.Dir(filepath.Dir(m.graph)), "tokenizer.json")
		}
	}
	if path == "" {
		return m.noTokenizer()
	}
	var err error
	if m.tok, m.tokInfo, err = tokenize.LoadFile(path); err != nil {
		return err
	}
	m.facts.Tokenizer = m.tokInfo.Kind
	if m.facts.TokenizerSHA256, err = fileSHA256(path); err != nil {
		return err
	}
	if m.facts.Vocab == 0 {
		m.facts.Vocab = m.tok.VocabSize()
	}
	if m.tok.VocabSize() > m.facts.Vocab {
		return fmt.Errorf("tokenizer %s has ids up to %d, the model's embedding ends at %d: it is another model's, or tokens were added to it and the model was not resized",
			path, m.tok.VocabSize()-1, m.facts.Vocab-1)
	}
	if m.dir != nil && m.dir.LowerCase && !m.lowers() {
		return fmt.Errorf("model %s: sentence_bert_config.json has do_lower_case true, its tokenizer.json does not lower-case: unsupported; use a tokenizer.json whose normalizer does", m.facts.Name)
	}
	if opt.prompt != nil {
		m.prompt = *opt.prompt
	}
	if m.prompt != "" {
		m.promptIDs = m.tok.AppendIDs(nil, []byte(m.prompt))
	}
	return nil
}

// lowers says whether the tokenizer makes no difference between upper and lower case.
func (m *loadedModel) lowers() bool {
	upper, lower := m.tok.AppendIDs(nil, []byte("THE QUICK ÄА FOX")), m.tok.AppendIDs(nil, []byte("the quick äа fox"))
	return slices.Equal(upper, lower)
}

// checkPrompt refuses a prompt that the model's pooling would have to leave out.
func (m *loadedModel) checkPrompt(text string) error {
	if m.dir == nil {
		return nil
	}
	return m.dir.CheckPrompt(text)
}

// noTokenizer says that the directory has no tokenizer.json, and what it has instead.
func (m *loadedModel) noTokenizer() error {
	for _, other := range []string{"vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"} {
		if _, err := os.Stat(filepath.Join(m.dir.Dir, other)); err == nil {
			return fmt.Errorf("model %s has no tokenizer.json, only %s; write it with transformers: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)", m.facts.Name, other)
		}
	}
	return fmt.Errorf("model %s has no tokenizer.json; put the model's own beside its weights", m.facts.Name)
}

// close closes what openModel opened.
func (m *loadedModel) close() error {
	var errs []error
	for _, d := range m.opened {
		errs = append(errs, d.Close())
	}
	m.opened = nil
	return errors.Join(errs...)
}

// dim is the number of values of a vector; a bare graph may not say, which is 0.
func (m *loadedModel) dim() int {
	if m.dir != nil {
		return m.dir.Dim()
	}
	return m.form.Dim
}

// maxPositions is the longest row; a bare graph does not say.
func (m *loadedModel) maxPositions() int {
	if m.dir != nil {
		return m.dir.MaxPositions()
	}
	return 1 << 30
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
