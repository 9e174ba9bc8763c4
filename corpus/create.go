package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Create makes a file for writing a corpus, compressed where its name ends in
// .gz or .zst; Open reads it back. Closing it finishes the compressed stream.
func Create(path string) (io.WriteCloser, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create corpus: %w", err)
	}
	switch filepath.Ext(path) {
	case ".gz":
		return &packer{gzip.NewWriter(f), f}, nil
	case ".zst":
		w, err := zstd.NewWriter(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("create corpus %s: %w", path, err), f.Close())
		}
		return &packer{w, f}, nil
	}
	return f, nil
}

// packer is a compressor over a file, closed together.
type packer struct {
	io.WriteCloser
	f *os.File
}

func (p *packer) Close() error { return errors.Join(p.WriteCloser.Close(), p.f.Close()) }
