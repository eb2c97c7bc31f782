#pragma once
// What the kernel says of a worker and of all its descendants at one moment (proc(5), cgroups(7)).
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
  tracer::ProcessState state;    // but for what lies between two looks
  std::uint64_t start_ticks = 0;  // since boot, by the kernel's clock: with the pid, who it is
  std::uint64_t cpu_ticks = 0;   // used by all of them so far, ended children included
  base::Nanos cpu_delay{};  // their main threads were ready to run for so long, and did not
  std::uint64_t io_bytes = 0;    // read and written by all of them so far
  std::vector<pid_t> tree;  // the worker, then its descendants; at most kDescendantsMax of them
};

// `cgroup`: folder of the worker's own cgroup v2, or empty: then that which it is in. `root` is put
// before /proc. kNotFound: there is no such process.
base::Result<ProcessLook> look_at_process(pid_t pid, const std::string& cgroup,
                                          const std::string& root = "");

// As at the second, but a worker that slept at the first does not run. kNotFound: another process
// has the number by now. `watched`: the time between the looks.
base::Result<tracer::ProcessState> compare_looks(const ProcessLook& first,
                                                 const ProcessLook& second, base::Nanos watched);

// The kernel's unit of processor time and of start times.
base::Nanos ticks_to_time(std::uint64_t ticks);

// Whether a handler for `signal` is installed: without one it would end the worker.
struct SignalState {
  bool is_caught = false;
  bool is_pending = false;  // an earlier one has not been taken yet
  bool is_stopped = false;  // the process is: it takes none
};
[[nodiscard]] SignalState signal_state(pid_t pid, int signal);

}  // namespace robustrun::agent
