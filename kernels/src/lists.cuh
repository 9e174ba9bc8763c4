// Where the best of each query are kept while rows go by.
#pragma once

#include "key.cuh"

// Lists are where the best are kept: for each query a threshold, and the keys that
// passed it.
struct Lists {
	const u64 *threshold; // keys below are not kept; that of −∞ keeps all
	const u64 *ceiling;   // keys from here on are not kept; NULL for none
	const u32 *active;    // 0 for queries that keep nothing now; NULL for all
	u64 *keys;            // [queries][room]
	u32 *count;           // what was offered: more than room is an overflow
	u32 room;
};

DEVICE void keep(const Lists &l, u32 query, u64 key) {
	if (key < l.threshold[query] || (l.ceiling && key >= l.ceiling[query]))
		return;
	u32 place = atomic_add(&l.count[query], 1);
	if (place < l.room)
		l.keys[(u64)query * l.room + place] = key;
}
