package model

// Family is a family of encoders that Open understands.
type Family struct {
	Name      string
	ModelType string   // model_type in config.json
	Embedders []string // architectures whose states are pooled
	Rerankers []string // architectures with a classifier of one label
	// Checked lists what was compared: the outputs of the checkpoints in testdata, and
	// of larger ones, with those of transformers 5.24 in float32, to 1e-5, each row
	// alone and in a batch with longer ones.
	Checked string
}

// Families lists the families in the order in which commands print them. The caller
// owns the result.
func Families() []Family {
	out := make([]Family, len(families))
	for i, f := range families {
		out[i] = f.Family
	}
	return out
}

// family is a Family with the code that reads its checkpoints.
type family struct {
	Family
	prefixes  []string // of tensor names: none when the file was saved from the encoder alone
	words     string   // tensor by which the prefix is found
	layers    string   // beginning of the names of a layer's tensors; its number and a dot follow
	layersKey string   // of config.json
	scopes    []string // beginnings of the names of the encoder's tensors
	positions string   // position_embedding_type that config.json may name; "" where the family's code ignores it
	read      func(data []byte, c *Config) (layout, error)
}

var families = []family{bertFamily, robertaFamily, xlmRobertaFamily, modernbertFamily, distilbertFamily, mpnetFamily, nomicFamily, gteFamily, qwen3Family}
