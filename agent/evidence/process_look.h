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
  std::uint64_t cpu_ticks = 0;   // used by all of them so far, including ended children
  base::Nanos cpu_delay{};  // time for which their main threads were ready to run but did not
  std::uint64_t io_bytes = 0;    // read and written by all of them so far
  std::vector<pid_t> tree;  // the worker, then its descendants; at most kDescendantsMax of them
};

// `cgroup`: folder of the worker's own cgroup v2; empty: the cgroup that it is in. `root` is put
// before /proc. kNotFound: there is no such process.
base::Result<ProcessLook> look_at_process(pid_t pid, const std::string& cgroup,
                                          const std::string& root = "");

// The state at the second look, but a worker that slept at the first does not count as running.
// kNotFound: another process has the pid by now. `watched`: the time between the looks.
base::Result<tracer::ProcessState> compare_looks(const ProcessLook& first,
                                                 const ProcessLook& second, base::Nanos watched);

// The kernel's unit of processor time and of start times.
base::Nanos ticks_to_time(std::uint64_t ticks);

// Whether a handler for `signal` is installed. Without a handler the signal would end the worker.
struct SignalState {
  bool is_caught = false;
  bool is_pending = false;  // an earlier signal has not been delivered yet
  bool is_stopped = false;  // the process is stopped and handles no signal
};
[[nodiscard]] SignalState signal_state(pid_t pid, int signal);

}  // namespace robustrun::agent
