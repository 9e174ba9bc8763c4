package peers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Files of Maven packages that are compared with; trec_eval.sh and int8_graph.sh
// obtain them and README.md says from where.
const (
	trecEvalSHA256  = "a282ee9c22966f306c4bcbbfda9142ff22f371012a2994782194e6afdadbe6e4"
	int8GraphSHA256 = "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"
)

// Int8Graph makes sure that the file at path is the graph of all-MiniLM-L6-v2 as
// langchain4j ships it in int8. The error is ErrMissing where nothing is.
func Int8Graph(path string) error { return pinned("int8 graph", path, int8GraphSHA256) }

// pinned makes sure of a file's sha256.
func pinned(what, path, sum string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no file %s; %w", what, path, ErrMissing)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if found := hex.EncodeToString(h.Sum(nil)); found != sum {
		return fmt.Errorf("%s: %s has sha256 %s, expected %s of the pinned package; remove it and run `make peers`", what, path, found, sum)
	}
	return nil
}
