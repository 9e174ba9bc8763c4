// An ONNX Runtime for tests: the real one, of ENCBENCH_FAKE_ORT_REAL, with a CUDA provider
// that runs on the processor. Device memory is that of the fake driver (cuda/fake), in
// which every tensor of the name "Cuda" must lie. A run is work of its session's
// stream, in the order of the stream and beside the caller, so that it sees what the
// stream was told to wait for, and no more.
//
//	ENCBENCH_FAKE_ORT_REAL   the library that does the work
//	ENCBENCH_FAKE_ORT_FAIL   FUNCTION:N, the N-th call from now on fails
//	ENCBENCH_FAKE_ORT_HOST   operators that the provider leaves to the processor, a comma list
//	ENCBENCH_FAKE_KERNEL     nanoseconds that a run takes at least, as a kernel of the driver's
//	ENCBENCH_FAKE_ORT_LOG    a file to which calls are appended, a line each
#include "fake.h"
#include "onnxruntime_c_api.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <set>

namespace {

const OrtApi *real;
OrtApi api;
OrtApiBase base;
void *driver;
std::mutex mutex;

std::string setting(const char *name) {
	const char *v = getenv(name);
	return v ? v : "";
}

void note(const std::string &line) {
	std::string path = setting("ENCBENCH_FAKE_ORT_LOG");
	if (path.empty())
		return;
	std::lock_guard<std::mutex> lock(mutex);
	if (FILE *f = fopen(path.c_str(), "a")) {
		fprintf(f, "%s\n", line.c_str());
		fclose(f);
	}
}

OrtStatus *fault(const char *function) {
	static std::string asked;
	static long seen;
	std::lock_guard<std::mutex> lock(mutex);
	std::string now = setting("ENCBENCH_FAKE_ORT_FAIL");
	if (now != asked)
		asked = now, seen = 0;
	size_t colon = now.find(':');
	if (colon == std::string::npos || now.substr(0, colon) != function || ++seen != atol(now.c_str() + colon + 1))
		return nullptr;
	return real->CreateStatus(ORT_FAIL, (std::string("fault in ") + function).c_str());
}

OrtStatus *wrong(const std::string &what) { return real->CreateStatus(ORT_INVALID_ARGUMENT, ("fake ONNX Runtime: " + what).c_str()); }

using Options = std::map<std::string, std::string>;
std::map<const void *, Options> provider;          // by provider options, session options and session
std::map<const void *, const void *> of;           // sessions of bindings
std::set<const void *> infos, values, runs;

template <class M> bool has(M &m, const void *p) {
	std::lock_guard<std::mutex> lock(mutex);
	return m.count(p) > 0;
}

template <class F> F driverFunction(const char *name) {
	auto f = reinterpret_cast<F>(dlsym(driver, name));
	if (!f) {
		fprintf(stderr, "fake ONNX Runtime: the driver has no %s\n", name);
		abort();
	}
	return f;
}

#define FAULT(name) \
	do { \
		if (OrtStatus *s = fault(name)) \
			return s; \
	} while (0)

OrtStatus *providers(char ***out, int *n) noexcept {
	FAULT("GetAvailableProviders");
	static char cuda[] = "CUDAExecutionProvider", host[] = "CPUExecutionProvider", *all[] = {cuda, host};
	*out = all, *n = 2;
	return nullptr;
}

OrtStatus *releaseProviders(char **, int) noexcept { return nullptr; }

OrtStatus *createOptions(OrtCUDAProviderOptionsV2 **out) noexcept {
	FAULT("CreateCUDAProviderOptions");
	*out = reinterpret_cast<OrtCUDAProviderOptionsV2 *>(new char);
	std::lock_guard<std::mutex> lock(mutex);
	provider[*out];
	return nullptr;
}

OrtStatus *updateOptions(OrtCUDAProviderOptionsV2 *o, const char *const *keys, const char *const *v, size_t n) noexcept {
	FAULT("UpdateCUDAProviderOptions");
	Options all;
	std::string line = "options";
	for (size_t i = 0; i < n; i++) {
		all[keys[i]] = v[i];
		line += std::string(" ") + keys[i] + "=" + (strcmp(keys[i], "user_compute_stream") ? v[i] : "STREAM");
	}
	note(line);
	std::lock_guard<std::mutex> lock(mutex);
	provider[o] = all; // each call forgets the last
	return nullptr;
}

void releaseOptions(OrtCUDAProviderOptionsV2 *o) noexcept {
	std::lock_guard<std::mutex> lock(mutex);
	provider.erase(o);
	delete reinterpret_cast<char *>(o);
}

OrtStatus *append(OrtSessionOptions *o, const OrtCUDAProviderOptionsV2 *c) noexcept {
	FAULT("SessionOptionsAppendExecutionProvider_CUDA_V2");
	std::lock_guard<std::mutex> lock(mutex);
	provider[o] = provider[c];
	return nullptr;
}

OrtStatus *made(OrtStatus *s, const OrtSessionOptions *o, OrtSession **out) {
	if (s || !has(provider, o))
		return s;
	note("+session");
	std::lock_guard<std::mutex> lock(mutex);
	provider[*out] = provider[o];
	return nullptr;
}

OrtStatus *createSession(const OrtEnv *e, const ORTCHAR_T *path, const OrtSessionOptions *o, OrtSession **out) noexcept {
	FAULT("CreateSession");
	return made(real->CreateSession(e, path, o, out), o, out);
}

OrtStatus *createSessionFromArray(const OrtEnv *e, const void *p, size_t n, const OrtSessionOptions *o, OrtSession **out) noexcept {
	FAULT("CreateSessionFromArray");
	return made(real->CreateSessionFromArray(e, p, n, o, out), o, out);
}

// drain waits for the stream of a session. A device that is lost runs nothing of a queue,
// and nobody waits for it; this one's runs may still be on their way.
void drain(const void *session) {
	std::string stream;
	{
		std::lock_guard<std::mutex> lock(mutex);
		stream = provider[session]["user_compute_stream"];
	}
	driverFunction<int (*)(fake::Stream *)>("_ZN4fake6Stream4waitEv")(reinterpret_cast<fake::Stream *>(strtoull(stream.c_str(), nullptr, 10)));
}

void releaseSession(OrtSession *s) noexcept {
	if (has(provider, s)) {
		drain(s);
		note("-session");
		std::lock_guard<std::mutex> lock(mutex);
		provider.erase(s);
	}
	real->ReleaseSession(s);
}

void releaseSessionOptions(OrtSessionOptions *o) noexcept {
	{
		std::lock_guard<std::mutex> lock(mutex);
		provider.erase(o);
	}
	real->ReleaseSessionOptions(o);
}

OrtStatus *addConfig(OrtSessionOptions *o, const char *key, const char *value) noexcept {
	FAULT("AddSessionConfigEntry");
	return real->AddSessionConfigEntry(o, key, value);
}

OrtStatus *createMemoryInfo(const char *name, OrtAllocatorType type, int id, OrtMemType mem, OrtMemoryInfo **out) noexcept {
	FAULT("CreateMemoryInfo");
	if (strcmp(name, "Cuda") && strcmp(name, "CudaPinned"))
		return real->CreateMemoryInfo(name, type, id, mem, out);
	if (OrtStatus *s = real->CreateMemoryInfo("Cpu", type, 0, mem, out))
		return s;
	std::lock_guard<std::mutex> lock(mutex);
	infos.insert(*out);
	return nullptr;
}

void releaseMemoryInfo(OrtMemoryInfo *i) noexcept {
	{
		std::lock_guard<std::mutex> lock(mutex);
		infos.erase(i);
	}
	real->ReleaseMemoryInfo(i);
}

OrtStatus *createTensor(const OrtMemoryInfo *info, void *p, size_t n, const int64_t *shape, size_t dims, ONNXTensorElementDataType type, OrtValue **out) noexcept {
	bool onDevice = has(infos, info);
	if (onDevice) {
		FAULT("CreateTensorWithDataAsOrtValue");
		fake::Block b;
		auto block = driverFunction<decltype(&fake::block)>("_ZN4fake5blockEPKvmbPNS_5BlockE");
		if (!block(p, n, false, &b))
			return wrong("a tensor on the device lies outside the device's memory");
	}
	OrtStatus *s = real->CreateTensorWithDataAsOrtValue(info, p, n, shape, dims, type, out);
	if (!s && onDevice) {
		note("+value");
		std::lock_guard<std::mutex> lock(mutex);
		values.insert(*out);
	}
	return s;
}

void releaseValue(OrtValue *v) noexcept {
	if (has(values, v)) {
		note("-value");
		std::lock_guard<std::mutex> lock(mutex);
		values.erase(v);
	}
	real->ReleaseValue(v);
}

OrtStatus *createBinding(OrtSession *s, OrtIoBinding **out) noexcept {
	bool onDevice = has(provider, s);
	if (onDevice)
		FAULT("CreateIoBinding");
	OrtStatus *status = real->CreateIoBinding(s, out);
	if (!status && onDevice) {
		note("+binding");
		std::lock_guard<std::mutex> lock(mutex);
		of[*out] = s;
	}
	return status;
}

void releaseBinding(OrtIoBinding *b) noexcept {
	if (has(of, b)) {
		const void *session;
		{
			std::lock_guard<std::mutex> lock(mutex);
			session = of[b];
		}
		drain(session);
		note("-binding");
		std::lock_guard<std::mutex> lock(mutex);
		of.erase(b);
	}
	real->ReleaseIoBinding(b);
}

OrtStatus *bindInput(OrtIoBinding *b, const char *name, const OrtValue *v) noexcept {
	if (has(of, b)) {
		FAULT("BindInput");
		if (!has(values, v))
			return wrong("an input of the host: the provider would copy it, and wait");
	}
	return real->BindInput(b, name, v);
}

OrtStatus *bindOutput(OrtIoBinding *b, const char *name, const OrtValue *v) noexcept {
	if (has(of, b)) {
		FAULT("BindOutput");
		if (!has(values, v))
			return wrong("an output on the host: the provider would copy it, and wait");
	}
	return real->BindOutput(b, name, v);
}

OrtStatus *createRunOptions(OrtRunOptions **out) noexcept {
	FAULT("CreateRunOptions");
	return real->CreateRunOptions(out);
}

OrtStatus *addRunConfig(OrtRunOptions *o, const char *key, const char *value) noexcept {
	FAULT("AddRunConfigEntry");
	note(std::string("run option ") + key + "=" + value);
	if (!strcmp(key, "disable_synchronize_execution_providers")) {
		note("+options");
		std::lock_guard<std::mutex> lock(mutex);
		runs.insert(o);
	}
	return real->AddRunConfigEntry(o, key, value);
}

void releaseRunOptions(OrtRunOptions *o) noexcept {
	if (has(runs, o)) {
		note("-options");
		std::lock_guard<std::mutex> lock(mutex);
		runs.erase(o);
	}
	real->ReleaseRunOptions(o);
}

OrtStatus *run(OrtSession *s, const OrtRunOptions *o, const OrtIoBinding *b) noexcept {
	if (has(provider, s)) {
		FAULT("RunWithBinding");
		std::string stream;
		{
			std::lock_guard<std::mutex> lock(mutex);
			stream = provider[s]["user_compute_stream"];
		}
		note("run");
		auto give = driverFunction<int (*)(fake::Stream *, fake::Work)>("_ZN4fake6Stream4giveESt8functionIFivEE");
		auto *at = reinterpret_cast<fake::Stream *>(strtoull(stream.c_str(), nullptr, 10));
		if (at->on->lost)
			return wrong("CUDA error " + std::to_string(at->on->lost));
		give(at, [=] {
			if (at->on->lost)
				return 0;
			auto begin = std::chrono::steady_clock::now();
			OrtStatus *status = real->RunWithBinding(s, o, b);
			std::string least = setting("ENCBENCH_FAKE_KERNEL");
			std::this_thread::sleep_until(begin + std::chrono::nanoseconds(atol(least.c_str())));
			if (!status)
				return 0;
			fprintf(stderr, "fake ONNX Runtime: %s\n", real->GetErrorMessage(status));
			real->ReleaseStatus(status);
			return 719;
		});
		return nullptr;
	}
	return real->RunWithBinding(s, o, b);
}

OrtStatus *assignment(const OrtSession *s, const OrtEpAssignedSubgraph *const **parts, size_t *n) noexcept {
	FAULT("Session_GetEpGraphAssignmentInfo");
	return real->Session_GetEpGraphAssignmentInfo(s, parts, n);
}

OrtStatus *providerName(const OrtEpAssignedSubgraph *part, const char **out) noexcept {
	FAULT("EpAssignedSubgraph_GetEpName");
	const OrtEpAssignedNode *const *nodes = nullptr;
	size_t n = 0;
	const char *op = "";
	if (OrtStatus *s = real->EpAssignedSubgraph_GetNodes(part, &nodes, &n))
		return s;
	if (n > 0)
		if (OrtStatus *s = real->EpAssignedNode_GetOperatorType(nodes[0], &op))
			return s;
	bool host = ("," + setting("ENCBENCH_FAKE_ORT_HOST") + ",").find(std::string(",") + op + ",") != std::string::npos;
	*out = host ? "CPUExecutionProvider" : "CUDAExecutionProvider";
	return nullptr;
}

const OrtApi *getApi(uint32_t version) noexcept {
	if (version != ORT_API_VERSION)
		return nullptr;
	return &api;
}

template <class F> F fatal(const char *what, F f) {
	if (!f) {
		fprintf(stderr, "fake ONNX Runtime: %s: %s\n", what, dlerror());
		abort();
	}
	return f;
}

void begin() {
	driver = fatal("open the fake driver", dlopen(setting("ENCBENCH_CUDA_DRIVER").c_str(), RTLD_NOW | RTLD_NOLOAD));
	void *lib = fatal("open the real library", dlopen(setting("ENCBENCH_FAKE_ORT_REAL").c_str(), RTLD_LAZY | RTLD_LOCAL));
	auto get = fatal("OrtGetApiBase", reinterpret_cast<const OrtApiBase *(*)()>(dlsym(lib, "OrtGetApiBase")));
	real = fatal("its API", get()->GetApi(ORT_API_VERSION));
	base = {getApi, get()->GetVersionString};
	memcpy(static_cast<void *>(&api), real, sizeof api);
	api.GetAvailableProviders = providers;
	api.ReleaseAvailableProviders = releaseProviders;
	api.CreateCUDAProviderOptions = createOptions;
	api.UpdateCUDAProviderOptions = updateOptions;
	api.ReleaseCUDAProviderOptions = releaseOptions;
	api.SessionOptionsAppendExecutionProvider_CUDA_V2 = append;
	api.CreateSession = createSession;
	api.CreateSessionFromArray = createSessionFromArray;
	api.ReleaseSession = releaseSession;
	api.ReleaseSessionOptions = releaseSessionOptions;
	api.AddSessionConfigEntry = addConfig;
	api.CreateMemoryInfo = createMemoryInfo;
	api.ReleaseMemoryInfo = releaseMemoryInfo;
	api.CreateTensorWithDataAsOrtValue = createTensor;
	api.ReleaseValue = releaseValue;
	api.CreateIoBinding = createBinding;
	api.ReleaseIoBinding = releaseBinding;
	api.BindInput = bindInput;
	api.BindOutput = bindOutput;
	api.CreateRunOptions = createRunOptions;
	api.AddRunConfigEntry = addRunConfig;
	api.ReleaseRunOptions = releaseRunOptions;
	api.RunWithBinding = run;
	api.Session_GetEpGraphAssignmentInfo = assignment;
	api.EpAssignedSubgraph_GetEpName = providerName;
}

} // namespace

extern "C" const OrtApiBase *OrtGetApiBase() noexcept {
	static std::once_flag once;
	std::call_once(once, begin);
	return &base;
}
