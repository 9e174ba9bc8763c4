// Barriers that copies complete, the copy engine, and products of a warpgroup.
#include "hopper.cuh"

#include "swizzle.cuh"

#include <cstdio>
#include <deque>
#include <map>
#include <vector>

namespace emu {

namespace {

struct Barrier {
	unsigned count, pending; // arrivals of a phase, and those that are awaited
	long bytes = 0;          // that are awaited
	unsigned phase = 0;
	bool ready = false; // known to the copy engine
};

// Flight is a copy under way.
struct Flight {
	unsigned rounds; // until it lands
	u8 *to;
	TensorMap map;
	unsigned column, row;
	u64 *barrier;
};

constexpr unsigned ROWS = 16, COLUMNS = 256, DEPTH = 16, HELD = 128; // of a warp's part of a product

// Product is a warp's part of a product that was asked for.
struct Product {
	u64 a, b;
	bool bfloat, over;
};

// Warp is what the tensor cores do for a warp.
struct Warp {
	bool fenced = false;
	std::vector<u64> asked;             // all descriptors, to compare with the other warps
	std::vector<Product> open;          // in no group yet
	std::deque<std::vector<Product>> groups;
	bool holds = false;                 // results are here, not in the registers
	float *registers[32];
	float held[32][HELD];
};

struct Hopper : Engine {
	std::map<u64 *, Barrier> barriers;
	std::vector<Flight> flights;
	std::map<unsigned, std::pair<u64 *, unsigned>> waits; // threads at barriers
	std::map<unsigned, Warp> warps;

	Barrier &find(u64 *b) {
		auto it = barriers.find(b);
		if (it == barriers.end())
			fault("thread %u: no barrier was made at byte %u of shared memory", thread_number(), address(b));
		return it->second;
	}

	static void turn(Barrier &b) {
		if (b.pending == 0 && b.bytes == 0) {
			b.phase++;
			b.pending = b.count;
		}
	}

	void land(const Flight &f) {
		for (unsigned r = 0; r < f.map.box_rows; r++)
			for (unsigned c = 0; c < f.map.box_columns; c++) {
				const uint64_t row = f.row + uint64_t(r), column = f.column + uint64_t(c);
				u16 v = 0;
				if (row < f.map.rows && column < f.map.columns)
					memcpy(&v, f.map.at + row * f.map.row_bytes + column * 2, 2);
				memcpy(f.to + at(r, c / 8) + c % 8 * 2, &v, 2);
			}
		Barrier &b = barriers.at(f.barrier);
		b.bytes -= long(f.map.box_rows) * f.map.box_columns * 2;
		turn(b);
	}

	bool step() override {
		if (flights.empty())
			return false;
		std::vector<Flight> on;
		for (Flight &f : flights)
			if (f.rounds-- == 0)
				land(f);
			else
				on.push_back(f);
		flights.swap(on);
		return true;
	}

	std::string waiting() override {
		std::string s;
		for (auto &w : waits) {
			const Barrier &b = barriers.at(w.second.first);
			s += "; thread " + std::to_string(w.first) + " waits for the end of phase " + std::to_string(w.second.second) + " of the barrier at byte " + std::to_string(address(w.second.first)) +
				", which awaits " + std::to_string(b.pending) + " arrivals and " + std::to_string(b.bytes) + " bytes in phase " + std::to_string(b.phase);
			if (s.size() > 1000)
				break;
		}
		return s;
	}

	std::string left() override {
		if (!flights.empty())
			return std::to_string(flights.size()) + " copies under way";
		for (auto &w : warps) {
			if (!w.second.open.empty() || !w.second.groups.empty())
				return "products of warp " + std::to_string(w.first) + " that it did not wait for";
			if (w.second.asked != warps[w.first / 4 * 4].asked)
				return "warps of a warpgroup that asked for different products";
		}
		return "";
	}
};

Hopper &hopper() {
	auto &e = engine();
	if (!e)
		e = std::make_unique<Hopper>();
	return static_cast<Hopper &>(*e);
}

unsigned warp_number() { return thread_number() / 32; }

// operand gives element k of a row that a descriptor names.
float operand(u64 descriptor, unsigned row, unsigned k, bool bfloat) {
	const unsigned start = unsigned(descriptor & 0x3FFF) << 4, part = start % 128 / 16 + k / 8;
	u16 bits;
	memcpy(&bits, shared_memory(start / 1024 * 1024 + at(row, part) + k % 8 * 2, 2), 2);
	return bfloat ? widen(bf16{bits}) : widen(f16{bits});
}

// multiply does a product for a warp.
void multiply(Warp &w, unsigned number, Product &p) {
	if (p.over)
		return;
	p.over = true;
	static thread_local float b[DEPTH][COLUMNS];
	for (unsigned c = 0; c < COLUMNS; c++)
		for (unsigned k = 0; k < DEPTH; k++)
			b[k][c] = operand(p.b, c, k, p.bfloat);
	for (unsigned r = 0; r < ROWS; r++) {
		float sum[COLUMNS];
		for (unsigned c = 0; c < COLUMNS; c++)
			sum[c] = w.held[r % 8 * 4 + c % 8 / 2][c / 8 * 4 + r / 8 * 2 + c % 2];
		for (unsigned k = 0; k < DEPTH; k++) {
			const float a = operand(p.a, number % 4 * ROWS + r, k, p.bfloat);
			for (unsigned c = 0; c < COLUMNS; c++)
				sum[c] += a * b[k][c];
		}
		for (unsigned c = 0; c < COLUMNS; c++)
			w.held[r % 8 * 4 + c % 8 / 2][c / 8 * 4 + r / 8 * 2 + c % 2] = sum[c];
	}
}

// What a lane gives to wgmma.
struct Request {
	float *c;
	u64 a, b;
	bool bfloat;
};

void check(u64 descriptor) {
	const u64 fixed = u64(1) << 62 | u64(1024 >> 4) << 32;
	if ((descriptor & ~u64(0x3FFFFFFF)) != fixed)
		fault("wgmma: descriptor %#llx is not one of swizzled rows of 128 bytes", descriptor);
}

// ask is wgmma for a warp, by its last lane.
void ask(const void *all, void *) {
	auto lanes = static_cast<const Request *>(all);
	Warp &w = hopper().warps[warp_number()];
	if (!w.fenced)
		fault("warp %u: a product, and no wgmma.fence after its registers were written", warp_number());
	check(lanes[0].a);
	check(lanes[0].b);
	for (int t = 0; t < 32; t++) {
		if (lanes[t].a != lanes[0].a || lanes[t].b != lanes[0].b || lanes[t].bfloat != lanes[0].bfloat)
			fault("wgmma: lanes of warp %u name different operands", warp_number());
		if (!w.holds) {
			w.registers[t] = lanes[t].c;
			memcpy(w.held[t], lanes[t].c, sizeof w.held[t]);
		} else if (w.registers[t] != lanes[t].c)
			fault("wgmma: warp %u adds to other registers while products run", warp_number());
		memset(static_cast<void *>(lanes[t].c), 0xFF, sizeof w.held[t]);
	}
	w.holds = true;
	w.asked.push_back(lanes[0].a - (u64)(warp_number() / 4 * 64 * 128 >> 4));
	w.asked.push_back(lanes[0].b);
	w.open.push_back({lanes[0].a, lanes[0].b, lanes[0].bfloat, false});
	if (chance(2) == 0) { // at once, and what was put off before it
		for (auto &g : w.groups)
			for (Product &p : g)
				multiply(w, warp_number(), p);
		for (Product &p : w.open)
			multiply(w, warp_number(), p);
	}
}

void close(const void *, void *) {
	Warp &w = hopper().warps[warp_number()];
	w.groups.push_back(std::move(w.open));
	w.open.clear();
}

void await(const void *all, void *) {
	Warp &w = hopper().warps[warp_number()];
	unsigned groups;
	memcpy(&groups, all, sizeof groups);
	while (w.groups.size() > groups) {
		for (Product &p : w.groups.front())
			multiply(w, warp_number(), p);
		w.groups.pop_front();
	}
	if (w.groups.empty() && w.open.empty() && w.holds) {
		for (int t = 0; t < 32; t++)
			memcpy(w.registers[t], w.held[t], sizeof w.held[t]);
		w.holds = w.fenced = false;
	}
}

void fence(const void *, void *) { hopper().warps[warp_number()].fenced = true; }

} // namespace

void mbarrier_init(u64 *b, unsigned count) {
	if (uintptr_t(b) % 8 || !hopper().barriers.emplace(b, Barrier{count, count}).second)
		fault("mbarrier.init: byte %u is not a multiple of 8, or holds a barrier", address(b));
}

void mbarriers_ready() {
	for (auto &b : hopper().barriers)
		b.second.ready = true;
}

void mbarrier_arrive(u64 *at, unsigned bytes) {
	yield();
	Barrier &b = hopper().find(at);
	if (b.pending == 0)
		fault("thread %u: more than %u arrivals at the barrier at byte %u", thread_number(), b.count, address(at));
	b.bytes += bytes;
	b.pending--;
	Hopper::turn(b);
	moved();
}

void mbarrier_wait(u64 *at, unsigned parity) {
	Barrier &b = hopper().find(at);
	hopper().waits[thread_number()] = {at, parity};
	while ((b.phase & 1) == parity)
		yield();
	hopper().waits.erase(thread_number());
	moved();
}

void tma_load(void *to, const TensorMap *map, unsigned column, unsigned row, u64 *b) {
	const unsigned bytes = map->box_rows * 128;
	if (map->mark != TensorMap::MARK)
		fault("a copy by what is no tensor map");
	if (address(to) % 1024)
		fault("a copy to byte %u of shared memory, which is not a multiple of 1024", address(to));
	if (!hopper().find(b).ready)
		fault("a copy to the barrier at byte %u, which the copy engine does not know of", address(b));
	shared_memory(address(to) + bytes - 1, 1);
	memset(to, 0xFF, bytes);
	hopper().flights.push_back({chance(6), static_cast<u8 *>(to), *map, column, row, b});
	moved();
}

void wgmma(float *c, u64 a, u64 b, bool bfloat) {
	const Request mine{c, a, b, bfloat};
	combine("wgmma", &mine, sizeof mine, 1, ask);
}
void wgmma_fence() { combine("wgmma.fence", "", 1, 1, fence); }
void wgmma_commit() { combine("wgmma.commit_group", "", 1, 1, close); }
void wgmma_wait(unsigned groups) { combine("wgmma.wait_group", &groups, sizeof groups, 1, await); }

} // namespace emu
