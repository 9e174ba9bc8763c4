// The best keys of each list in order.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "key.cuh"

// encbench_sort writes the best k keys of each query, the largest first, and 0 where there
// are fewer. A block is a query; size is a power of two, at least the keys of a list, and
// as many keys are in shared memory.
KERNEL(1024, 1) encbench_sort(const u64 *keys, const u32 *count, i64 room, i64 size, i64 k, u64 *best) {
	u64 *s = shared<u64>(0);
	const u32 n = count[block()] < (u32)room ? count[block()] : (u32)room;
	for (u32 i = thread(); i < (u32)size; i += threads())
		s[i] = i < n ? keys[(u64)block() * (u64)room + i] : 0;
	barrier();
	// Batcher's bitonic network, the larger key towards the lower place.
	for (u32 run = 2; run <= (u32)size; run *= 2)
		for (u32 gap = run / 2; gap > 0; gap /= 2) {
			for (u32 i = thread(); i < (u32)size / 2; i += threads()) {
				const u32 low = i / gap * gap * 2 + i % gap, high = low + gap;
				const bool falling = (low & run) == 0;
				const u64 a = s[low], b = s[high];
				if ((a < b) == falling) {
					s[low] = b;
					s[high] = a;
				}
			}
			barrier();
		}
	for (u32 i = thread(); i < (u32)k; i += threads())
		best[(u64)block() * (u64)k + i] = i < (u32)size ? s[i] : 0;
}
