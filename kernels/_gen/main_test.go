package main

import (
	"path/filepath"
	"testing"
)

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	want := "tools are missing:\n" +
		"  clang++-19: not in PATH, and no -clang; to get it: apt-get install --no-install-recommends clang-19\n" +
		"  ptxas: not in PATH, and no -ptxas; to get it: pip install --target DIR nvidia-cuda-nvcc-cu12==12.9.86, then -ptxas DIR/nvidia/cuda_nvcc/bin/ptxas\n" +
		"  nvdisasm: not in PATH, and no -nvdisasm; to get it: pip install --target DIR nvidia-cuda-nvdisasm==13.5.37, then -nvdisasm DIR/nvidia/cu13/bin/nvdisasm"
	var none tools
	l := none.find()
	if got := text(l.err(true)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := text(l[1:].err(false)); got != "" {
		t.Errorf("PTX cannot be made without an assembler: %s", got)
	}
	file := filepath.Join(t.TempDir(), "ptxas")
	named := tools{ptxas: file}
	if got, want := named.find()[1].why, "exec: \""+file+"\": stat "+file+": no such file or directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReport(t *testing.T) {
	good := "ptxas info    : Compiling entry function 'encbench_sort' for 'sm_80'\nptxas info    : Function properties for encbench_sort\n" +
		"    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 22 registers, used 1 barriers, 64 bytes smem, 400 bytes cmem[0]\n"
	all, err := report(good, "sm_80")
	if err != nil || len(all) != 1 || all[0].Kernel != "sort" || all[0].Registers != 22 || all[0].Static != 64 {
		t.Errorf("got %+v, %v", all, err)
	}
	for _, c := range []struct{ out, want string }{
		{"ptxas info    : Compiling entry function 'encbench_sort' for 'sm_80'\n    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
			"sort keeps registers in memory on sm_80: 8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"},
		{"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x\n",
			"the assembler changes products for sm_80: ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x"},
		{"", "the assembler names no kernel for sm_80; is it ptxas of CUDA 12?\n"},
	} {
		if _, err := report(c.out, "sm_80"); text(err) != c.want {
			t.Errorf("got %q, want %q", text(err), c.want)
		}
	}
}

func TestContains(t *testing.T) {
	code := "\n.text.a:\n HMMA.16816.F32 R1 ;\n\n.text.b:\n FADD ;\n"
	for _, c := range []struct {
		has  map[string][]string
		want string
	}{
		{map[string][]string{"a": {"HMMA.16816.F32"}}, ""},
		{map[string][]string{"b": {"HMMA.16816.F32"}}, "the machine code of b for sm_80 has no HMMA.16816.F32"},
		{map[string][]string{"c": {"X"}}, "the machine code for sm_80 has no kernel c"},
	} {
		if got := text(contains(code, "sm_80", c.has)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	want := "f is not what the sources give, from line 2 on:\ncommitted \"b\"\nnow       \"c\"\nrun `make kernels` and commit what changed"
	if got := text(same("f", []byte("a\nb\n"), []byte("a\nc\n"))); got != want {
		t.Errorf("got %s", got)
	}
	if err := same("f", []byte("a"), []byte("a")); err != nil {
		t.Error(err)
	}
}
