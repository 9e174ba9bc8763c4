// Command gen makes PTX of the kernels and what NVIDIA's tools say of it, or with -check
// makes all of it in a folder of its own, compares it with what is committed, and looks
// into the machine code:
//
//	go run ./kernels/_gen [-check] [-clang FILE] [-ptxas FILE] [-nvdisasm FILE]
//
// The tools are looked for in PATH where no flag names them. Without -check only clang is
// needed; what ptxas reports is then written where ptxas is found.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"encbench/kernels"
)

// target is a PTX file: the architecture that clang is given, the PTX version, the source,
// the devices that the assembler tries it for, and the instructions that kernels must have
// there.
type target struct {
	arch, ptx, source string
	devices           []string
	has               map[string][]string
}

var targets = []target{
	{"sm_80", "70", "all.cu", []string{"sm_80", "sm_86", "sm_89", "sm_90"}, map[string][]string{
		"encbench_search_16":  {"HMMA.16816.F32", "LDGSTS"},
		"encbench_search_64":  {"HMMA.16816.F32", "LDGSTS"},
		"encbench_search_128": {"HMMA.16816.F32", "LDGSTS"},
	}},
	{"sm_90a", "80", "hopper.cu", []string{"sm_90a"}, map[string][]string{
		"encbench_search_16":   {"HMMA.16816.F32", "LDGSTS"},
		"encbench_search_wide": {"HGMMA.64x256x16.F32", "UTMALDG.2D", "USETMAXREG", "SYNCS"},
	}},
}

func main() {
	check := flag.Bool("check", false, "compare with the committed files instead of writing them, and look into the machine code")
	var t tools
	flag.StringVar(&t.clang, "clang", "", "clang 19, as clang++; default clang++-19 in PATH")
	flag.StringVar(&t.ptxas, "ptxas", "", "NVIDIA's assembler; default ptxas in PATH")
	flag.StringVar(&t.nvdisasm, "nvdisasm", "", "NVIDIA's disassembler; default nvdisasm in PATH")
	flag.Parse()
	if err := run(*check, t); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func run(check bool, t tools) error {
	missing := t.find()
	if err := missing.err(check); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kernels-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made, err := generate(dir, t, check)
	if err != nil {
		return err
	}
	for _, name := range made {
		if err := put(filepath.Join(dir, name), filepath.Join("kernels", "ptx", name), check); err != nil {
			return err
		}
	}
	if check {
		fmt.Printf("kernels: %s are what the sources give; nothing spills; the instructions are there\n", strings.Join(made, ", "))
	}
	return nil
}

// generate makes the files in dir, and with disassemble looks into the machine code.
func generate(dir string, t tools, disassemble bool) (made []string, err error) {
	var all []kernels.Resources
	var texts [][]byte
	for _, target := range targets {
		text, err := compile(t.clang, target)
		if err != nil {
			return nil, err
		}
		name := target.arch + ".ptx"
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, err
		}
		made, texts = append(made, name), append(texts, text)
		if t.ptxas == "" {
			continue
		}
		for _, device := range target.devices {
			cubin := filepath.Join(dir, device+".cubin")
			used, err := assemble(t.ptxas, filepath.Join(dir, name), device, cubin)
			if err != nil {
				return nil, err
			}
			all = append(all, used...)
			if disassemble {
				if err := inspect(t.nvdisasm, cubin, device, target.has); err != nil {
					return nil, err
				}
			}
		}
	}
	if t.ptxas == "" {
		fmt.Fprintln(os.Stderr, "kernels: no ptxas, so resources.md and model.md stay as they are")
		return made, nil
	}
	table, err := kernels.ResourceTable(all, texts...)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"resources.md": table, "model.md": kernels.ModelTable()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return append(made, "resources.md", "model.md"), nil
}

// put takes a file over, or compares it.
func put(from, to string, check bool) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(to, text, 0o644)
	}
	old, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	return same(to, old, text)
}

// same says in which line two texts differ first.
func same(name string, old, now []byte) error {
	if bytes.Equal(old, now) {
		return nil
	}
	a, b := strings.Split(string(old), "\n"), strings.Split(string(now), "\n")
	line := 0
	for line < min(len(a), len(b)) && a[line] == b[line] {
		line++
	}
	at := func(lines []string) string {
		if line < len(lines) {
			return lines[line]
		}
		return ""
	}
	return fmt.Errorf("%s is not what the sources give, from line %d on:\ncommitted %q\nnow       %q\nrun `make kernels` and commit what changed", name, line+1, at(a), at(b))
}

// flags are those of the compiler. Nothing is contracted: what is exact in float64 has
// the bits of every other backend, and the products of tiles are instructions of their
// own.
func flags(t target) []string {
	return []string{
		"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-O3", "-S", "-std=c++17", "-fno-exceptions", "-ffp-contract=off",
		"-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-command-line-argument", "--cuda-gpu-arch=" + t.arch,
		"-Xclang", "-target-feature", "-Xclang", "+ptx" + t.ptx, "-I", filepath.Join("kernels", "device"), "-I", filepath.Join("kernels", "src"),
	}
}

// remark is a line, or the end of one, that says nothing to the assembler: a third of what
// clang writes.
var remark = regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n|[ \t]*//.*$`)

func compile(clang string, t target) ([]byte, error) {
	stamp, err := kernels.Stamp(os.DirFS(filepath.Join("kernels", "device")), os.DirFS(filepath.Join("kernels", "src")))
	if err != nil {
		return nil, err
	}
	source := filepath.Join("kernels", "src", t.source)
	if _, err := os.Stat(source); err != nil {
		return nil, fmt.Errorf("compile for %s: %w; run this at the top of the repository", t.arch, err.(*fs.PathError))
	}
	cmd := exec.Command(clang, append(flags(t), "-o", "-", source)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", clang, err, errs.Bytes())
	}
	version, err := exec.Command(clang, "-dumpversion").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", clang, err)
	}
	head := fmt.Sprintf("// STAMP %s\n// clang %s: %s\n", stamp, strings.TrimSpace(string(version)), strings.Join(flags(t), " "))
	return append([]byte(head), remark.ReplaceAll(out.Bytes(), nil)...), nil
}
