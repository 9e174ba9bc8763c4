// Devices and the primary context.
#include "fake.h"

#include <cstdio>
#include <cstring>

namespace fake {

namespace {
std::mutex mutex;
std::map<int, std::unique_ptr<Device>> devices;
thread_local Device *bound;
} // namespace

Device *device(int ordinal) {
	if (ordinal < 0 || ordinal >= setting("ENCBENCH_FAKE_DEVICES", 1L))
		return nullptr;
	std::lock_guard<std::mutex> lock(mutex);
	auto &d = devices[ordinal];
	if (!d) {
		d = std::make_unique<Device>();
		d->ordinal = ordinal;
	}
	return d.get();
}

Device *current() { return bound; }

} // namespace fake

using namespace fake;

extern "C" {

// Tells the stubs that no GPU is behind this library.
int encbench_fake_driver = 1;

int cuInit(unsigned) { return int(setting("ENCBENCH_FAKE_INIT", 0L)); }

int cuDriverGetVersion(int *version) {
	ENTER("cuDriverGetVersion");
	*version = int(setting("ENCBENCH_FAKE_VERSION", 12040L));
	return OK;
}

static const struct {
	int code;
	const char *name, *text;
} texts[] = {
	{OK, "CUDA_SUCCESS", "no error"},
	{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
	{NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
	{INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
	{CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
	{UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int cuGetErrorName(int code, const char **s) {
	for (auto &t : texts)
		if (t.code == code)
			return *s = t.name, OK;
	return *s = nullptr, INVALID_VALUE;
}

int cuGetErrorString(int code, const char **s) {
	for (auto &t : texts)
		if (t.code == code)
			return *s = t.text, OK;
	return *s = nullptr, INVALID_VALUE;
}

int cuDeviceGetCount(int *n) {
	ENTER("cuDeviceGetCount");
	*n = int(setting("ENCBENCH_FAKE_DEVICES", 1L));
	return OK;
}

int cuDeviceGet(int *d, int ordinal) {
	ENTER("cuDeviceGet");
	if (!device(ordinal))
		return INVALID_DEVICE;
	*d = ordinal;
	return OK;
}

int cuDeviceGetName(char *to, int size, int d) {
	ENTER("cuDeviceGetName");
	if (!device(d))
		return INVALID_DEVICE;
	snprintf(to, size_t(size), "%s", setting("ENCBENCH_FAKE_NAME", "encbench fake device").c_str());
	return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int d) {
	ENTER("cuDeviceTotalMem_v2");
	if (!device(d))
		return INVALID_DEVICE;
	*bytes = size_t(setting("ENCBENCH_FAKE_MEMORY", 1L << 30));
	return OK;
}

int cuDeviceGetUuid_v2(unsigned char *to, int d) {
	ENTER("cuDeviceGetUuid_v2");
	if (!device(d))
		return INVALID_DEVICE;
	memset(to, 0, 16);
	memcpy(to, "encbench fake", 13);
	to[15] = (unsigned char)d;
	return OK;
}

int cuDeviceGetPCIBusId(char *to, int size, int d) {
	ENTER("cuDeviceGetPCIBusId");
	if (!device(d))
		return INVALID_DEVICE;
	snprintf(to, size_t(size), "0000:%02X:00.0", d);
	return OK;
}

int cuDeviceGetAttribute(int *v, int attribute, int d) {
	ENTER("cuDeviceGetAttribute");
	if (!device(d))
		return INVALID_DEVICE;
	std::string capability = setting("ENCBENCH_FAKE_CAPABILITY", "9.0");
	switch (attribute) {
	case 75: *v = atoi(capability.c_str()); break;
	case 76: *v = atoi(capability.c_str() + capability.find('.') + 1); break;
	case 13: *v = 1000000; break;  // clock, kHz
	case 16: *v = 4; break;        // multiprocessors
	case 18: *v = 0; break;        // integrated
	case 32: *v = 1; break;        // ECC
	case 36: *v = 1000000; break;  // memory clock, kHz
	case 37: *v = 256; break;      // bus, bits
	case 38: *v = 1 << 20; break;  // L2
	case 81: *v = 233472; break;   // shared memory of a multiprocessor
	case 82: *v = 65536; break;    // registers of a multiprocessor
	case 97: *v = 232448; break;   // shared memory of a block, at most
	default: return INVALID_VALUE;
	}
	return OK;
}

// A context is its device.

int cuDevicePrimaryCtxRetain(void **context, int d) {
	ENTER("cuDevicePrimaryCtxRetain");
	Device *on = device(d);
	if (!on)
		return INVALID_DEVICE;
	on->holders++;
	*context = on;
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int d) {
	Device *on = device(d);
	if (!on || on->holders == 0)
		return INVALID_CONTEXT;
	// The last one to leave ends the context, and with it what had befallen it.
	if (--on->holders == 0)
		on->lost = 0;
	return injected("cuDevicePrimaryCtxRelease_v2");
}

int cuCtxSetCurrent(void *context) {
	bound = static_cast<Device *>(context);
	return injected("cuCtxSetCurrent");
}

int cuCtxSynchronize() {
	ENTER("cuCtxSynchronize");
	return OK;
}

// encbench_fake_reset ends all contexts: between tests of one process.
void encbench_fake_reset() {
	std::lock_guard<std::mutex> lock(mutex);
	for (auto &d : devices)
		if (d.second) {
			d.second->lost = 0;
			d.second->holders = 0;
		}
}
}
