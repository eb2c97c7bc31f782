#pragma once
// What the threads of a worker and of its descendants wait for, by the system calls that they are
// in (/proc/PID/task/TID/syscall in proc(5)). It tells a worker that only sleeps, or waits for a
// lock, from one that waits for storage, a peer, a child or an upload.
//
// Needs the right to trace the worker, and reads a few bytes of its memory: when a sleep ends, and
// which descriptors are polled. Without the right, the answer is "unknown". Blocks for some
// milliseconds: for the blocking pool.

#include <sys/types.h>

#include <span>
#include <string>

#include "base/core/clock.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct ThreadWaits {
  tracer::MainWait main = tracer::MainWait::kOther;
  // All other threads of the worker, and all of its descendants', sleep, wait for a lock or a
  // child, or await events and orders: none is running, does I/O or waits for a connection's data.
  bool others_idle = false;
};

// `tree`: the worker, then its descendants. `now`: by the machine's monotonic clock.
ThreadWaits thread_waits(std::span<const pid_t> tree, base::Nanos now);

}  // namespace robustrun::agent
