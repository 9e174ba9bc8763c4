// A driver library for tests: the functions of the CUDA driver that encbench calls, on no
// GPU. Device memory is memory of the host, kernels are the same .cu text compiled for
// the CPU (kernels/emu), streams are threads.
//
// What it does is read from the environment at every call, so a test changes it while the
// program runs:
//
//	ENCBENCH_FAKE_DEVICES      devices of the machine, default 1; 0 is a driver without one
//	CUDA_VISIBLE_DEVICES       as the driver reads it: numbers or UUIDs; what follows one that
//	                           is not there is not shown
//	ENCBENCH_FAKE_INIT         the code of cuInit, default 0
//	ENCBENCH_FAKE_VERSION      of the driver, default 12040
//	ENCBENCH_FAKE_PTX          the latest PTX it reads, major × 10 + minor, default 90
//	ENCBENCH_FAKE_NAME         of the devices
//	ENCBENCH_FAKE_CAPABILITY   compute capability, default 9.0
//	ENCBENCH_FAKE_MEMORY       bytes of a device, default 1 GiB
//	ENCBENCH_FAKE_TAKEN        bytes of it that another process holds, default 0
//	ENCBENCH_FAKE_ECC          1, the default, or 0
//	ENCBENCH_FAKE_MIG          1 shows the devices as slices of one
//	ENCBENCH_FAKE_POWER        the limit in milliwatts, default 0: not told
//	ENCBENCH_FAKE_FAIL         faults, a comma list of FUNCTION:N:CODE — the N-th call from
//	                           now on fails — or FUNCTION:N+:CODE, every call from the N-th;
//	                           FUNCTION@D counts the calls on device D of the machine.
//	                           kernel, copy-in, copy-out, copy and set name work that fails
//	                           when the device comes to it, not when it is asked for.
//	ENCBENCH_FAKE_COPY         bytes a second of copies from and to the host; 0 is no delay
//	ENCBENCH_FAKE_KERNEL       nanoseconds that every kernel takes at least
//	ENCBENCH_FAKE_TRACE        a file that gets a line with the name of each function called
//
// A name with _D after it is for device D of the machine alone: ENCBENCH_FAKE_MEMORY_1.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fake {

// Codes of the driver.
enum Code {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_PTX = 218,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700,
	LAUNCH_OUT_OF_RESOURCES = 701,
	CAPTURE_UNSUPPORTED = 900,
	UNKNOWN = 999,
};

long setting(const char *name, long otherwise);
std::string setting(const char *name, const char *otherwise);


struct Stream;

// Device is one of the machine.
struct Device {
	int ordinal; // in the machine
	int holders = 0; // of the primary context
	size_t used = 0; // bytes
	std::atomic<int> lost{0}; // the sticky code, once a fault ended the context
	std::mutex copy_in, copy_out, compute; // its engines: work of a kind is one after another
	std::mutex mutex;
	std::set<Stream *> streams;

	// setting gives one of the device, or else of all.
	std::string setting(const char *name, const char *otherwise) const;
	long setting(const char *name, long otherwise) const;
	// drain waits for all work of its streams.
	void drain();
};

// injected gives the code that the call of a function on a device, or none, is to fail
// with now; 0 for none.
int injected(const char *function, const Device *on);

int devices_shown();
Device *device(int ordinal); // as it is shown; NULL outside the count
Device *current();           // of the calling thread's context; NULL without one

// Work is what a stream does: it returns a code, a fault of the device when not 0.
using Work = std::function<int()>;

// Event is a place in a stream.
struct Event {
	Device *on;
	std::mutex mutex;
	std::condition_variable changed;
	uint64_t asked = 0, passed = 0; // records asked for, and passed
	double at = 0;                  // seconds, of the last one passed
};

// Stream runs its work in order on a thread of its own.
struct Stream {
	Device *on;
	std::vector<Work> *capturing = nullptr;
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<Work> queue;
	bool busy = false, ending = false;
	std::thread thread;

	explicit Stream(Device *d);
	~Stream(); // waits for its work
	int give(Work w);
	int wait(); // until all work is done; the device's sticky code
	bool idle();

private:
	void run();
};

// memory of a device, and of the host where it is page-locked
struct Block {
	char *start;
	size_t bytes;
	Device *on;
	bool pinned, registered;
};
// block finds the allocation that holds bytes from p on; NULL where none does.
bool block(const void *p, size_t bytes, bool pinned, Block *out);

// Kernel is a kernel that was compiled for the CPU: name, and a function that runs a
// launch. Its code is a fault of the device when not 0.
struct Launch {
	const char *name;
	unsigned grid[3], block[3], cluster, shared;
	void **args;
};
// The first maps parameters are tensor maps of 128 bytes.
struct Kernel {
	const char *name;
	int parameters;
	int (*run)(const Launch &);
	int registers, shared, most_threads;
	int maps = 0;
	const char *targets = ""; // of the texts that must have it, each with a space behind it
};

} // namespace fake

// Kernels of the library, if it was built with some, ended by a name NULL; the stamp is
// that of the PTX of the same sources.
extern "C" {
extern const fake::Kernel encbench_fake_kernels[] __attribute__((weak));
extern const char encbench_fake_stamp[] __attribute__((weak));
}

// ENTER begins a function of the driver: the device's sticky code and injected faults
// come before anything else.
#define ENTER(name) \
	do { \
		if (int code = fake::enter(name)) \
			return code; \
	} while (0)

// ON begins a function that asks for a device, which needs no context: only faults.
#define ON(name, d) \
	do { \
		if (int code = fake::enter(name, d)) \
			return code; \
	} while (0)

namespace fake {
int enter(const char *function);
int enter(const char *function, const Device *on);
}
