// Command gen makes PTX of the kernels, or with -check compares it, and has NVIDIA's
// assembler look at it where there is one:
//
//	go run ./kernels/_gen [-check] [-ptxas FILE] [-nvdisasm FILE]
//
// It needs clang++-19, or another clang that CLANG names; the bytes are those of 19.1.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"encbench/kernels"
)

// target is a PTX file: the architecture that clang is given, the PTX version, and the
// devices that the assembler tries it for.
type target struct {
	arch, ptx, source string
	devices           []string
}

var targets = []target{
	{"sm_80", "70", "all.cu", []string{"sm_80", "sm_86", "sm_89", "sm_90"}},
	{"sm_90a", "80", "hopper.cu", []string{"sm_90a"}},
}

func main() {
	check := flag.Bool("check", false, "compare with the committed files instead of writing them")
	ptxas := flag.String("ptxas", os.Getenv("PTXAS"), "NVIDIA's assembler")
	flag.Parse()
	if err := run(*check, *ptxas); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func run(check bool, ptxas string) error {
	for _, t := range targets {
		text, err := compile(t)
		if err != nil {
			return err
		}
		if err := put(filepath.Join("kernels", "ptx", t.arch+".ptx"), text, check); err != nil {
			return err
		}
		if ptxas == "" {
			continue
		}
		report, err := assemble(ptxas, t, text)
		if err != nil {
			return err
		}
		if err := put(filepath.Join("kernels", "ptx", t.arch+".txt"), report, check); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file, or compares it.
func put(path string, text []byte, check bool) error {
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, text) {
		return fmt.Errorf("%s is not what the sources give; run `make kernels` and commit it", path)
	}
	return nil
}

// flags are those of the compiler. Nothing is contracted: what is exact in float64 has
// the bits of every other backend, and the products of tiles are instructions of their
// own.
func flags(t target) []string {
	return []string{
		"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-O3", "-S", "-std=c++17", "-fno-exceptions", "-ffp-contract=off",
		"-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-command-line-argument", "--cuda-gpu-arch=" + t.arch, "-Xclang", "-target-feature", "-Xclang", "+ptx" + t.ptx,
		"-I", filepath.Join("kernels", "device"), "-I", filepath.Join("kernels", "src"),
	}
}

func compile(t target) ([]byte, error) {
	clang := os.Getenv("CLANG")
	if clang == "" {
		clang = "clang++-19"
	}
	stamp, err := kernels.Stamp(os.DirFS(filepath.Join("kernels", "src")))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(clang, append(flags(t), "-o", "-", filepath.Join("kernels", "src", t.source))...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", clang, err, errs.Bytes())
	}
	version, err := exec.Command(clang, "-dumpversion").Output()
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("// STAMP %s\n// clang %s: %s\n", stamp, strings.TrimSpace(string(version)), strings.Join(flags(t), " "))
	return append([]byte(head), remark.ReplaceAll(out.Bytes(), nil)...), nil
}

// remark is a line of PTX that says nothing to the assembler: a third of the text.
var remark = regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n|[ \t]*//.*$`)

var (
	entry = regexp.MustCompile(`Compiling entry function '(\w+)' for '(\w+)'`)
	spill = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used  = regexp.MustCompile(`Used (\d+) registers`)
)

// assemble gives the registers of each kernel on each device, and refuses spills.
func assemble(ptxas string, t target, text []byte) ([]byte, error) {
	file, err := os.CreateTemp("", "*.ptx")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	rows := map[string][]string{}
	for _, device := range t.devices {
		out, err := exec.Command(ptxas, "-v", "-arch="+device, "-o", os.DevNull, file.Name()).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s for %s: %w\n%s", ptxas, device, err, out)
		}
		name := ""
		for line := range strings.Lines(string(out)) {
			if m := entry.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			if m := spill.FindStringSubmatch(line); m != nil && (m[1] != "0" || m[2] != "0" || m[3] != "0") {
				return nil, fmt.Errorf("%s keeps registers in memory on %s: %s", name, device, strings.TrimSpace(line))
			}
			if m := used.FindStringSubmatch(line); m != nil {
				rows[name] = append(rows[name], m[1])
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-32s", "registers a thread")
	for _, d := range t.devices {
		fmt.Fprintf(&b, " %6s", d)
	}
	b.WriteByte('\n')
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%-32s", name)
		for _, n := range rows[name] {
			fmt.Fprintf(&b, " %6s", n)
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
