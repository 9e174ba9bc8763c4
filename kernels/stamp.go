package kernels

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Stamp is the hash of what PTX is made of: *.cu and *.cuh of the folders device and src,
// in the order of their names. PTX carries that of its sources, and the fake driver
// refuses PTX of others, though it compiles emu in the place of device.
func Stamp(device, src fs.FS) (string, error) {
	sum := sha256.New()
	for _, folder := range []fs.FS{device, src} {
		err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasPrefix(path.Ext(name), ".cu") {
				return err
			}
			text, err := fs.ReadFile(folder, name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
