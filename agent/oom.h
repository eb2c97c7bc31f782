#pragma once
// Whether a worker's SIGKILL came from an OOM killer: the kernel's (the machine was out of
// memory) or its cgroup's (over its limit).
//
// Begun before the worker starts, asked when it is dead. Evidence, best first: the kernel's log
// names the pid; the counters of the worker's own cgroup rose; those of the cgroup that we share
// with it rose (v2 memory.events, v1 memory.oom_control); those of the machine (/proc/vmstat).
// Nothing here is required, nothing blocks; the kernel raises the counters before it kills.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/io/fd.h"
#include "wire/messages.h"

namespace robustrun::agent {

struct OomSources {
  std::string proc = "/proc";
  std::string kmsg = "/dev/kmsg";
};

class OomWatch {
 public:
  // `worker_cgroup`: folder of the worker's own cgroup v2, or empty.
  static OomWatch begin(const std::string& worker_cgroup, const OomSources& sources = {});

  // For a worker that ended with SIGKILL, which was not ours. kNo: all that can be read says that
  // nobody was killed for memory; kUnknown: somebody was, perhaps not this one, or nothing can
  // be read.
  [[nodiscard]] wire::OomKiller killed(pid_t pid);

 private:
  struct Counters {
    std::optional<std::uint64_t> worker_kills;  // in the worker's own cgroup
    std::optional<std::uint64_t> group_kills;  // in ours
    std::optional<std::uint64_t> machine_kills;
    std::uint64_t limit_hits = 0;  // in these cgroups and all above them
  };
  [[nodiscard]] Counters read_counters() const;
  [[nodiscard]] std::optional<wire::OomKiller> named_in_kernel_log(pid_t pid);

  std::string worker_cgroup_;
  OomSources sources_;
  base::Fd kernel_log_;  // stands behind the last record before the worker; empty: not readable
  Counters before_;
};

// What one record of the kernel's log says about `pid`; kNo: nothing.
wire::OomKiller oom_killer_in_record(std::string_view record, pid_t pid);

}  // namespace robustrun::agent
