package assets

import (
	"path/filepath"
	"testing"
)

func TestOverride(t *testing.T) {
	r := newRig(t, nil)
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib.so")
	r.write(lib, libData, 0o644)
	check := func(name, flag, path, from string) {
		t.Helper()
		gotPath, gotFrom, err := Override(name, flag)
		if err != nil || gotPath != path || gotFrom != from {
			t.Errorf("Override(%s, %q) = %q, %q, %v; expected %q, %q", name, flag, gotPath, gotFrom, err, path, from)
		}
	}
	check("onnxruntime", "", "", "")
	check("techdocs", "", "", "")
	check("onnxruntime", lib, lib, "--ort-library")
	t.Setenv("ENCBENCH_ORT_LIBRARY", lib)
	t.Setenv("ENCBENCH_MODEL_DIR", dir)
	check("onnxruntime", "", lib, "ENCBENCH_ORT_LIBRARY")
	check("all-minilm-l6-v2", "", dir, "ENCBENCH_MODEL_DIR")

	_, _, err := Override("onnxruntime", dir)
	wantErr(t, err, "use your libonnxruntime.so from --ort-library: "+dir+": expected a file, found a directory")
	t.Setenv("ENCBENCH_MODEL_DIR", lib)
	_, _, err = Override("all-minilm-l6-v2", "")
	wantErr(t, err, "use a Hugging Face model directory from ENCBENCH_MODEL_DIR: "+lib+": expected a directory, found a file")
	_, _, err = Override("onnxruntime", dir+"/none.so")
	wantErr(t, err, "use your libonnxruntime.so from --ort-library: stat "+dir+"/none.so: no such file or directory")

	// The variable is named where the folder is missing, too.
	none := filepath.Join(dir, "nope")
	t.Setenv("ENCBENCH_MODEL_DIR", none)
	_, from, err := Override("all-minilm-l6-v2", "")
	wantErr(t, err, "use a Hugging Face model directory from ENCBENCH_MODEL_DIR: stat "+none+": no such file or directory")
	if from != "ENCBENCH_MODEL_DIR" {
		t.Errorf("from %q", from)
	}
	t.Setenv("ENCBENCH_ORT_LIBRARY", none)
	_, _, err = Override("onnxruntime", "")
	wantErr(t, err, "use your libonnxruntime.so from ENCBENCH_ORT_LIBRARY: stat "+none+": no such file or directory")
}
