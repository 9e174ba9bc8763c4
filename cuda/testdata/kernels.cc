// Kernels for the tests of package cuda.
#include "fake.h"

#include <cstring>

namespace {

uint64_t arg(const fake::Launch &l, int i) {
	uint64_t v;
	memcpy(&v, l.args[i], 8);
	return v;
}

// add puts a + b into to, of n floats.
int add(const fake::Launch &l) {
	auto *to = reinterpret_cast<float *>(arg(l, 0));
	auto *a = reinterpret_cast<const float *>(arg(l, 1)), *b = reinterpret_cast<const float *>(arg(l, 2));
	int64_t n = int64_t(arg(l, 3));
	double scale;
	uint64_t bits = arg(l, 4);
	memcpy(&scale, &bits, 8);
	for (int64_t i = 0; i < n; i++)
		to[i] = float(scale * (double(a[i]) + double(b[i])));
	return fake::OK;
}

// stray writes where nothing is.
int stray(const fake::Launch &) { return fake::ILLEGAL_ADDRESS; }

} // namespace

extern "C" const fake::Kernel encbench_fake_kernels[] = {
	{"encbench_test_add", 5, add, 32, 0, 1024},
	{"encbench_test_stray", 0, stray, 16, 0, 1024},
	{nullptr, 0, nullptr, 0, 0, 0},
};
extern "C" const char encbench_fake_stamp[] = "test";
