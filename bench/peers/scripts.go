package peers

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed worker.py parent.py rows.py graphs.py runners.py scoring.py searching.py tokenizing.py
var scripts embed.FS

// writeScripts puts the worker's scripts into a fresh folder and gives the
// folder and the path of its entry script.
func writeScripts() (dir, entry string, err error) {
	dir, err = os.MkdirTemp("", "encbench-peers-")
	if err != nil {
		return "", "", fmt.Errorf("make a folder for the peer scripts: %w", err)
	}
	files, err := fs.Glob(scripts, "*.py")
	if err != nil {
		panic("peers: bad glob pattern")
	}
	for _, name := range files {
		text, err := scripts.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			_ = os.RemoveAll(dir) // the first error is the one to report
			return "", "", fmt.Errorf("write peer script %s: %w", name, err)
		}
	}
	return dir, filepath.Join(dir, "worker.py"), nil
}
