// A block of threads on the CPU: every thread is a fiber, and one runs at a time until it
// waits for others. The order in which they run is chosen, so that what depends on it
// shows: ENCBENCH_EMU_ORDER is forward, reverse or random:NUMBER (order.h).
//
// Found and told: threads that meet a barrier or a collective which others of their warp
// or block never come to; two different collectives at once; addresses that are not
// aligned; copies that nobody waited for. What a copy writes is no number until the thread
// that began it has waited. hopper.cuh adds what capability 9.0 has. Bounds of memory are the sanitizer's.
//
// Not found: what the memory model of a device permits beyond that, bank conflicts,
// spills, the rounding inside its tensor cores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace emu {

// Run runs one kernel. The result is 0, or a code of the driver after a fault, which is
// told on standard error and by message.
struct Geometry {
	unsigned grid[3], block[3], cluster, shared;
};
int run(const char *name, void (*kernel)(const void *), const void *arguments, const Geometry &g);

// message is the last fault, "" before any.
const char *message();

// Of the running thread.
unsigned thread_number();
unsigned threads_of_block();
unsigned block_number();
unsigned blocks_of_grid();
unsigned char *shared_memory(unsigned from, unsigned align);

void barrier(const char *where, int line);
// yield lets others run: at atomics, so that their order varies.
void yield();

// exchange is a collective of the warp: everyone gives bytes, and gets those of all 32
// lanes one after another, valid until the thread's next collective.
const void *exchange(const char *operation, const void *mine, unsigned bytes);

// combine is a collective in which the last to come works for all: work reads what all
// lanes gave and writes what all get, out bytes each.
const void *combine(const char *operation, const void *mine, unsigned bytes, unsigned out, void (*work)(const void *all, void *results));

void copy_begin(void *to, const void *from, unsigned bytes);
void copy_commit();
void copy_wait(unsigned groups);

// Engine is what works beside the threads of a block: the copies of capability 9.0.
struct Engine {
	virtual ~Engine() = default;
	virtual bool step() = 0;           // after each round of the threads: whether anything came on
	virtual std::string waiting() = 0; // who waits for what, for the report when nobody can go on
	virtual std::string left() = 0;    // what is not over when the block ends, "" for nothing
};
// engine is that of the running block, none at first.
std::unique_ptr<Engine> &engine();

// moved says that the running thread brought the block on.
void moved();
// chance is a choice among n, the same in every run of the same order: the first when
// threads run forward, the last in reverse.
unsigned chance(unsigned n);
// arena is the block's shared memory.
unsigned char *arena();

[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace emu
