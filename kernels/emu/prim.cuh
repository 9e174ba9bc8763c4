// What the kernels are made of, on the CPU: the names of kernels/device/prim.cuh, on the
// fibers of emu.h.
#pragma once

#include "emu.h"

#include <cmath>
#include <cstring>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static inline
#define KERNEL(threads, blocks) extern "C" void

#define UNROLL
#define NOUNROLL

struct f16 {
	u16 bits;
};
struct bf16 {
	u16 bits;
};

DEVICE u32 thread() { return emu::thread_number(); }
DEVICE u32 lane() { return thread() & 31; }
DEVICE u32 threads() { return emu::threads_of_block(); }
DEVICE u32 block() { return emu::block_number(); }
DEVICE u32 blocks() { return emu::blocks_of_grid(); }

template <class T> DEVICE T *shared(u32 at) { return reinterpret_cast<T *>(emu::shared_memory(at, alignof(T))); }

#define barrier() emu::barrier(__FILE__, __LINE__)

DEVICE u32 ballot(bool p) {
	const u32 mine = p;
	const u32 *all = static_cast<const u32 *>(emu::exchange("ballot", &mine, 4));
	u32 bits = 0;
	for (int i = 0; i < 32; i++)
		bits |= all[i] << i;
	return bits;
}

DEVICE u32 shuffle(u32 v, u32 from) {
	return static_cast<const u32 *>(emu::exchange("shuffle", &v, 4))[from & 31];
}
template <class T> DEVICE T shuffle_xor(T v, u32 mask) {
	T got;
	memcpy(&got, static_cast<const u8 *>(emu::exchange("shuffle_xor", &v, sizeof v)) + (lane() ^ mask) * sizeof v, sizeof v);
	return got;
}

DEVICE u32 atomic_add(u32 *p, u32 v) {
	emu::yield();
	const u32 was = *p;
	*p = was + v;
	return was;
}
DEVICE u32 atomic_max(u32 *p, u32 v) {
	emu::yield();
	const u32 was = *p;
	*p = was < v ? v : was;
	return was;
}
DEVICE u32 atomic_or(u32 *p, u32 v) {
	emu::yield();
	const u32 was = *p;
	*p = was | v;
	return was;
}

DEVICE void cp_async16(void *to, const void *from, u32 bytes) { emu::copy_begin(to, from, bytes); }
DEVICE void cp_async_commit() { emu::copy_commit(); }
template <int n> DEVICE void cp_async_wait() { emu::copy_wait(n); }

DEVICE void ldmatrix_x4(u32 (&to)[4], const void *row) {
	if (reinterpret_cast<uintptr_t>(row) % 16)
		emu::fault("ldmatrix: an address that is not a multiple of 16");
	auto rows = static_cast<const u8 *const *>(emu::exchange("ldmatrix", &row, sizeof row));
	for (int m = 0; m < 4; m++)
		memcpy(&to[m], rows[8 * m + lane() / 4] + lane() % 4 * 4, 4);
}

DEVICE float widen(float v) { return v; }
DEVICE float widen(bf16 v) {
	float f;
	const u32 b = (u32)v.bits << 16;
	memcpy(&f, &b, 4);
	return f;
}
DEVICE float widen(f16 v) {
	const u32 sign = (u32)(v.bits >> 15) << 31, e = v.bits >> 10 & 31, m = v.bits & 1023;
	float f;
	if (e == 0) {
		f = std::ldexp((float)m, -24);
		return sign ? -f : f;
	}
	const u32 b = sign | (e == 31 ? 255u << 23 : (e + 112) << 23) | m << 13;
	memcpy(&f, &b, 4);
	return f;
}
DEVICE void narrow(float v, float *to) { *to = v; }
DEVICE void narrow(float v, bf16 *to) {
	u32 b;
	memcpy(&b, &v, 4);
	to->bits = (u16)((b & 0x7FFFFFFF) > 0x7F800000 ? b >> 16 | 0x40 : (b + 0x7FFF + (b >> 16 & 1)) >> 16);
}
DEVICE void narrow(float v, f16 *to) {
	u32 b;
	memcpy(&b, &v, 4);
	const u16 sign = (u16)(b >> 31 << 15);
	const float a = std::fabs(v);
	if (!(a < 65520.0f)) {
		to->bits = a != a ? 0x7FFF : (u16)(sign | 0x7C00);
		return;
	}
	int e = 0;
	std::frexp(a, &e);
	const int unit = a == 0 || e - 11 < -24 ? -24 : e - 11; // of the last bit, a power of two
	const double n = std::nearbyint(std::ldexp((double)a, -unit)); // at most 2,048: ties to even
	// The bits of a number are in its order, so a carry into the exponent is right.
	to->bits = (u16)(sign | (unit == -24 ? (u32)n : (u32)((unit + 24) << 10) + (u32)n));
}

namespace emu {

// What a lane gives to mma.
struct Product {
	u32 a[4], b[2];
	float c[4];
};

template <class T> DEVICE float element(const u32 &pair, int i) {
	T v;
	v.bits = (u16)(pair >> 16 * i);
	return widen(v);
}

// product multiplies for the whole warp, by the documented places of the elements.
template <class T> void product(const void *all, void *results) {
	auto lanes = static_cast<const Product *>(all);
	float a[16][16], b[16][8];
	for (int t = 0; t < 32; t++)
		for (int j = 0; j < 2; j++) {
			const int g = t / 4, p = t % 4 * 2 + j;
			a[g][p] = element<T>(lanes[t].a[0], j);
			a[g + 8][p] = element<T>(lanes[t].a[1], j);
			a[g][p + 8] = element<T>(lanes[t].a[2], j);
			a[g + 8][p + 8] = element<T>(lanes[t].a[3], j);
			b[p][g] = element<T>(lanes[t].b[0], j);
			b[p + 8][g] = element<T>(lanes[t].b[1], j);
		}
	auto out = static_cast<float(*)[4]>(results);
	for (int t = 0; t < 32; t++)
		for (int i = 0; i < 4; i++) {
			float sum = lanes[t].c[i];
			for (int k = 0; k < 16; k++)
				sum += a[t / 4 + i / 2 * 8][k] * b[k][t % 4 * 2 + i % 2];
			out[t][i] = sum;
		}
}

} // namespace emu

template <class T> DEVICE void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, T) {
	emu::Product mine;
	memcpy(mine.a, a, sizeof mine.a);
	mine.b[0] = b0;
	mine.b[1] = b1;
	memcpy(mine.c, c, sizeof mine.c);
	auto all = static_cast<const float(*)[4]>(emu::combine("mma", &mine, sizeof mine, sizeof c, emu::product<T>));
	memcpy(c, all[lane()], sizeof c);
}

DEVICE double root(double v) { return std::sqrt(v); }
DEVICE double quotient(double a, double b) { return a / b; }
