// Modules, kernels and launches.
#include "fake.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>

namespace fake {

namespace {

// Function is a kernel as a module gives it.
struct Function {
	const Kernel *kernel;
	Device *on;
	int allowed = 48 << 10; // bytes of dynamic shared memory
};

struct Module {
	Device *on;
	std::set<std::string> entries;
	std::map<std::string, std::unique_ptr<Function>> functions;
};

std::mutex mutex;
std::set<const Function *> functions; // of modules that are loaded

// known says whether a module that is loaded gave f.
bool known(const Function *f) {
	std::lock_guard<std::mutex> lock(mutex);
	return functions.count(f);
}

const Kernel *kernel(const std::string &name) {
	if (!encbench_fake_kernels)
		return nullptr;
	for (const Kernel *k = encbench_fake_kernels; k->name; k++)
		if (name == k->name)
			return k;
	return nullptr;
}

// field gives what follows key on its line of the text, "" where there is none.
std::string field(const std::string &text, const std::string &key) {
	size_t at = text.find(key);
	if (at == std::string::npos)
		return "";
	at += key.size();
	return text.substr(at, text.find_first_of(" \t\r\n", at) - at);
}

// read checks PTX as the driver's compiler would, and that it is of the same sources as
// the kernels of this library: its stamp, and each of its kernels with so many
// parameters.
int read(const std::string &text, Module *m, std::string *log) {
	std::string version = field(text, ".version ");
	if (version.empty() || text.find(".target ") == std::string::npos)
		return *log = "fake ptxas: no .version or no .target", INVALID_PTX;
	long most = setting("ENCBENCH_FAKE_PTX", 90L), has = 0;
	if (size_t dot = version.find('.'); dot != std::string::npos)
		has = 10 * atol(version.c_str()) + atol(version.c_str() + dot + 1);
	if (has > most)
		return *log = "fake ptxas: PTX .version " + version + " is not supported", 222;
	std::string stamp = field(text, "// STAMP ");
	if (!encbench_fake_stamp || stamp != encbench_fake_stamp)
		return *log = "fake ptxas: the PTX has stamp \"" + stamp + "\", the kernels of this library \"" + (encbench_fake_stamp ? encbench_fake_stamp : "") + "\": make kernels, and build the library again", INVALID_PTX;
	const std::string mark = ".visible .entry ";
	for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
		at += mark.size();
		size_t open = text.find('(', at), close = text.find(')', at);
		std::string name = text.substr(at, open - at), list = text.substr(open, close - open);
		int parameters = 0, maps = 0;
		for (size_t p = list.find(".param"); p != std::string::npos; p = list.find(".param", p + 1)) {
			if (list.compare(p + 7, 14, ".align 64 .b8 ") == 0 && parameters++ == maps) { // a tensor map
				maps++;
				continue;
			}
			parameters++;
			std::string type = list.substr(p + 7, 4);
			if (type.compare(0, 4, ".b64") && type.compare(0, 4, ".u64") && type.compare(0, 4, ".s64") && type.compare(0, 4, ".f64"))
				return *log = "fake ptxas: kernel " + name + " has a parameter that is not 8 bytes wide", INVALID_PTX;
		}
		const Kernel *k = kernel(name);
		if (!k)
			return *log = "fake ptxas: kernel " + name + " is not in this library", INVALID_PTX;
		if (k->parameters != parameters)
			return *log = "fake ptxas: kernel " + name + " has " + std::to_string(parameters) + " parameters in the PTX and " + std::to_string(k->parameters) + " in this library", INVALID_PTX;
		if (k->maps != maps)
			return *log = "fake ptxas: kernel " + name + " has " + std::to_string(maps) + " tensor maps in the PTX and " + std::to_string(k->maps) + " in this library", INVALID_PTX;
		m->entries.insert(name);
	}
	if (m->entries.empty())
		return *log = "fake ptxas: no kernel in the PTX", INVALID_PTX;
	const std::string target = field(text, ".target ") + " ";
	for (const Kernel *k = encbench_fake_kernels; k && k->name; k++)
		if (std::string(k->targets).find(target) != std::string::npos && !m->entries.count(k->name))
			return *log = std::string("fake ptxas: kernel ") + k->name + " is not in the PTX", INVALID_PTX;
	return OK;
}

int launch(Function *f, const unsigned g[3], const unsigned b[3], unsigned cluster, unsigned shared, Stream *s, void **args) {
	if (!s || !known(f) || f->on != s->on)
		return INVALID_HANDLE;
	if (!current())
		return INVALID_CONTEXT;
	const Kernel *k = f->kernel;
	uint64_t threads = uint64_t(b[0]) * b[1] * b[2];
	if (!g[0] || !g[1] || !g[2] || !threads || g[1] > 65535 || g[2] > 65535 || (cluster && g[0] % cluster))
		return INVALID_VALUE;
	if (threads > uint64_t(k->most_threads) || threads * k->registers > 65536)
		return LAUNCH_OUT_OF_RESOURCES;
	if (int(shared) > f->allowed)
		return INVALID_VALUE;
	// The driver copies the arguments before it returns.
	constexpr size_t MAP = 16; // numbers of 8 bytes
	const size_t maps = size_t(k->maps), others = size_t(k->parameters) - maps;
	std::vector<uint64_t> copied(maps * MAP + others);
	for (size_t i = 0; i < maps; i++)
		memcpy(&copied[i * MAP], args[i], 8 * MAP);
	for (size_t i = 0; i < others; i++)
		memcpy(&copied[maps * MAP + i], args[maps + i], 8);
	fake::Launch l{k->name, {g[0], g[1], g[2]}, {b[0], b[1], b[2]}, cluster, shared, nullptr};
	Device *on = s->on;
	return s->give([=]() mutable {
		if (on->lost)
			return int(OK);
		std::lock_guard<std::mutex> lock(on->compute);
		if (int code = injected("kernel", on))
			return code;
		auto begin = std::chrono::steady_clock::now();
		std::vector<void *> each;
		for (size_t i = 0; i < maps; i++)
			each.push_back(&copied[i * MAP]);
		for (size_t i = maps * MAP; i < copied.size(); i++)
			each.push_back(&copied[i]);
		l.args = each.data();
		int code = k->run(l);
		std::this_thread::sleep_until(begin + std::chrono::nanoseconds(on->setting("ENCBENCH_FAKE_KERNEL", 0L)));
		return code;
	});
}

} // namespace
} // namespace fake

using namespace fake;

extern "C" {

int cuModuleLoadDataEx(Module **m, const void *image, unsigned n, const int *options, void **values) {
	ENTER("cuModuleLoadDataEx");
	if (!current())
		return INVALID_CONTEXT;
	char *to = nullptr;
	size_t room = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == 5) // CU_JIT_ERROR_LOG_BUFFER
			to = static_cast<char *>(values[i]);
		if (options[i] == 6) // its size
			room = size_t(values[i]);
	}
	std::string log;
	auto made = std::make_unique<Module>();
	made->on = current();
	int code = read(static_cast<const char *>(image), made.get(), &log);
	if (to && room)
		snprintf(to, room, "%s", log.c_str());
	*m = code ? nullptr : made.release();
	return code;
}

int cuModuleUnload(Module *m) {
	if (!m)
		return INVALID_HANDLE;
	{
		std::lock_guard<std::mutex> lock(mutex);
		for (auto &f : m->functions)
			functions.erase(f.second.get());
	}
	delete m;
	return enter("cuModuleUnload");
}

int cuModuleGetFunction(Function **f, Module *m, const char *name) {
	ENTER("cuModuleGetFunction");
	if (!m)
		return INVALID_HANDLE;
	if (!m->entries.count(name))
		return NOT_FOUND;
	std::lock_guard<std::mutex> lock(mutex);
	auto &made = m->functions[name];
	if (!made)
		made = std::make_unique<Function>(Function{kernel(name), m->on});
	functions.insert(made.get());
	*f = made.get();
	return OK;
}

int cuFuncGetAttribute(int *v, int attribute, Function *f) {
	ENTER("cuFuncGetAttribute");
	if (!known(f))
		return INVALID_HANDLE;
	switch (attribute) {
	case 0: *v = f->kernel->most_threads; break;
	case 1: *v = f->kernel->shared; break;
	case 3: *v = 0; break;
	case 4: *v = f->kernel->registers; break;
	default: return INVALID_VALUE;
	}
	return OK;
}

int cuFuncSetAttribute(Function *f, int attribute, int v) {
	ENTER("cuFuncSetAttribute");
	if (!known(f))
		return INVALID_HANDLE;
	if (attribute != 8 || v > 232448)
		return INVALID_VALUE;
	f->allowed = v;
	return OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *f, int threads, size_t shared) {
	ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	if (!known(f))
		return INVALID_HANDLE;
	size_t each = shared + size_t(f->kernel->shared) + 1024;
	*blocks = int(std::min(std::min(size_t(233472) / each, size_t(65536 / std::max(1, threads * f->kernel->registers))), size_t(2048 / std::max(1, threads))));
	return OK;
}

int cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, Stream *s, void **args, void **) {
	ENTER("cuLaunchKernel");
	unsigned g[] = {gx, gy, gz}, b[] = {bx, by, bz};
	return launch(f, g, b, 0, shared, s, args);
}

// The driver's launch description, by its documented layout.
struct Config {
	unsigned grid[3], block[3], shared;
	Stream *stream;
	struct Attribute {
		int id, pad;
		unsigned value[16];
	} *attributes;
	unsigned n;
};

int cuLaunchKernelEx(const Config *c, Function *f, void **args, void **) {
	ENTER("cuLaunchKernelEx");
	unsigned cluster = 0;
	for (unsigned i = 0; i < c->n; i++)
		if (c->attributes[i].id == 4) // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
			cluster = c->attributes[i].value[0];
	return launch(f, c->grid, c->block, cluster, c->shared, c->stream, args);
}
}
