#pragma once
// Whether a worker, or a process that it started, was ended by an OOM killer: the kernel's (the
// machine was out of memory) or its cgroup's (over its limit).
//
// Begun before the worker starts, asked when it is dead. Only what the kernel reports about our
// process counts, from the best available source: the kernel's log, which names pids; the counters
// of the worker's own cgroup; those of the cgroup that it shares with us (v2 memory.events, v1
// memory.oom_control), as long as no other programs are in it. A kill that may have hit another
// program (a shared cgroup, the machine's counter in /proc/vmstat) leaves the question open.
// Nothing here is required, and nothing blocks. The kernel raises the counters before it kills.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages/messages.h"

namespace robustrun::agent {

struct OomSources {
  std::string proc = "/proc";
  std::string kmsg = "/dev/kmsg";
};

class OomWatch {
 public:
  // `worker_cgroup`: folder of the worker's own cgroup v2, or empty.
  static OomWatch begin(const std::string& worker_cgroup, const OomSources& sources = {});

  // `pids`: the worker, if it ended by a SIGKILL that was not ours; else its children that it
  // reported as killed, empty if the report has no pids. kNo: no such process was killed
  // for memory; kUnknown: some process was, perhaps another program's, or nothing can be read.
  [[nodiscard]] wire::OomKiller killed(const std::vector<pid_t>& pids);

 private:
  struct Counters {
    std::optional<std::uint64_t> worker_kills;  // in the worker's own cgroup
    std::optional<std::uint64_t> group_kills;  // in our cgroup, not in those below it
    std::string group;  // its folder
    std::optional<std::uint64_t> machine_kills;
    std::uint64_t limit_hits = 0;  // in these cgroups and all above them
  };
  [[nodiscard]] Counters read_counters() const;
  [[nodiscard]] std::optional<wire::OomKiller> named_in_kernel_log(const std::vector<pid_t>& pids);

  class KernelLog;
  std::string worker_cgroup_;
  OomSources sources_;
  std::shared_ptr<KernelLog> kernel_log_;  // shared by all watches; null: not readable
  std::uint64_t kills_before_ = 0;  // reported before the worker began
  std::uint64_t gaps_before_ = 0;  // records of the log that were missed by then
  Counters before_;
  bool was_alone_ = false;  // no other programs in our cgroup when the worker began
};

// Whether a worker's last output says that a child process of it was killed, and the pids that it
// names (torch's DataLoader, concurrent.futures). nullopt: it does not say so.
std::optional<std::vector<pid_t>> killed_children(std::string_view words);

// What one record of the kernel's log says about `pid`; kNo: nothing.
wire::OomKiller oom_killer_in_record(std::string_view record, pid_t pid);

}  // namespace robustrun::agent
