// Streams, events and captured work.
#include "fake.h"

#include <chrono>

namespace fake {

namespace {
double seconds() {
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

Stream::Stream(Device *d) : on(d), thread(&Stream::run, this) {
	std::lock_guard<std::mutex> lock(d->mutex);
	d->streams.insert(this);
}

Stream::~Stream() {
	{
		std::lock_guard<std::mutex> lock(on->mutex);
		on->streams.erase(this);
	}
	{
		std::lock_guard<std::mutex> lock(mutex);
		ending = true;
	}
	changed.notify_all();
	thread.join();
}

void Stream::run() {
	std::unique_lock<std::mutex> lock(mutex);
	for (;;) {
		changed.wait(lock, [&] { return ending || !queue.empty(); });
		if (queue.empty())
			return;
		Work w = std::move(queue.front());
		queue.pop_front();
		busy = true;
		lock.unlock();
		// A lost context runs nothing more, but events must pass, or a waiter would hang.
		if (int code = w(); code && !on->lost)
			on->lost = code;
		lock.lock();
		busy = false;
		changed.notify_all();
	}
}

int Stream::give(Work w) {
	if (capturing) {
		capturing->push_back(std::move(w));
		return OK;
	}
	{
		std::lock_guard<std::mutex> lock(mutex);
		queue.push_back(std::move(w));
	}
	changed.notify_all();
	return OK;
}

int Stream::wait() {
	if (capturing)
		return CAPTURE_UNSUPPORTED;
	std::unique_lock<std::mutex> lock(mutex);
	changed.wait(lock, [&] { return queue.empty() && !busy; });
	return on->lost;
}

bool Stream::idle() {
	std::lock_guard<std::mutex> lock(mutex);
	return queue.empty() && !busy;
}

void Device::drain() {
	std::lock_guard<std::mutex> lock(mutex);
	for (Stream *s : streams)
		s->wait(); // one that records has nothing to wait for
}

} // namespace fake

using namespace fake;

namespace {
// Graph is captured work, Exec what is launched of it.
struct Graph {
	std::vector<Work> work;
};
} // namespace

extern "C" {

int cuStreamCreate(Stream **s, unsigned) {
	ENTER("cuStreamCreate");
	if (!current())
		return INVALID_CONTEXT;
	*s = new Stream(current());
	return OK;
}

int cuStreamDestroy_v2(Stream *s) {
	if (!s)
		return INVALID_HANDLE;
	delete s;
	return enter("cuStreamDestroy_v2");
}

int cuStreamSynchronize(Stream *s) {
	ENTER("cuStreamSynchronize");
	return s ? s->wait() : INVALID_HANDLE;
}

int cuStreamQuery(Stream *s) {
	ENTER("cuStreamQuery");
	return !s ? INVALID_HANDLE : s->idle() ? OK : NOT_READY;
}

int cuStreamWaitEvent(Stream *s, Event *e, unsigned) {
	ENTER("cuStreamWaitEvent");
	if (!s || !e)
		return INVALID_HANDLE;
	uint64_t until;
	{
		std::lock_guard<std::mutex> lock(e->mutex);
		until = e->asked;
	}
	return s->give([e, until] {
		std::unique_lock<std::mutex> lock(e->mutex);
		e->changed.wait(lock, [&] { return e->passed >= until; });
		return OK;
	});
}

int cuEventCreate(Event **e, unsigned) {
	ENTER("cuEventCreate");
	if (!current())
		return INVALID_CONTEXT;
	*e = new Event{};
	(*e)->on = current();
	return OK;
}

int cuEventDestroy_v2(Event *e) {
	if (!e)
		return INVALID_HANDLE;
	{
		// The driver lets an event go before its work is done.
		std::unique_lock<std::mutex> lock(e->mutex);
		e->changed.wait(lock, [&] { return e->passed >= e->asked; });
	}
	delete e;
	return enter("cuEventDestroy_v2");
}

int cuEventRecord(Event *e, Stream *s) {
	ENTER("cuEventRecord");
	if (!s || !e || e->on != s->on)
		return INVALID_HANDLE;
	uint64_t number;
	{
		std::lock_guard<std::mutex> lock(e->mutex);
		number = ++e->asked;
	}
	return s->give([e, number] {
		std::lock_guard<std::mutex> lock(e->mutex);
		e->passed = std::max(e->passed, number);
		e->at = seconds();
		e->changed.notify_all();
		return OK;
	});
}

int cuEventQuery(Event *e) {
	ENTER("cuEventQuery");
	if (!e)
		return INVALID_HANDLE;
	std::lock_guard<std::mutex> lock(e->mutex);
	return e->passed >= e->asked ? OK : NOT_READY;
}

int cuEventSynchronize(Event *e) {
	ENTER("cuEventSynchronize");
	if (!e)
		return INVALID_HANDLE;
	std::unique_lock<std::mutex> lock(e->mutex);
	e->changed.wait(lock, [&] { return e->passed >= e->asked; });
	return current() ? current()->lost.load() : int(OK);
}

int cuEventElapsedTime(float *ms, Event *from, Event *to) {
	ENTER("cuEventElapsedTime");
	if (!from || !to || from->on != to->on)
		return INVALID_HANDLE;
	std::scoped_lock lock(from->mutex, to->mutex);
	if (!from->asked || !to->asked)
		return INVALID_HANDLE;
	if (from->passed < from->asked || to->passed < to->asked)
		return NOT_READY;
	*ms = float((to->at - from->at) * 1e3);
	return OK;
}

int cuStreamBeginCapture_v2(Stream *s, int) {
	ENTER("cuStreamBeginCapture_v2");
	if (!s || s->capturing)
		return INVALID_HANDLE;
	s->capturing = new std::vector<Work>;
	return OK;
}

int cuStreamEndCapture(Stream *s, Graph **g) {
	*g = nullptr;
	if (!s || !s->capturing)
		return INVALID_HANDLE;
	std::unique_ptr<std::vector<Work>> work(s->capturing);
	s->capturing = nullptr;
	ENTER("cuStreamEndCapture");
	*g = new Graph{std::move(*work)};
	return OK;
}

int cuGraphInstantiateWithFlags(Graph **exec, Graph *g, unsigned long long) {
	ENTER("cuGraphInstantiateWithFlags");
	*exec = new Graph{g->work};
	return OK;
}

int cuGraphLaunch(Graph *exec, Stream *s) {
	ENTER("cuGraphLaunch");
	if (!exec || !s)
		return INVALID_HANDLE;
	for (const Work &w : exec->work)
		s->give(w);
	return OK;
}

int cuGraphDestroy(Graph *g) {
	delete g;
	return enter("cuGraphDestroy");
}

int cuGraphExecDestroy(Graph *g) {
	delete g;
	return enter("cuGraphExecDestroy");
}
}
