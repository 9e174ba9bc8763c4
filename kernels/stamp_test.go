package kernels

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A source that is changed, in any of the folders that PTX is made of, changes the stamp;
// the PTX has that of the sources as they are.
func TestStamp(t *testing.T) {
	stamp, err := Stamp(os.DirFS("device"), os.DirFS("src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Variant{SM80, SM90A} {
		if !bytes.HasPrefix(v.PTX(), []byte("// STAMP "+stamp+"\n")) {
			t.Errorf("the PTX of %v is of other sources: make kernels", v)
		}
	}
	for _, file := range []string{"device/prim.cuh", "device/hopper.cuh", "src/key.cuh", "src/compact.cu"} {
		dir := t.TempDir()
		for _, folder := range []string{"device", "src"} {
			if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		changed, err := Stamp(os.DirFS(filepath.Join(dir, "device")), os.DirFS(filepath.Join(dir, "src")))
		if err != nil || changed == stamp {
			t.Errorf("%s changed: stamp %s, as before, %v", file, changed, err)
		}
	}
}
