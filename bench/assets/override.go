package assets

import (
	"fmt"
	"os"
	"path/filepath"
)

// own says how a user names files of their own in place of an asset.
type own struct{ flag, env, what string }

var overrides = map[string]own{
	"onnxruntime":      {"--ort-library", "ENCBENCH_ORT_LIBRARY", "your libonnxruntime.so"},
	"all-minilm-l6-v2": {"--model", "ENCBENCH_MODEL_DIR", "a Hugging Face model directory"},
	"techdocs":         {"--corpus", "", "your own collection"},
}

// ownFiles is advice for an error.
func ownFiles(name string) string {
	o, ok := overrides[name]
	switch {
	case !ok:
		return "provide your own files"
	case o.env == "":
		return fmt.Sprintf("name %s with %s", o.what, o.flag)
	}
	return fmt.Sprintf("name %s with %s or %s", o.what, o.flag, o.env)
}

// Override gives the user's own files for an asset, which take its place: the
// path given with the asset's flag, else that in its environment variable. from
// is the flag or the variable, "" when neither is set. The path exists and is of
// the right kind (onnxruntime: a file; all-minilm-l6-v2: a directory).
func Override(name, flag string) (path, from string, err error) {
	o := overrides[name]
	path, from = flag, o.flag
	if path == "" && o.env != "" {
		path, from = os.Getenv(o.env), o.env
	}
	if path == "" {
		return "", "", nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", from, fmt.Errorf("use %s from %s: %w", o.what, from, err)
	}
	if wantDir := name == "all-minilm-l6-v2"; st.IsDir() != wantDir {
		return "", from, fmt.Errorf("use %s from %s: %s: expected a %s, found a %s",
			o.what, from, path, kind(wantDir), kind(st.IsDir()))
	}
	// The library is loaded by its full path: two builds may share a name.
	path, err = filepath.Abs(path)
	return path, from, err
}

func kind(dir bool) string {
	if dir {
		return "directory"
	}
	return "file"
}
