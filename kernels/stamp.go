package kernels

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Stamp is the hash of the kernels' sources, src/*.cu and *.cuh, in the order of their
// names. PTX carries that of the sources it was made of, and the fake driver refuses PTX
// of others.
func Stamp(src fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(path.Ext(name), ".cu") {
			return err
		}
		text, err := fs.ReadFile(src, name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
