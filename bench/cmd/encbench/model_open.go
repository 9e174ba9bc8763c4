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
	"strings"

	"encbench/bench"
	"encbench/bench/assets"
	"encbench/corpus/tokenize"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
)

// pinnedModels are the names of --model that stand for an asset.
var pinnedModels = map[string]string{"minilm-l6": "all-minilm-l6-v2"}

const defaultModel = "minilm-l6"

// loadedModel is a model ready to be built for an engine: a Hugging Face directory,
// or a bare graph beside a tokenizer.
type loadedModel struct {
	dir       *model.Model // nil for a bare graph
	graph     string       // bare graph
	form      onnx.Form    // of the bare graph
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
	prompt  *string // document prompt in place of the model's own
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
		if err := m.openBare(graph, opt); err != nil {
			return nil, err
		}
	} else if err := m.openDir(dir, revision, opt); err != nil {
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
	if _, err := os.Stat(filepath.Join(path, "model.safetensors")); err == nil {
		return "", false, nil
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

func (m *loadedModel) openDir(dir, revision string, opt modelOptions) error {
	d, err := model.OpenWith(dir, model.Options{Pooling: model.Pooling(opt.pooling), Name: m.facts.Name, Revision: revision})
	if err != nil {
		return err
	}
	m.dir = d
	m.pooling, m.normalize = string(d.Pooling), d.Normalize
	m.prompt, _ = d.DocumentPrompt()
	f := &m.facts
	c := d.Config
	f.Architecture = c.Architecture
	f.Layers, f.Hidden, f.Heads, f.FFN, f.Vocab, f.MaxPositions = c.Layers, c.Hidden, c.Heads, c.FFN, c.Vocab, d.MaxPositions()
	f.Parameters, _ = d.Parameters()
	f.ConfigSHA256 = d.ConfigSHA256
	f.Stored, f.Computed = "float32", "float32"
	f.LinearFLOP, f.AttentionFLOP = d.LinearFLOPPerToken(), d.AttentionFLOPPerToken2()
	f.SHA256, err = d.SHA256()
	return err
}

func (m *loadedModel) openBare(graph string, opt modelOptions) error {
	info, err := onnx.Inspect(graph)
	if err != nil {
		return err
	}
	if m.form, err = info.Form(); err != nil {
		return fmt.Errorf("graph %s: %w", graph, err)
	}
	m.graph = graph
	m.pooling = opt.pooling
	if m.pooling == "" && !m.form.Pooled {
		return usagef("graph %s gives token states and says nothing of pooling: choose --pooling mean or cls", graph)
	}
	if m.form.Pooled {
		m.pooling = "in graph"
	}
	m.normalize = true
	f := &m.facts
	f.Source, f.Architecture, f.Hidden = "onnx", "onnx graph", m.form.Dim
	f.Stored, f.Computed = "as in the graph", "as in the graph"
	f.SHA256, err = fileSHA256(graph)
	return err
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
		return fmt.Errorf("model %s has no tokenizer.json; put the model's own beside its weights", m.facts.Name)
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
		return fmt.Errorf("tokenizer %s has %d ids, the model's vocabulary %d: they do not belong together", path, m.tok.VocabSize(), m.facts.Vocab)
	}
	if opt.prompt != nil {
		m.prompt = *opt.prompt
	}
	if m.prompt != "" {
		m.promptIDs = m.tok.AppendIDs(nil, []byte(m.prompt))
	}
	return nil
}

func (m *loadedModel) close() error {
	if m.dir == nil {
		return nil
	}
	return m.dir.Close()
}

// maxPositions is the longest row; a bare graph does not say.
func (m *loadedModel) maxPositions() int {
	if m.dir != nil {
		return m.dir.MaxPositions()
	}
	return 1 << 30
}

// build makes the engine's graph for rows of up to longest tokens.
func (m *loadedModel) build(masked bool, longest int) (ort.Graph, error) {
	g := ort.Graph{
		Vocab: m.facts.Vocab, MaxLen: longest, Pad: max(m.tok.Special().PAD, 0),
		Pooling: m.pooling,
	}
	if m.dir != nil {
		bytes, err := onnx.Build(m.dir, onnx.Options{Mask: masked})
		if err != nil {
			return g, err
		}
		g.Bytes, g.WeightsDir = bytes, onnx.Folder(m.dir)
		g.Inputs = []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}}
		if masked {
			g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputLengths, Role: ort.Lengths})
		}
		g.Output, g.Dim = onnx.Output, m.dir.Dim()
		g.FLOP = func(rows, length int) float64 { return onnx.FLOP(m.dir, rows, length) }
		return g, nil
	}
	g.Path, g.Output, g.Dim = m.graph, m.form.Output, m.form.Dim
	g.States, g.Normalize = !m.form.Pooled, m.normalize
	wide := m.form.Elem == onnx.Int64
	g.Inputs = []ort.Input{{Name: m.form.IDs, Role: ort.IDs, Int64: wide}}
	if m.form.Mask != "" {
		g.Inputs = append(g.Inputs, ort.Input{Name: m.form.Mask, Role: ort.Mask, Int64: wide})
	}
	if m.form.Types != "" {
		g.Inputs = append(g.Inputs, ort.Input{Name: m.form.Types, Role: ort.Types, Int64: wide})
	}
	return g, nil
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

// store opens the asset cache with progress on standard error.
func (a *app) store() (*assets.Store, error) {
	p := a.progress()
	return assets.Open("", assets.Options{Progress: func(s assets.Progress) {
		if s.Total > 0 {
			p.show(float64(s.Done)/float64(s.Total), func() string {
				return fmt.Sprintf("%s %s, %.0f of %.0f MB", s.Stage, s.Asset, float64(s.Done)/1e6, float64(s.Total)/1e6)
			})
		}
		if s.Done >= s.Total {
			p.clear()
		}
	}})
}

// asset gives an asset, downloading it when it is absent.
func (a *app) asset(ctx context.Context, name string) (assets.Asset, error) {
	s, err := a.store()
	if err != nil {
		return assets.Asset{}, err
	}
	got, err := s.Lookup(name)
	if errors.Is(err, assets.ErrAbsent) {
		fmt.Fprintf(a.stderr, "getting %s through pip (once; cached afterwards)\n", name)
		return s.Get(ctx, name)
	}
	return got, err
}

// runtime loads ONNX Runtime: the user's own library, or the pinned one.
func (a *app) runtime(ctx context.Context, own string) (*ort.Runtime, error) {
	path, _, err := assets.Override("onnxruntime", own)
	if err != nil {
		return nil, err
	}
	if path == "" {
		got, err := a.asset(ctx, "onnxruntime")
		if err != nil {
			return nil, err
		}
		path = got.Path
	}
	return ort.Load(path)
}
