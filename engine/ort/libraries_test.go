package ort

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sharedObject is the least ELF file whose dynamic section names libraries.
func sharedObject(names ...string) []byte {
	le := binary.LittleEndian
	strs := []byte{0}
	var dynamic []byte
	for _, n := range names {
		dynamic = le.AppendUint64(le.AppendUint64(dynamic, 1), uint64(len(strs))) // DT_NEEDED
		strs = append(append(strs, n...), 0)
	}
	dynamic = append(dynamic, make([]byte, 16)...)
	const header, section = 64, 64
	dynamicAt := uint64(header)
	stringsAt := dynamicAt + uint64(len(dynamic))
	namesAt := stringsAt + uint64(len(strs))
	sectionNames := "\x00.dynamic\x00.dynstr\x00.shstrtab\x00"
	sectionsAt := namesAt + uint64(len(sectionNames))
	out := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	out = le.AppendUint16(le.AppendUint16(out, 3), 62)
	out = le.AppendUint32(out, 1)
	out = le.AppendUint64(le.AppendUint64(le.AppendUint64(out, 0), 0), sectionsAt)
	out = le.AppendUint32(out, 0)
	for _, v := range []uint16{header, 56, 0, section, 4, 3} {
		out = le.AppendUint16(out, v)
	}
	out = append(append(append(out, dynamic...), strs...), sectionNames...)
	add := func(name, kind uint32, at, size uint64, link uint32, each uint64) {
		out = le.AppendUint32(le.AppendUint32(out, name), kind)
		out = le.AppendUint64(le.AppendUint64(out, 0), 0)
		out = le.AppendUint64(le.AppendUint64(out, at), size)
		out = le.AppendUint32(le.AppendUint32(out, link), 0)
		out = le.AppendUint64(le.AppendUint64(out, 1), each)
	}
	add(0, 0, 0, 0, 0, 0)
	add(1, 6, dynamicAt, uint64(len(dynamic)), 2, 16)
	add(10, 3, stringsAt, uint64(len(strs)), 0, 0)
	add(18, 3, namesAt, uint64(len(sectionNames)), 0, 0)
	return out
}

func TestLibraries(t *testing.T) {
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	write := func(path string, b []byte) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	runtime := at("ort", "libonnxruntime.so")
	_, err := Libraries(runtime, nil)
	want := "this ONNX Runtime has no CUDA provider: libonnxruntime_providers_cuda.so is not beside " + runtime + "; run `encbench assets get cuda13` (driver 580 or later) or `encbench assets get cuda12`, or name an onnxruntime-gpu with --ort-library"
	if !errors.Is(err, ErrNoProvider) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	provider := at("ort", providerLibrary)
	write(provider, []byte("no ELF"))
	if _, err := Libraries(runtime, nil); err == nil || !strings.HasPrefix(err.Error(), "read what "+provider+" needs: ") {
		t.Errorf("%v", err)
	}
	write(provider, sharedObject("libcublasLt.so.13", "libcublas.so.13", "libcurand.so.10", "libcudart.so.13", "libcuda.so.1", "libstdc++.so.6", "libc.so.6"))
	write(at("assets", "libcublas.so.13"), nil)
	write(at("ort", "libcurand.so.10"), nil)
	write(at("path", "libcudart.so.13"), nil)
	write(at("system", "libcudart.so.13"), nil)
	write(at("system", "libcublasLt.so.12"), nil)
	write(at("system", "libcudnn.so.9"), nil)
	found, err := libraries(runtime, []string{at("assets")}, at("none")+":"+at("path"), []string{at("system")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range found {
		got = append(got, strings.ReplaceAll(l.String(), root, "ROOT"))
	}
	const add = ", or add the folder that has it to LD_LIBRARY_PATH"
	lines := []string{
		"libcublasLt.so.13 is missing (ROOT/system/libcublasLt.so.12 is of another version); run `encbench assets get cuda13-cublas`" + add,
		"libcublas.so.13: ROOT/assets/libcublas.so.13 (assets)",
		"libcurand.so.10: ROOT/ort/libcurand.so.10 (beside the runtime)",
		"libcudart.so.13: ROOT/path/libcudart.so.13 (LD_LIBRARY_PATH)",
		"libcuda.so.1 is missing; install NVIDIA's driver",
		"libcudnn.so.9: ROOT/system/libcudnn.so.9 (the system)",
		"libcufft.so.12 is missing, which some operators need; run `encbench assets get cuda13-cufft`" + add,
		"libnvrtc.so.13 is missing, which some operators need; run `encbench assets get cuda13-nvrtc`" + add,
	}
	if !slices.Equal(got, lines) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	// The provider of CUDA 12 names more of them itself, and not the driver.
	write(provider, sharedObject("libcublas.so.12", "libcufft.so.11", "libcudart.so.12", "libcudnn.so.9", "libcurand.so.10"))
	found, err = libraries(runtime, nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, l := range found {
		got = append(got, strings.ReplaceAll(l.String(), add, ""))
	}
	lines = []string{
		"libcublas.so.12 is missing; run `encbench assets get cuda12-cublas`",
		"libcufft.so.11 is missing; run `encbench assets get cuda12-cufft`",
		"libcudart.so.12 is missing; run `encbench assets get cuda12-runtime`",
		"libcudnn.so.9 is missing; run `encbench assets get cuda12-cudnn`",
		"libcurand.so.10: " + at("ort", "libcurand.so.10") + " (beside the runtime)",
		"libnvrtc.so.12 is missing, which some operators need; run `encbench assets get cuda12-nvrtc`",
		"libcuda.so.1 is missing; install NVIDIA's driver",
	}
	if !slices.Equal(got, lines) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestSystemFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ld.so.conf":      "include conf.d/*.conf # more\n/opt/here\nrelative\n",
		"conf.d/a.conf":   "/opt/cuda/lib64\n\n# /opt/comment\n",
		"conf.d/b.conf":   "include " + dir + "/ld.so.conf\n", // in a circle
		"conf.d/none.txt": "/opt/none\n",
	} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	got := systemFolders(filepath.Join(dir, "ld.so.conf"), 0)
	for _, want := range []string{"/opt/cuda/lib64", "/opt/here", "/usr/lib"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %v", want, got)
		}
	}
	if slices.Contains(got, "relative") || slices.Contains(got, "/opt/none") || slices.Contains(got, "/opt/comment") {
		t.Errorf("%v", got)
	}
	if len(systemFolders(filepath.Join(dir, "absent"), 0)) == 0 {
		t.Error("without a configuration there is no folder")
	}
}
