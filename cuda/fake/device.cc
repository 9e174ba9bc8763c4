// Devices and the primary context.
#include "fake.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

namespace fake {

namespace {
std::mutex mutex;
std::map<int, std::unique_ptr<Device>> devices;
thread_local Device *bound;

void uuid(unsigned char to[16], int machine) {
	memset(to, 0, 16);
	memcpy(to, "encbench fake", 13);
	to[15] = (unsigned char)machine;
}

// place is that on the bus.
std::string place(const Device *d) {
	char text[16];
	snprintf(text, sizeof text, "0000:%02X:00.0", unsigned(d->ordinal) & 0xFF);
	return text;
}

// uuid_text is what nvidia-smi would print.
std::string uuid_text(int machine) {
	unsigned char u[16];
	uuid(u, machine);
	char text[64];
	snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
		u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	return text;
}
} // namespace

namespace {

// shown lists the devices that CUDA_VISIBLE_DEVICES leaves, by their numbers in the
// machine.
std::vector<int> shown() {
	const long all = setting("ENCBENCH_FAKE_DEVICES", 1L);
	std::vector<int> out;
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	if (!list) {
		for (int i = 0; i < all; i++)
			out.push_back(i);
		return out;
	}
	std::string rest = list;
	while (!rest.empty()) {
		std::string one = rest.substr(0, rest.find(','));
		rest.erase(0, one.size() + 1);
		int found = -1;
		for (int i = 0; i < all; i++)
			if (one == std::to_string(i) || one == uuid_text(i))
				found = i;
		if (found < 0)
			break;
		out.push_back(found);
	}
	return out;
}

} // namespace

int devices_shown() { return int(shown().size()); }

Device *device(int ordinal) {
	std::vector<int> all = shown();
	if (ordinal < 0 || size_t(ordinal) >= all.size())
		return nullptr;
	std::lock_guard<std::mutex> lock(mutex);
	auto &d = devices[all[size_t(ordinal)]];
	if (!d) {
		d = std::make_unique<Device>();
		d->ordinal = all[size_t(ordinal)];
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
	{702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
	{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
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
	*n = devices_shown();
	return OK;
}

int cuDeviceGet(int *d, int ordinal) {
	ON("cuDeviceGet", device(ordinal));
	if (!device(ordinal))
		return INVALID_DEVICE;
	*d = ordinal;
	return OK;
}

int cuDeviceGetName(char *to, int size, int d) {
	ON("cuDeviceGetName", device(d));
	if (!device(d))
		return INVALID_DEVICE;
	snprintf(to, size_t(size), "%s%s", device(d)->setting("ENCBENCH_FAKE_NAME", "encbench fake device").c_str(),
		device(d)->setting("ENCBENCH_FAKE_MIG", 0L) ? " MIG 1g.10gb" : "");
	return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int d) {
	ON("cuDeviceTotalMem_v2", device(d));
	if (!device(d))
		return INVALID_DEVICE;
	*bytes = size_t(device(d)->setting("ENCBENCH_FAKE_MEMORY", 1L << 30));
	return OK;
}

int cuDeviceGetUuid_v2(unsigned char *to, int d) {
	ON("cuDeviceGetUuid_v2", device(d));
	if (!device(d))
		return INVALID_DEVICE;
	uuid(to, device(d)->ordinal);
	return OK;
}

int cuDeviceGetPCIBusId(char *to, int size, int d) {
	ON("cuDeviceGetPCIBusId", device(d));
	if (!device(d))
		return INVALID_DEVICE;
	snprintf(to, size_t(size), "%s", place(device(d)).c_str());
	return OK;
}

int cuDeviceGetAttribute(int *v, int attribute, int d) {
	ON("cuDeviceGetAttribute", device(d));
	if (!device(d))
		return INVALID_DEVICE;
	std::string capability = device(d)->setting("ENCBENCH_FAKE_CAPABILITY", "9.0");
	switch (attribute) {
	case 75: *v = atoi(capability.c_str()); break;
	case 76: *v = atoi(capability.c_str() + capability.find('.') + 1); break;
	case 13: *v = 1000000; break;  // clock, kHz
	case 16: *v = 4; break;        // multiprocessors
	case 18: *v = 0; break;        // integrated
	case 32: *v = device(d)->setting("ENCBENCH_FAKE_ECC", 1L) != 0; break;
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
	ON("cuDevicePrimaryCtxRetain", device(d));
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
	on->holders--;
	// The last one to leave ends the context, and with it what had befallen it.
	int code = injected("cuDevicePrimaryCtxRelease_v2", on);
	if (on->holders == 0)
		on->lost = 0;
	return code;
}

int cuCtxSetCurrent(void *context) {
	bound = static_cast<Device *>(context);
	return injected("cuCtxSetCurrent", bound);
}

int cuCtxSynchronize() {
	ENTER("cuCtxSynchronize");
	if (!current())
		return INVALID_CONTEXT;
	current()->drain();
	return current()->lost;
}

// What libnvidia-ml gives, by the device's place on the bus.

int nvmlInit_v2() { return 0; }

int nvmlSystemGetDriverVersion(char *to, unsigned size) {
	snprintf(to, size, "550.00 (fake)");
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **to) {
	for (int i = 0; Device *d = device(i); i++) {
		if (!strcasecmp(place(d).c_str(), pci))
			return *to = d, 0;
	}
	return 6; // not found
}

int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *milliwatts) {
	*milliwatts = unsigned(static_cast<Device *>(d)->setting("ENCBENCH_FAKE_POWER", 0L));
	return *milliwatts ? 0 : 3; // not supported
}
}
