package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"encbench/kernels"
)

var (
	entry = regexp.MustCompile(`Compiling entry function 'encbench_(\w+)' for '(\w+)'`)
	spill = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used  = regexp.MustCompile(`Used (\d+) registers`)
	smem  = regexp.MustCompile(`(\d+) bytes smem`)
)

// assemble has ptxas make machine code of PTX and gives what each kernel takes.
func assemble(ptxas, ptx, device, cubin string) ([]kernels.Resources, error) {
	out, err := exec.Command(ptxas, "-v", "-arch="+device, "-o", cubin, ptx).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s for %s: %w\n%s", ptxas, device, err, out)
	}
	return report(string(out), device)
}

// report reads what ptxas tells. Registers that are kept in memory and products that wait
// for each other are errors.
func report(out, device string) (all []kernels.Resources, err error) {
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if m := entry.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := spill.FindStringSubmatch(line); m != nil && (m[1] != "0" || m[2] != "0" || m[3] != "0") {
			return nil, fmt.Errorf("%s keeps registers in memory on %s: %s", name, device, line)
		}
		if strings.Contains(line, "serialized") || strings.Contains(line, "is injected") {
			return nil, fmt.Errorf("the assembler changes products for %s: %s", device, line)
		}
		if m := used.FindStringSubmatch(line); m != nil {
			r := kernels.Resources{Kernel: name, Device: device}
			r.Registers, _ = strconv.Atoi(m[1])
			if m := smem.FindStringSubmatch(line); m != nil {
				r.Static, _ = strconv.Atoi(m[1])
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the assembler names no kernel for %s; is it ptxas of CUDA 12?\n%s", device, out)
	}
	return all, nil
}

// inspect looks for instructions in kernels' machine code.
func inspect(nvdisasm, cubin, device string, has map[string][]string) error {
	out, err := exec.Command(nvdisasm, cubin).Output()
	if err != nil {
		return fmt.Errorf("%s of the code for %s: %w", nvdisasm, device, err)
	}
	return contains(string(out), device, has)
}

func contains(text, device string, has map[string][]string) error {
	code := map[string]string{}
	for _, part := range strings.Split(text, "\n.text.")[1:] {
		name, body, _ := strings.Cut(part, ":")
		code[name] += body
	}
	for name, wanted := range has {
		if code[name] == "" {
			return fmt.Errorf("the machine code for %s has no kernel %s", device, name)
		}
		for _, instruction := range wanted {
			if !strings.Contains(code[name], instruction) {
				return fmt.Errorf("the machine code of %s for %s has no %s", name, device, instruction)
			}
		}
	}
	return nil
}
