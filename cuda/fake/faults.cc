// Settings of the environment and the faults that they ask for.
#include "fake.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake {

long setting(const char *name, long otherwise) {
	const char *v = getenv(name);
	return v && *v ? strtol(v, nullptr, 0) : otherwise;
}

std::string setting(const char *name, const char *otherwise) {
	const char *v = getenv(name);
	return v && *v ? v : otherwise;
}

namespace {

struct Fault {
	std::string function;
	int device;  // of the machine, −1 for any
	long call;   // counted from 1
	bool onward; // and every later one
	int code;
	long seen = 0;
};

std::mutex mutex;
std::string asked; // the setting that faults were read from
std::vector<Fault> faults;

void read(const std::string &list) {
	faults.clear();
	for (size_t at = 0; at < list.size();) {
		size_t end = list.find(',', at);
		if (end == std::string::npos)
			end = list.size();
		std::string one = list.substr(at, end - at);
		at = end + 1;
		size_t a = one.find(':'), b = one.rfind(':');
		if (a == std::string::npos || a == b) {
			fprintf(stderr, "fake driver: fault %s is not FUNCTION:N:CODE\n", one.c_str());
			abort();
		}
		std::string n = one.substr(a + 1, b - a - 1);
		std::string function = one.substr(0, a);
		int device = -1;
		if (size_t at = function.find('@'); at != std::string::npos) {
			device = atoi(function.c_str() + at + 1);
			function.resize(at);
		}
		faults.push_back({function, device, strtol(n.c_str(), nullptr, 10), n.back() == '+', atoi(one.c_str() + b + 1)});
	}
}

// ends_context says whether every later call gives the code again.
bool ends_context(int code) {
	for (int c : {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719})
		if (c == code)
			return true;
	return false;
}

} // namespace

std::string Device::setting(const char *name, const char *otherwise) const {
	return fake::setting((name + ("_" + std::to_string(ordinal))).c_str(), fake::setting(name, otherwise).c_str());
}

long Device::setting(const char *name, long otherwise) const {
	return fake::setting((name + ("_" + std::to_string(ordinal))).c_str(), fake::setting(name, otherwise));
}

int injected(const char *function, const Device *on) {
	std::lock_guard<std::mutex> lock(mutex);
	std::string now = setting("ENCBENCH_FAKE_FAIL", "");
	if (now != asked) {
		read(now);
		asked = now;
	}
	if (std::string to = setting("ENCBENCH_FAKE_TRACE", ""); !to.empty())
		if (FILE *f = fopen(to.c_str(), "a")) {
			fprintf(f, "%s\n", function);
			fclose(f);
		}
	int code = 0;
	for (Fault &f : faults) {
		if (f.function != function || (f.device >= 0 && (!on || f.device != on->ordinal)))
			continue;
		f.seen++;
		if (f.seen == f.call || (f.onward && f.seen > f.call))
			code = f.code;
	}
	// A code that ends a context does so whichever call it comes from.
	if (on && on->holders > 0 && ends_context(code))
		const_cast<Device *>(on)->lost = code;
	return code;
}

int enter(const char *function, const Device *on) { return injected(function, on); }

int enter(const char *function) {
	const Device *on = current();
	if (int code = on ? on->lost.load() : 0)
		return code;
	return injected(function, on);
}

} // namespace fake
