// Settings of the environment and the faults that they ask for.
#include "fake.h"

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
		faults.push_back({one.substr(0, a), strtol(n.c_str(), nullptr, 10), n.back() == '+', atoi(one.c_str() + b + 1)});
	}
}

} // namespace

int injected(const char *function) {
	std::lock_guard<std::mutex> lock(mutex);
	std::string now = setting("ENCBENCH_FAKE_FAIL", "");
	if (now != asked) {
		read(now);
		asked = now;
	}
	int code = 0;
	for (Fault &f : faults) {
		if (f.function != function)
			continue;
		f.seen++;
		if (f.seen == f.call || (f.onward && f.seen > f.call))
			code = f.code;
	}
	return code;
}

int enter(const char *function) {
	if (Device *d = current(); d && d->lost)
		return d->lost;
	return injected(function);
}

} // namespace fake
