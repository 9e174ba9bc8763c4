package peers

import (
	"errors"
	"fmt"
)

// Config is how a peer is set up for one arrangement.
type Config struct {
	Peer         string            `json:"peer"`           // ort-python, openvino, transformers, st-torch, st-onnx, st-openvino, hf-tokenizers
	Model        string            `json:"model"`          // Hugging Face directory
	Cache        string            `json:"cache"`          // folder for exported graphs; made when absent; unused by transformers, st-torch and hf-tokenizers
	Threads      int               `json:"threads"`        // in all, at least 1
	Workers      int               `json:"workers"`        // concurrent runs that share the threads (ort-python); 0 means 1
	MaxSeqLength int               `json:"max_seq_length"` // tokens a row, special tokens included; 0 means 512
	Batch        int               `json:"batch"`          // rows a run, at least 1; texts a call for hf-tokenizers
	Options      map[string]string `json:"options"`        // per peer, see README.md
}

// Validate lists everything that is wrong with c.
func (c Config) Validate() error {
	var faults []error
	if c.Peer == "" {
		faults = append(faults, errors.New("peer is not named"))
	}
	if c.Model == "" {
		faults = append(faults, errors.New("model directory is not named"))
	}
	if c.Threads < 1 {
		faults = append(faults, fmt.Errorf("threads is %d, want at least 1", c.Threads))
	}
	if c.Workers < 0 || c.Workers > c.Threads && c.Threads >= 1 {
		faults = append(faults, fmt.Errorf("workers is %d, want 0 to %d (threads)", c.Workers, c.Threads))
	}
	if c.MaxSeqLength < 0 {
		faults = append(faults, fmt.Errorf("max_seq_length is %d, want 0 or more", c.MaxSeqLength))
	}
	if c.Batch < 1 {
		faults = append(faults, fmt.Errorf("batch is %d, want at least 1", c.Batch))
	}
	return errors.Join(faults...)
}

// Hello is what a worker says of itself.
type Hello struct {
	Versions    map[string]string `json:"versions"` // python and the packages that are installed
	CPUs        int               `json:"cpus"`     // in the process's affinity mask
	CPUFeatures []string          `json:"cpu_features"`
	Machine     string            `json:"machine"`
	Env         map[string]string `json:"env"` // thread settings as the process sees them
}

// Loaded is the answer to Load.
type Loaded struct {
	LoadS    float64           `json:"load_s"` // about 0 when only the batch changed
	Versions map[string]string `json:"versions"`
	Graph    string            `json:"graph"` // the file that ort-python runs, "" of others
}

// Input is the answer to Input.
type Input struct {
	Rows         int   `json:"rows"`
	Checked      int   `json:"checked"`       // rows with both text and ids
	Mismatches   int   `json:"mismatches"`    // of those, rows whose ids the peer's own tokenizer does not give
	MismatchRows []int `json:"mismatch_rows"` // their numbers, from 0
}

// Check gives an error that is ErrIDs unless every row was tokenized by the peer
// to the ids that we gave it.
func (i Input) Check() error {
	switch {
	case i.Mismatches > 0:
		return fmt.Errorf("%w in %d of %d rows (numbered from 0: %v)", ErrIDs, i.Mismatches, i.Checked, i.MismatchRows[:min(10, len(i.MismatchRows))])
	case i.Checked != i.Rows:
		return fmt.Errorf("%w, or were not compared: %d of %d rows had text and ids", ErrIDs, i.Checked, i.Rows)
	}
	return nil
}

// Run is one timed pass over the input.
type Run struct {
	WallS float64 `json:"wall_s"`
	CPUS  float64 `json:"cpu_s"` // user and system time of the process in the pass
	Rows  int     `json:"rows"`
	Dim   int     `json:"dim"` // 0 for hf-tokenizers
	Out   string  `json:"out"` // the .npy file with the vectors, when one was asked for

	// Of hf-tokenizers only.
	Bytes  int64   `json:"bytes"`      // UTF-8 bytes of text
	Tokens int64   `json:"tokens"`     // without special tokens
	MBPerS float64 `json:"mb_per_s"`   // 10^6 bytes
	IDsSHA string  `json:"ids_sha256"` // over the texts in order, each as its number of ids and then the ids, all little-endian 32-bit integers
}
