//go:build cuda && linux && cgo && (amd64 || arm64)

package cudatest

import (
	"fmt"
	"regexp"
	"strings"
)

// entry finds kernels, and the targets of the texts they are in.
var entry = regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)|\.target (\w+)`)

// entries writes the table of kernels that the PTX names, each once with the targets of its
// texts. Parameters are 8
// bytes wide and none is a floating-point number, but for tensor maps, which come first;
// so each kernel is called as a function of so many maps and integers.
func entries(k Kernels) string {
	if k.PTX == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(tableHead)
	var names []string
	rows, targets := map[string]string{}, map[string]string{}
	target := ""
	for _, m := range entry.FindAllSubmatch(k.PTX, -1) {
		if len(m[3]) > 0 {
			target = string(m[3]) + " "
			continue
		}
		name, n, maps := string(m[1]), strings.Count(string(m[2]), ".param"), strings.Count(string(m[2]), ".b8")
		if _, seen := rows[name]; !seen {
			names = append(names, name)
			fmt.Fprintf(&b, "extern \"C\" void %s();\n", name)
			rows[name] = fmt.Sprintf("\"%s\", %d, run<%s, %d, %d>, 64, 0, 1024, %d", name, n, name, maps, n-maps, maps)
		}
		targets[name] += target
	}
	b.WriteString("extern \"C\" const fake::Kernel encbench_fake_kernels[] = {\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\t{%s, %q},\n", rows[name], targets[name])
	}
	b.WriteString("\t{nullptr, 0, nullptr, 0, 0, 0, 0, nullptr},\n};\n")
	fmt.Fprintf(&b, "extern \"C\" const char encbench_fake_stamp[] = %q;\n", k.Stamp)
	return b.String()
}

// tableHead runs a kernel on fibers.
const tableHead = `#include "emu.h"
#include "fake.h"
#include "tensormap.h"
#include <cstring>
#include <utility>

template <size_t> fake::TensorMap map(void *arg) {
	fake::TensorMap m;
	memcpy(&m, arg, sizeof m);
	return m;
}
template <auto kernel, size_t... m, size_t... i> void call(void **args, std::index_sequence<m...>, std::index_sequence<i...>) {
	reinterpret_cast<void (*)(decltype(map<m>(nullptr))..., decltype(uint64_t(i))...)>(kernel)(map<m>(args[m])..., *static_cast<uint64_t *>(args[sizeof...(m) + i])...);
}
template <auto kernel, int maps, int others> int run(const fake::Launch &l) {
	emu::Geometry g{{l.grid[0], l.grid[1], l.grid[2]}, {l.block[0], l.block[1], l.block[2]}, l.cluster, l.shared};
	return emu::run(l.name, [](const void *args) {
		call<kernel>(static_cast<void **>(const_cast<void *>(args)), std::make_index_sequence<maps>{}, std::make_index_sequence<others>{});
	}, l.args, g);
}
`
