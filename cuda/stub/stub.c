//go:build cuda && linux && cgo && (amd64 || arm64)

/* Every function of the driver that the program uses is a jump through a slot. A slot
   leads to absent until a driver is opened, so the program starts on machines without
   one, and says there what is missing. The names are hidden: a library that is linked to
   the real driver, as ONNX Runtime's CUDA provider is, must not find these. */

#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NO_DEVICE = 100, NOT_FOUND = 500 };

static int absent(void) { return NO_DEVICE; }

/* Where the driver is there and lacks the function. */
static int lacking(void) { return NOT_FOUND; }

#define HIDDEN __attribute__((visibility("hidden"), used))

#define X(name) HIDDEN void *encbench_slot_##name = (void *)absent;
#include "symbols.inc"
#undef X

#if defined(__x86_64__)
#define JUMP(name) "	jmp *encbench_slot_" #name "(%rip)\n"
#define TYPE "@function"
#else
#define JUMP(name) \
	"	adrp x16, encbench_slot_" #name "\n" \
	"	ldr x16, [x16, :lo12:encbench_slot_" #name "]\n" \
	"	br x16\n"
#define TYPE "%function"
#endif

#define X(name) \
	__asm__(".pushsection .text\n" \
		"	.globl " #name "\n" \
		"	.hidden " #name "\n" \
		"	.type " #name ", " TYPE "\n" \
		#name ":\n" JUMP(name) \
		"	.size " #name ", .-" #name "\n" \
		".popsection\n");
#include "symbols.inc"
#undef X

typedef struct {
	const char *name;
	void **slot;
} entry;

#define X(name) {#name, &encbench_slot_##name},
static const entry entries[] = {
#include "symbols.inc"
};
#undef X
enum { ENTRIES = sizeof entries / sizeof *entries };

static encbench_driver driver = {.init = NO_DEVICE};
static const char *missing[ENTRIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_driver(void) {
	const char *path = getenv("ENCBENCH_CUDA_DRIVER");
	driver.path = strdup(path && *path ? path : "libcuda.so.1");
	void *handle = dlopen(driver.path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *why = dlerror();
		driver.error = strdup(why ? why : "no reason given");
		return;
	}
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(handle, "cuInit");
	if (!init) {
		driver.error = strdup("it has no function cuInit");
		return;
	}
	driver.opened = 1;
	driver.fake = dlsym(handle, "encbench_fake_driver") != NULL;
	for (int i = 0; i < ENTRIES; i++) {
		void *f = dlsym(handle, entries[i].name);
		if (!f)
			missing[driver.missing++] = entries[i].name;
		*entries[i].slot = f ? f : (void *)lacking;
	}
	driver.init = init(0);
	int (*version)(int *) = (int (*)(int *))encbench_slot_cuDriverGetVersion;
	if (version(&driver.version) != 0)
		driver.version = 0;
}

/* cuInit opens the driver and never fails: the package that calls it when the program
   starts would end the program. */
HIDDEN int cuInit(unsigned flags) {
	(void)flags;
	pthread_once(&once, open_driver);
	return 0;
}

void encbench_driver_state(encbench_driver *s) {
	pthread_once(&once, open_driver);
	*s = driver;
}

const char *encbench_driver_missing(int i) { return i >= 0 && i < driver.missing ? missing[i] : NULL; }
