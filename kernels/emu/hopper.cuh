// What kernels of capability 9.0a have beside prim.cuh, on the CPU: the names of
// kernels/device/hopper.cuh.
//
// Found and told: more arrivals at a barrier than it was made for, more bytes than were
// expected; copies to barriers that the copy engine does not know of yet; copies and
// products that are under way when a block ends; products without a fence, or not in step
// in a warpgroup; descriptors of another form. What a copy writes is no number until it
// has come, which takes a while; a product reads shared memory at its call or as late as
// at the wait, and its result is no number before.
#pragma once

#include "prim.cuh"
#include "tensormap.h"

typedef fake::TensorMap TensorMap;

#define MAP(kernel, i, name) (&(name))
#define MAP_OF(kernel, i)

namespace emu {
void mbarrier_init(u64 *b, unsigned count);
void mbarriers_ready();
void mbarrier_arrive(u64 *b, unsigned bytes);
void mbarrier_wait(u64 *b, unsigned parity);
void tma_load(void *to, const TensorMap *map, unsigned column, unsigned row, u64 *b);
void wgmma(float *c, u64 a, u64 b, bool bfloat);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(unsigned groups);
} // namespace emu

// address is where p lies in shared memory.
DEVICE u32 address(const void *p) { return (u32)(static_cast<const u8 *>(p) - emu::arena()); }

DEVICE void mbarrier_init(u64 *b, u32 count) { emu::mbarrier_init(b, count); }
DEVICE void mbarriers_ready() { emu::mbarriers_ready(); }
DEVICE void mbarrier_arrive(u64 *b) { emu::mbarrier_arrive(b, 0); }
DEVICE void mbarrier_expect(u64 *b, u32 bytes) { emu::mbarrier_arrive(b, bytes); }
DEVICE void mbarrier_wait(u64 *b, u32 parity) { emu::mbarrier_wait(b, parity); }

DEVICE void tma_load(void *to, const TensorMap *map, u32 column, u32 row, u64 *b) { emu::tma_load(to, map, column, row, b); }

// A thread of the CPU has no registers to give.
template <int n> DEVICE void registers_fewer() {}
template <int n> DEVICE void registers_more() {}

DEVICE void wgmma_fence() { emu::wgmma_fence(); }
DEVICE void wgmma_commit() { emu::wgmma_commit(); }
template <int n> DEVICE void wgmma_wait() { emu::wgmma_wait(n); }
DEVICE void settle(float (&)[32][4]) {}
DEVICE void wgmma(float (&c)[32][4], u64 a, u64 b, f16) { emu::wgmma(&c[0][0], a, b, false); }
DEVICE void wgmma(float (&c)[32][4], u64 a, u64 b, bf16) { emu::wgmma(&c[0][0], a, b, true); }
