package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// tools are the programs that are run.
type tools struct{ clang, ptxas, nvdisasm string }

// lacking are tools that are not there, each with how to get it.
type lacking []struct{ name, why, get string }

// find puts in place of each name the file it stands for, "" where there is none.
func (t *tools) find() (l lacking) {
	for _, tool := range []struct {
		file       *string
		name, want string
		get        string
	}{
		{&t.clang, "clang++-19", "-clang", "apt-get install --no-install-recommends clang-19"},
		{&t.ptxas, "ptxas", "-ptxas", "pip install --target DIR nvidia-cuda-nvcc-cu12==12.9.86, then -ptxas DIR/nvidia/cuda_nvcc/bin/ptxas"},
		{&t.nvdisasm, "nvdisasm", "-nvdisasm", "pip install --target DIR nvidia-cuda-nvdisasm==13.5.37, then -nvdisasm DIR/nvidia/cu13/bin/nvdisasm"},
	} {
		name := tool.name
		if *tool.file != "" {
			name = *tool.file
		}
		path, err := exec.LookPath(name)
		if err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				err = errors.New("not in PATH, and no " + tool.want)
			}
			l = append(l, struct{ name, why, get string }{name, err.Error(), tool.get})
		}
		*tool.file = path
	}
	return l
}

// err is what the lack means: all tools are needed to check, clang alone to make PTX.
func (l lacking) err(check bool) error {
	var b strings.Builder
	for _, m := range l {
		if check || strings.Contains(m.get, "clang") {
			fmt.Fprintf(&b, "\n  %s: %s; to get it: %s", m.name, m.why, m.get)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return fmt.Errorf("tools are missing:%s", b.String())
}
