//go:build cuda && linux && cgo && (amd64 || arm64)

/* What NVIDIA's management library says and the driver does not. It comes with the
   driver; where it is not there, nothing is told. */

#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
	const char *driver = getenv("ENCBENCH_CUDA_DRIVER"); /* that of tests has both */
	void *l = dlopen(driver && *driver ? driver : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(void) = l ? (int (*)(void))dlsym(l, "nvmlInit_v2") : NULL;
	if (init && init() == 0)
		library = l;
}

static void *find(const char *name) {
	pthread_once(&once, open_library);
	return library ? dlsym(library, name) : NULL;
}

void encbench_driver_release(char *to, unsigned size) {
	int (*ask)(char *, unsigned) = (int (*)(char *, unsigned))find("nvmlSystemGetDriverVersion");
	if (!ask || ask(to, size) != 0)
		*to = 0;
}

unsigned encbench_power_limit(const char *pci) {
	int (*device)(const char *, void **) = (int (*)(const char *, void **))find("nvmlDeviceGetHandleByPciBusId_v2");
	int (*limit)(void *, unsigned *) = (int (*)(void *, unsigned *))find("nvmlDeviceGetEnforcedPowerLimit");
	void *d = NULL;
	unsigned milliwatts = 0;
	if (!device || !limit || device(pci, &d) != 0 || limit(d, &milliwatts) != 0)
		return 0;
	return milliwatts;
}
