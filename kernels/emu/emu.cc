#include "emu.h"
#include "order.h"
#include "switch.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emu {

namespace {

constexpr size_t STACK = 256 << 10;

// Copy is a cp.async that was begun.
struct Copy {
	void *to;
	const void *from;
	unsigned bytes;
};

struct Fiber {
	unsigned number = 0;
	char *stack = nullptr;
	bool ended = false;
	bool waits = false; // at a barrier or a collective, until the last one comes
	std::vector<Copy> open;   // copies that are not in a group yet
	std::vector<std::vector<Copy>> groups;
#if defined(__x86_64__)
	void *at = nullptr; // its stack pointer while others run
#else
	ucontext_t context;
#endif
#if defined(__SANITIZE_ADDRESS__)
	void *fake = nullptr; // of the sanitizer
#endif
};

// Meeting is where the lanes of a warp exchange.
struct Meeting {
	const char *operation = nullptr;
	unsigned come = 0, bytes = 0;
	uint64_t phase = 0;
	std::vector<unsigned char> in, out; // while they come; what they got
	bool here[32] = {};
};

struct Block {
	const Geometry *geometry;
	unsigned number, threads;
	unsigned char *shared;
	std::vector<Fiber> fibers;
	std::vector<Meeting> warps;
	unsigned at_barrier = 0;
	const char *where = nullptr; // the barrier
	int line = 0;
	uint64_t barriers = 0, moves = 0; // moves counts what brings the block on
	unsigned ended = 0;
	const char *kernel;
	void (*call)(const void *);
	const void *arguments;
	bool failed = false;
	std::unique_ptr<Engine> engine;
#if defined(__x86_64__)
	void *scheduler = nullptr;
#else
	ucontext_t scheduler;
#endif
#if defined(__SANITIZE_ADDRESS__)
	void *fake = nullptr;
	const void *bottom = nullptr;
	size_t size = 0;
#endif
};

thread_local Block *here;
thread_local Fiber *self;

std::mutex message_mutex;
std::string last;

thread_local Order *order;

void body() {
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(nullptr, &here->bottom, &here->size);
#endif
	here->call(here->arguments);
	for (auto &g : self->groups)
		if (!g.empty())
			fault("thread %u ends with copies that it did not wait for", self->number);
	if (!self->open.empty())
		fault("thread %u ends with copies in no group", self->number);
	self->ended = true;
	here->ended++;
	here->moves++;
	// A thread that has ended is waited for no longer: others at a barrier would wait for
	// ever, which the scheduler finds.
	for (;;)
		yield();
}

// resume runs a fiber until it yields.
void resume(Fiber *f) {
	self = f;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(&here->fake, f->stack, STACK);
#endif
#if defined(__x86_64__)
	encbench_emu_switch(&here->scheduler, f->at);
#else
	swapcontext(&here->scheduler, &f->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(here->fake, nullptr, nullptr);
#endif
	self = nullptr;
}

void prepare(Fiber *f) {
#if defined(__SANITIZE_ADDRESS__)
	// The last one on this stack never returned, so what it held is still forbidden.
	__asan_unpoison_memory_region(f->stack, STACK);
#endif
#if defined(__x86_64__)
	// As if body had called switch: six registers, the address to return to, and a stack
	// that is aligned as after a call.
	auto top = reinterpret_cast<void **>(f->stack + STACK);
	*--top = nullptr;
	*--top = reinterpret_cast<void *>(body);
	for (int i = 0; i < 6; i++)
		*--top = nullptr;
	f->at = top;
#else
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK;
	f->context.uc_link = nullptr;
	makecontext(&f->context, body, 0);
#endif
}

// Stacks are kept from block to block.
thread_local struct Stacks {
	std::vector<char *> all;
	char *get(unsigned i) {
		while (all.size() <= i) {
			void *p = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			if (p == MAP_FAILED) {
				perror("emu: a fiber's stack");
				abort();
			}
			all.push_back(static_cast<char *>(p));
		}
		return all[i];
	}
	~Stacks() {
		for (char *p : all)
			munmap(p, STACK);
	}
} stacks;

void tell(const std::string &text) {
	fprintf(stderr, "emu: %s\n", text.c_str());
	std::lock_guard<std::mutex> lock(message_mutex);
	last = text;
}

// stuck describes who waits for whom when nobody can go on.
std::string stuck(const Block &b) {
	std::string s;
	if (b.at_barrier)
		s += ": " + std::to_string(b.at_barrier) + " of " + std::to_string(b.threads) + " threads are at the barrier of " + b.where + ":" + std::to_string(b.line) + ", " + std::to_string(b.ended) + " have ended";
	for (size_t w = 0; w < b.warps.size(); w++)
		if (b.warps[w].come)
			return s + "; " + std::to_string(b.warps[w].come) + " of 32 threads of warp " + std::to_string(w) + " are at a " + b.warps[w].operation;
	return s;
}

bool run_block(Block &b) {
	here = &b;
	b.fibers.resize(b.threads);
	b.warps.resize((b.threads + 31) / 32);
	for (unsigned i = 0; i < b.threads; i++) {
		b.fibers[i].number = i;
		b.fibers[i].stack = stacks.get(i);
		prepare(&b.fibers[i]);
	}
	std::vector<unsigned> turn;
	for (unsigned idle = 0; b.ended < b.threads && !b.failed;) {
		uint64_t before = b.moves;
		order->sequence(turn, b.threads);
		for (unsigned i : turn) {
			Fiber &f = b.fibers[i];
			if (!f.ended && !f.waits && !b.failed)
				resume(&f);
		}
		if (b.engine && !b.failed && b.engine->step())
			b.moves++;
		// A round in which nobody came anywhere may have been one of yields at atomics.
		idle = b.moves == before ? idle + 1 : 0;
		if (idle > 1000) {
			tell(std::string(b.kernel) + ", block " + std::to_string(b.number) + ": nobody can go on" + stuck(b) + (b.engine ? b.engine->waiting() : "") + " (order " + order->name + ")");
			b.failed = true;
		}
	}
	if (b.engine && !b.failed)
		if (std::string left = b.engine->left(); !left.empty()) {
			tell(std::string(b.kernel) + ", block " + std::to_string(b.number) + ": ends with " + left);
			b.failed = true;
		}
	here = nullptr;
	return !b.failed;
}

} // namespace

int run(const char *name, void (*kernel)(const void *), const void *arguments, const Geometry &g) {
	Order o(name);
	order = &o;
	std::vector<unsigned> blocks;
	o.sequence(blocks, g.grid[0] * g.grid[1] * g.grid[2]);
	int code = 0;
	for (unsigned number : blocks) {
		Block b;
		b.geometry = &g;
		b.number = number;
		b.threads = g.block[0] * g.block[1] * g.block[2];
		b.kernel = name;
		b.call = kernel;
		b.arguments = arguments;
		void *shared = nullptr;
		if (posix_memalign(&shared, 1024, g.shared ? g.shared : 1))
			abort();
		memset(shared, 0xFF, g.shared); // no number, in any type
		b.shared = static_cast<unsigned char *>(shared);
		bool ok = run_block(b);
		free(shared);
		if (!ok) {
			code = 719;
			break;
		}
	}
	order = nullptr;
	return code;
}

const char *message() {
	static thread_local std::string copy;
	std::lock_guard<std::mutex> lock(message_mutex);
	copy = last;
	return copy.c_str();
}

std::unique_ptr<Engine> &engine() { return here->engine; }
void moved() { here->moves++; }
unsigned char *arena() { return here->shared; }
unsigned chance(unsigned n) {
	switch (order->kind) {
	case Order::FORWARD: return 0;
	case Order::REVERSE: return n - 1;
	default: return unsigned(order->next() % n);
	}
}

namespace {

// wander lets others run at a place where a device may do so too.
void wander(unsigned one_in) {
	if (order->stop(one_in))
		yield();
}

} // namespace

unsigned thread_number() {
	const unsigned number = self->number;
	wander(64);
	return number;
}
unsigned threads_of_block() { return here->threads; }
unsigned block_number() { return here->number; }
unsigned blocks_of_grid() { return here->geometry->grid[0]; }

unsigned char *shared_memory(unsigned from, unsigned align) {
	if (from % align)
		fault("shared memory: byte %u is not a multiple of %u", from, align);
	if (from >= here->geometry->shared)
		fault("shared memory: byte %u of %u", from, here->geometry->shared);
	return here->shared + from;
}

void yield() {
	Fiber *me = self;
	Block *b = here;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(&me->fake, b->bottom, b->size);
#endif
#if defined(__x86_64__)
	encbench_emu_switch(&me->at, b->scheduler);
#else
	swapcontext(&me->context, &b->scheduler);
#endif
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(me->fake, &b->bottom, &b->size);
#endif
}

void barrier(const char *where, int line) {
	wander(4);
	Block *b = here;
	if (b->at_barrier && (b->line != line || (b->where != where && strcmp(b->where, where))))
		fault("thread %u is at the barrier of %s:%d, others at that of %s:%d", self->number, where, line, b->where, b->line);
	b->where = where;
	b->line = line;
	const uint64_t phase = b->barriers;
	b->moves++;
	if (++b->at_barrier == b->threads) {
		b->at_barrier = 0;
		b->barriers++;
		for (Fiber &f : b->fibers)
			f.waits = false;
		return;
	}
	self->waits = true;
	while (b->barriers == phase)
		yield();
}

namespace {

// meet enters a collective; done tells the last one, who is to fill out.
Meeting &meet(const char *operation, const void *mine, unsigned bytes, bool *done) {
	wander(8);
	Meeting &m = here->warps[self->number / 32];
	const unsigned lane = self->number % 32;
	if (m.come == 0) {
		m.operation = operation;
		m.bytes = bytes;
		m.in.assign(32 * bytes, 0xFF);
	} else if (m.bytes != bytes || (m.operation != operation && strcmp(m.operation, operation)))
		fault("thread %u is at a %s, others of its warp at a %s", self->number, operation, m.operation);
	memcpy(&m.in[lane * bytes], mine, bytes);
	here->moves++;
	*done = ++m.come == 32;
	return m;
}

// part waits until the collective is over, or ends it.
void part(Meeting &m, bool done) {
	const uint64_t phase = m.phase;
	if (done) {
		m.come = 0;
		m.phase++;
		for (unsigned i = 0; i < 32; i++)
			here->fibers[self->number / 32 * 32 + i].waits = false;
		return;
	}
	self->waits = true;
	while (m.phase == phase)
		yield();
}

} // namespace

const void *exchange(const char *operation, const void *mine, unsigned bytes) {
	bool done;
	Meeting &m = meet(operation, mine, bytes, &done);
	if (done)
		m.out.swap(m.in); // nobody fills out again before all have come anew
	part(m, done);
	return m.out.data();
}

const void *combine(const char *operation, const void *mine, unsigned bytes, unsigned out, void (*work)(const void *, void *)) {
	bool done;
	Meeting &m = meet(operation, mine, bytes, &done);
	if (done) {
		m.out.resize(32 * out);
		work(m.in.data(), m.out.data());
	}
	part(m, done);
	return m.out.data();
}

void copy_begin(void *to, const void *from, unsigned bytes) {
	if (reinterpret_cast<uintptr_t>(to) % 16 || reinterpret_cast<uintptr_t>(from) % 16)
		fault("cp.async: an address that is not a multiple of 16");
	unsigned char now[16];
	memcpy(now, from, bytes); // a sanitizer names the kernel's line here, not that of its wait
	memset(to, 0xFF, 16);
	asm volatile("" : : "r"(now) : "memory");
	self->open.push_back({to, from, bytes});
}

void copy_commit() {
	self->groups.push_back(std::move(self->open));
	self->open.clear();
}

void copy_wait(unsigned groups) {
	while (self->groups.size() > groups) {
		for (const Copy &c : self->groups.front()) {
			unsigned char line[16] = {};
			memcpy(line, c.from, c.bytes);
			memcpy(c.to, line, 16);
		}
		self->groups.erase(self->groups.begin());
	}
}

void fault(const char *format, ...) {
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	tell(std::string(here->kernel) + ", block " + std::to_string(here->number) + ": " + text + " (order " + order->name + ")");
	here->failed = true;
	for (;;) // the scheduler runs nobody any more
		yield();
}

} // namespace emu
