// The order in which threads and blocks run: forward, reverse, or random by a number that
// gives the same order again. In a random order threads also stop at random places and let
// others run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace emu {

struct Order {
	enum { FORWARD, REVERSE, RANDOM } kind = FORWARD;
	const char *name = "forward"; // as ENCBENCH_EMU_ORDER gives it
	uint64_t state = 0;

	// kernel makes the random orders of kernels differ.
	explicit Order(const char *kernel) {
		const char *s = getenv("ENCBENCH_EMU_ORDER");
		if (!s || !*s || !strcmp(s, name))
			return;
		name = s;
		if (!strcmp(s, "reverse")) {
			kind = REVERSE;
			return;
		}
		if (strncmp(s, "random:", 7)) {
			fprintf(stderr, "emu: ENCBENCH_EMU_ORDER is forward, reverse or random:NUMBER, not %s\n", s);
			abort();
		}
		kind = RANDOM;
		state = strtoull(s + 7, nullptr, 10) + 1;
		for (; *kernel; kernel++)
			state = (state ^ uint64_t(*kernel)) * 0x9E3779B97F4A7C15u;
	}

	uint64_t next() { // splitmix64
		uint64_t z = state += 0x9E3779B97F4A7C15u;
		z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
		z = (z ^ z >> 27) * 0x94D049BB133111EBu;
		return z ^ z >> 31;
	}

	// stop says whether a thread is to let others run here, one time in one_in.
	bool stop(unsigned one_in) { return kind == RANDOM && next() % one_in == 0; }

	// sequence puts 0 to n−1 into the order of a round.
	void sequence(std::vector<unsigned> &to, unsigned n) {
		to.resize(n);
		for (unsigned i = 0; i < n; i++)
			to[i] = kind == REVERSE ? n - 1 - i : i;
		if (kind == RANDOM)
			for (unsigned i = n; i > 1; i--)
				std::swap(to[i - 1], to[next() % i]);
	}
};

} // namespace emu
