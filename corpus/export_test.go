package corpus

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// WriteForTest writes what build writes to c.jsonl, c.jsonl.gz and c.jsonl.zst in
// dir. It is here because only this package may import compression.
func WriteForTest(dir string, build func(io.Writer) error) (paths []string, err error) {
	var files []io.Closer
	var writers []io.Writer
	var packers []io.Closer
	for _, ext := range []string{"", ".gz", ".zst"} {
		path := filepath.Join(dir, "c.jsonl"+ext)
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		paths, files = append(paths, path), append(files, f)
		switch ext {
		case ".gz":
			z := gzip.NewWriter(f)
			writers, packers = append(writers, z), append(packers, z)
		case ".zst":
			z, err := zstd.NewWriter(f)
			if err != nil {
				return nil, err
			}
			writers, packers = append(writers, z), append(packers, z)
		default:
			writers = append(writers, f)
		}
	}
	err = build(io.MultiWriter(writers...))
	for _, c := range append(packers, files...) {
		err = errors.Join(err, c.Close())
	}
	return paths, err
}
