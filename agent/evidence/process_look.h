#pragma once
// What the kernel reports about a worker and all its descendants at one moment (proc(5),
// cgroups(7)).
//
// Blocks for some milliseconds, longer where /proc has many processes, and without bound while the
// worker hangs within exec(): for the blocking pool.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct ProcessLook {
  tracer::ProcessState state;    // except for what takes two looks
  // Since boot, by the kernel's clock; identifies the process together with its pid.
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;   // used by `tree` so far, with ended children; ticks_to_time()
  base::Nanos cpu_delay{};  // time that main threads of `tree` spent runnable without a CPU
  std::uint64_t io_bytes = 0;    // read and written by `tree` so far
  std::vector<pid_t> tree;  // the worker, then at most kDescendantsMax of its descendants
};

// `cgroup`: folder of the worker's own cgroup v2; empty: the cgroup that it is in. `root` is put
// before /proc. kNotFound: there is no such process.
base::Result<ProcessLook> look_at_process(pid_t pid, const std::string& cgroup,
                                          const std::string& root = "");

// The state at the second look, but a worker that slept at the first does not count as running.
// kNotFound: another process has the pid by now. `watched`: the time between the looks.
base::Result<tracer::ProcessState> compare_looks(const ProcessLook& first,
                                                 const ProcessLook& second, base::Nanos watched);

// Converts a number of the kernel's ticks, its unit of processor time and of start times.
base::Nanos ticks_to_time(std::uint64_t ticks);

// What /proc says about `signal` in a process; all false if the process cannot be read.
struct SignalState {
  bool is_caught = false;  // a handler is installed; without one the signal may end the process
  bool is_pending = false;  // an earlier signal has not been delivered yet
  bool is_stopped = false;  // the process is stopped and handles no signal
};
[[nodiscard]] SignalState signal_state(pid_t pid, int signal);

}  // namespace robustrun::agent
