// Lists of keys cut to the best, and the thresholds that follow from them.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "block.cuh"
#include "key.cuh"

namespace {

// Shared memory of compact.
struct Counts {
	u32 digit[256];
	u32 above; // keys that are certainly among the best
	u64 prefix;
	u32 base, warp[THREADS / 32];
};

} // namespace

// encbench_compact cuts each query's list to its best most keys and raises its threshold
// to the last of them; lists that hold no more stay, with their threshold. A block is a
// query. Keys are all different.
//
// Where more was offered than the list has room for, what is stored still raises the
// threshold. But of what was offered by rows from panel on, the list has only a part: that
// part is dropped, redo is 1, and the panel is to be searched once more for the query. A
// redone panel offers at least room − most keys less than before, so that ends.
// Elsewhere redo is 0. again is or-ed with every redo.
KERNEL(256, 4)
encbench_compact(u64 *keys, u32 *count, u64 *threshold, u32 *redo, u32 *again, i64 room, i64 most, i64 panel) {
	Counts &c = *shared<Counts>(0);
	const u32 query = block(), t = thread(), offered = count[query];
	u64 *list = keys + (u64)query * (u64)room;
	const u32 n = offered < (u32)room ? offered : (u32)room;
	const bool over = offered > (u32)room;
	u64 least = 0;
	if (n > (u32)most) {
		// The digits of the last key to keep, from the highest on: how many keys have the
		// digits found so far and each next one.
		if (t == 0) {
			c.prefix = 0;
			c.above = 0;
		}
		for (int shift = 56; shift >= 0; shift -= 8) {
			c.digit[t] = 0;
			barrier();
			const u64 prefix = c.prefix;
			const u32 wanted = (u32)most - c.above; // the place of the last one among those of the prefix
			for (u32 i = t; i < n; i += THREADS)
				if (shift == 56 || list[i] >> (shift + 8) == prefix)
					atomic_add(&c.digit[list[i] >> shift & 255], 1);
			barrier();
			if (t == 0) {
				u32 d = 255, seen = 0;
				while (seen + c.digit[d] < wanted)
					seen += c.digit[d--];
				c.above += seen;
				c.prefix = prefix << 8 | d;
			}
			barrier();
		}
		least = c.prefix;
		if (t == 0 && least > threshold[query])
			threshold[query] = least;
	}
	barrier();
	if (t == 0)
		c.base = 0;
	barrier();
	// What is kept moves to the front, never behind where it was read.
	for (u32 from = 0; from < n; from += THREADS) {
		const u32 i = from + t;
		const u64 key = i < n ? list[i] : 0;
		const bool stays = i < n && key >= least && !(over && row_of(key) >= (u32)panel);
		const u32 vote = ballot(stays), before = __builtin_popcount(vote & ((1u << lane()) - 1));
		if (lane() == 0)
			c.warp[t / 32] = (u32)__builtin_popcount(vote);
		barrier(); // all of this part is read
		u32 place = c.base + before;
		for (u32 w = 0; w < t / 32; w++)
			place += c.warp[w];
		if (stays)
			list[place] = key;
		barrier();
		if (t == 0)
			for (u32 w = 0; w < THREADS / 32; w++)
				c.base += c.warp[w];
		barrier();
	}
	if (t == 0) {
		count[query] = c.base;
		redo[query] = over;
		if (over)
			atomic_or(again, 1);
	}
}

// encbench_fill sets n numbers of 64 bits.
KERNEL(256, 4) encbench_fill(u64 *to, i64 n, u64 v) {
	for (u64 i = (u64)block() * THREADS + thread(); i < (u64)n; i += (u64)blocks() * THREADS)
		to[i] = v;
}
