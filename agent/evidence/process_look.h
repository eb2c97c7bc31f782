#pragma once
// What the kernel reports about a worker and all its descendants at one moment (proc(5),
// cgroups(7)).
//
// Blocks for some milliseconds, longer on a machine with many processes, and without limit while
// the worker hangs in exec(): for the blocking pool.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct ProcessLook {
  tracer::ProcessState state;    // without the members that compare two looks
  // When the process started, since boot; identifies the process together with its pid. All ticks
  // are in the unit of ticks_to_time().
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  // CPU time that `tree` used so far, including ended children
  base::Nanos cpu_delay{};  // time that main threads of `tree` spent runnable without a CPU
  std::uint64_t io_bytes = 0;  // read and written by `tree` so far
  std::vector<pid_t> tree;  // the worker, then at most kDescendantsMax of its descendants
};

// `cgroup`: folder of the worker's own cgroup v2; empty: the cgroup that contains the worker.
// `root` is put before /proc, for tests. kNotFound: there is no such process.
base::Result<ProcessLook> look_at_process(pid_t pid, const std::string& cgroup,
                                          const std::string& root = "");

// The state at the second look, with the resources used since the first. A worker that slept at the
// first look does not count as running: the agent's signal may have woken it. `watched`: the time
// between the looks. kNotFound: another process has the pid by now.
base::Result<tracer::ProcessState> compare_looks(const ProcessLook& first,
                                                 const ProcessLook& second, base::Nanos watched);

// Converts the kernel's clock ticks (_SC_CLK_TCK in sysconf(3)).
base::Nanos ticks_to_time(std::uint64_t ticks);

// What /proc/PID/status says about a signal; all false if the process cannot be read.
struct SignalState {
  bool is_caught = false;  // a handler is installed; without one the signal may end the process
  bool is_pending = false;  // an earlier signal has not been delivered yet
  bool is_stopped = false;  // the process is stopped and handles no signal
};
[[nodiscard]] SignalState signal_state(pid_t pid, int signal);

}  // namespace robustrun::agent
