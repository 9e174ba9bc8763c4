// Runs one tile search on fibers, on data whose scores are exact, and says whether every
// pair came out: "right", "wrong", or the emulation's own fault. The test that compiles
// this plants a fault in the kernel first.
#include "search_128.cu"
#include "wide.cu"

#include <cstdio>
#include <vector>

namespace {

constexpr unsigned QUERIES = 70, ROWS = 520, DIM = 328;
std::vector<u16> queries(QUERIES *DIM), rows(ROWS *DIM);
std::vector<u64> threshold(QUERIES, u64(0x007FFFFF) << 32), keys(QUERIES *ROWS);
std::vector<u32> count(QUERIES);

void tile(const void *) {
	encbench_search_128(queries.data(), QUERIES, rows.data(), ROWS, DIM, DIM, 0, 1, 0, nullptr, nullptr, threshold.data(), nullptr, nullptr, keys.data(), count.data(), ROWS);
}

void by_maps(const void *) {
	auto map = [](std::vector<u16> &m, unsigned n, unsigned box) {
		return TensorMap{TensorMap::MARK, reinterpret_cast<u8 *>(m.data()), n, DIM, 2 * DIM, box, 64, {}};
	};
	encbench_search_wide(map(queries, QUERIES, 128), map(rows, ROWS, 256), QUERIES, ROWS, DIM, 0, 1, 0, nullptr, nullptr, threshold.data(), nullptr, nullptr, keys.data(), count.data(), ROWS);
}

bool right() {
	for (u32 q = 0; q < QUERIES; q++) {
		if (count[q] != ROWS)
			return false;
		std::vector<bool> seen(ROWS);
		for (u32 i = 0; i < ROWS; i++) {
			const u64 key = keys[q * ROWS + i];
			const u32 row = row_of(key);
			if (row >= ROWS || seen[row])
				return false;
			seen[row] = true;
			float sum = 0;
			for (u32 d = 0; d < DIM; d++)
				sum += widen(f16{queries[q * DIM + d]}) * widen(f16{rows[row * DIM + d]});
			if (key != key_of(sum, row))
				return false;
		}
	}
	return true;
}

} // namespace

int main(int argc, char **argv) {
	const bool wide = argc > 1 && argv[1][0] == 'w';
	u32 state = 1;
	for (auto *m : {&queries, &rows})
		for (u16 &v : *m) {
			state = state * 1664525 + 1013904223;
			f16 h;
			narrow((float)(int)(state >> 29) - 3, &h);
			v = h.bits;
		}
	const unsigned threads = wide ? 384 : 256, shared = wide ? Wide::SHARED : Tile<128>::SHARED;
	if (emu::run("search", wide ? by_maps : tile, nullptr, {{1, 1, 1}, {threads, 1, 1}, 1, shared}))
		puts(emu::message());
	else
		puts(right() ? "right" : "wrong");
}
