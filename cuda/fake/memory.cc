// Memory of devices and page-locked memory of the host, and copies between them.
#include "fake.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace fake {

namespace {

std::mutex mutex;
std::map<uintptr_t, Block> blocks; // by their start

// Bytes around an allocation that hold a pattern: what writes outside is found when it
// is freed, also without a sanitizer.
constexpr size_t guard = 64;
constexpr unsigned char pattern = 0xA5;

// Under AddressSanitizer an allocation ends where its bytes end, so that the sanitizer
// names the line that goes beyond.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t before = 0;
#else
constexpr size_t before = 256;
#endif

bool intact(const Block &b) {
	if (!before)
		return true;
	for (size_t i = 0; i < guard; i++)
		if ((unsigned char)b.start[-1 - long(i)] != pattern || (unsigned char)b.start[b.bytes + i] != pattern)
			return false;
	return true;
}

// room is how many bytes of a device are free.
size_t room(const Device *on) {
	size_t all = size_t(on->setting("ENCBENCH_FAKE_MEMORY", 1L << 30));
	return all - std::min(all, on->used + size_t(on->setting("ENCBENCH_FAKE_TAKEN", 0L)));
}

int allocate(void **p, size_t bytes, bool pinned) {
	Device *on = current();
	if (!on)
		return INVALID_CONTEXT;
	std::lock_guard<std::mutex> lock(mutex);
	if (!pinned && bytes > room(on))
		return OUT_OF_MEMORY;
	// 256 bytes of alignment, as the driver's.
	size_t all = before ? before + bytes + guard : bytes;
	void *got = nullptr;
	if (posix_memalign(&got, 256, all))
		return OUT_OF_MEMORY;
	auto *raw = static_cast<unsigned char *>(got), *start = raw + before;
	memset(raw, pattern, all);
	// What was not written is no number in any type.
	memset(start, 0xFF, bytes);
	blocks[uintptr_t(start)] = {(char *)start, bytes, on, pinned, false};
	if (!pinned)
		on->used += bytes;
	*p = start;
	return OK;
}

int release(void *p, bool pinned) {
	std::lock_guard<std::mutex> lock(mutex);
	auto it = blocks.find(uintptr_t(p));
	if (it == blocks.end() || it->second.pinned != pinned || it->second.registered)
		return INVALID_VALUE;
	if (!intact(it->second)) {
		fprintf(stderr, "fake driver: something wrote outside an allocation of %zu bytes\n", it->second.bytes);
		abort();
	}
	if (!pinned)
		it->second.on->used -= it->second.bytes;
	free((unsigned char *)p - before);
	blocks.erase(it);
	return OK;
}

// take holds an engine as long as a copy takes.
int take(Device *on, void *to, const void *from, size_t bytes, bool in) {
	std::lock_guard<std::mutex> lock(in ? on->copy_in : on->copy_out);
	if (int code = injected(in ? "copy-in" : "copy-out", on))
		return code;
	if (long rate = on->setting("ENCBENCH_FAKE_COPY", 0L))
		std::this_thread::sleep_for(std::chrono::duration<double>(double(bytes) / double(rate)));
	memcpy(to, from, bytes);
	return OK;
}

// copy gives a copy to a stream. Memory of the host that is not page-locked is waited
// for, as the driver does.
int copy(Stream *s, void *to, const void *from, size_t bytes, bool in) {
	if (!s)
		return INVALID_HANDLE;
	Block b;
	if (!block(in ? to : from, bytes, false, &b))
		return INVALID_VALUE;
	bool pinned = block(in ? from : to, bytes, true, &b);
	Device *on = s->on;
	int code = s->give([=] { return on->lost ? int(OK) : take(on, to, from, bytes, in); });
	return code || pinned || s->capturing ? code : s->wait();
}

} // namespace

bool block(const void *p, size_t bytes, bool pinned, Block *out) {
	std::lock_guard<std::mutex> lock(mutex);
	auto it = blocks.upper_bound(uintptr_t(p));
	if (it == blocks.begin())
		return false;
	const Block &b = (--it)->second;
	if (b.pinned != pinned || uintptr_t(p) + bytes > uintptr_t(b.start) + b.bytes)
		return false;
	*out = b;
	return true;
}

} // namespace fake

using namespace fake;

extern "C" {

int cuMemGetInfo_v2(size_t *free, size_t *total) {
	ENTER("cuMemGetInfo_v2");
	if (!current())
		return INVALID_CONTEXT;
	*total = size_t(current()->setting("ENCBENCH_FAKE_MEMORY", 1L << 30));
	*free = room(current());
	return OK;
}

int cuMemAlloc_v2(void **p, size_t bytes) {
	ENTER("cuMemAlloc_v2");
	return bytes ? allocate(p, bytes, false) : INVALID_VALUE;
}

// Freeing waits for the device, as the driver's does. Freeing page-locked memory does
// not: who frees it under a copy is told by the sanitizer.
int cuMemFree_v2(void *p) {
	if (Block b; block(p, 0, false, &b))
		b.on->drain();
	int code = release(p, false);
	return code ? code : enter("cuMemFree_v2");
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned) {
	ENTER("cuMemHostAlloc");
	return bytes ? allocate(p, bytes, true) : INVALID_VALUE;
}

int cuMemFreeHost(void *p) {
	int code = release(p, true);
	return code ? code : enter("cuMemFreeHost");
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned) {
	ENTER("cuMemHostRegister_v2");
	if (!current())
		return INVALID_CONTEXT;
	if (!p || !bytes)
		return INVALID_VALUE;
	std::lock_guard<std::mutex> lock(mutex);
	if (blocks.count(uintptr_t(p)))
		return 712; // registered already
	blocks[uintptr_t(p)] = {static_cast<char *>(p), bytes, current(), true, true};
	return OK;
}

int cuMemHostUnregister(void *p) {
	{
		std::lock_guard<std::mutex> lock(mutex);
		auto it = blocks.find(uintptr_t(p));
		if (it == blocks.end() || !it->second.registered)
			return 713; // not registered
		blocks.erase(it);
	}
	return enter("cuMemHostUnregister");
}

int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, Stream *s) {
	ENTER("cuMemcpyHtoDAsync_v2");
	return copy(s, to, from, bytes, true);
}

int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, Stream *s) {
	ENTER("cuMemcpyDtoHAsync_v2");
	return copy(s, to, from, bytes, false);
}

int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, Stream *s) {
	ENTER("cuMemcpyDtoDAsync_v2");
	Block b;
	if (!s)
		return INVALID_HANDLE;
	if (!block(to, bytes, false, &b) || !block(from, bytes, false, &b))
		return INVALID_VALUE;
	Device *on = s->on;
	return s->give([=] {
		if (on->lost)
			return int(OK);
		if (int code = injected("copy", on))
			return code;
		memmove(to, from, bytes);
		return int(OK);
	});
}

int cuMemsetD8Async(void *to, unsigned char v, size_t bytes, Stream *s) {
	ENTER("cuMemsetD8Async");
	Block b;
	if (!s)
		return INVALID_HANDLE;
	if (!block(to, bytes, false, &b))
		return INVALID_VALUE;
	Device *on = s->on;
	return s->give([=] {
		if (on->lost)
			return int(OK);
		if (int code = injected("set", on))
			return code;
		memset(to, v, bytes);
		return int(OK);
	});
}
}
