#pragma once
// What the threads of a worker and its descendants wait for, judged by their current system calls
// (/proc/PID/task/TID/syscall in proc(5)). This distinguishes a worker that only sleeps or waits
// for a lock from a worker that waits for storage, a peer, a child process or an upload.
//
// Needs permission to trace the worker, and reads a few bytes of its memory: when a sleep ends, and
// which descriptors are polled. Without permission `main` is kOther, and `others_idle` is false if
// there are other threads. Blocks for some milliseconds: for the blocking pool.

#include <sys/types.h>

#include <span>
#include <string>

#include "base/core/clock.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct ThreadWaits {
  tracer::MainWait main = tracer::MainWait::kOther;
  // All other threads of the worker and all threads of its descendants sleep, wait for a lock or a
  // child process, or await events or orders. No thread runs, does I/O or waits for data of a
  // connection.
  bool others_idle = false;
};

// `tree`: the worker, then its descendants. `now`: by the machine's monotonic clock.
ThreadWaits thread_waits(std::span<const pid_t> tree, base::Nanos now);

}  // namespace robustrun::agent
