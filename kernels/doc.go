// Package kernels is the code that runs on the device, and how it is launched.
//
// The sources are in src, written against the names of one header: device/prim.cuh makes
// PTX of them with clang, emu/prim.cuh makes functions of the CPU that the fake driver of
// tests runs (cuda/fake). The PTX is committed in ptx with the hash of its sources;
// `make kernels` writes it anew and `make kernels-check` compares.
//
// There are two texts (Variant): that for 8.0 runs on every device from there on; that for
// 9.0a has a tile of its own for more than 64 queries, which multiplies by warpgroups and
// is fed by the copy engine through tensor maps. What each kernel takes of a device is in
// ptx/resources.md, what a search is expected to reach in ptx/model.md; both are generated.
//
// What is here of a search: scores of tiles against thresholds (Search), lists cut to
// their best (Compact), scores by the rule of all backends (Rescore, Exact), the order of
// the best (Sort). engine/gpu puts them together.
//
// Launchers check nothing that the caller knows: sizes, types and alignment are the
// caller's, as each says.
package kernels
