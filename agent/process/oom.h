#pragma once
// Finds out whether the OOM killer ended a worker or a process that the worker started: because the
// machine was out of memory (kKernel) or because a cgroup was over its limit (kCgroup).
//
// A watch begins before its worker starts, and is asked after the worker's death. It uses the first
// of these sources that can be read: the kernel's log, which names pids; the counters of the
// worker's own cgroup; the counters of the agent's cgroup (v2 memory.events, v1
// memory.oom_control). A kill in the agent's cgroup is the worker's only if no other programs are
// in that cgroup; otherwise, and if only the machine's counter in /proc/vmstat rose, the answer is
// kUnknown. The kernel raises the counters before it kills. Nothing here blocks.

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

  // `pids`: the worker, if it ended by a SIGKILL that was not the agent's; otherwise those of its
  // children that it reported as killed (killed_children()). kNo: none of them was killed for
  // memory; kUnknown: some process was, perhaps of another program, or no source can be read.
  [[nodiscard]] wire::OomKiller killed(const std::vector<pid_t>& pids);

 private:
  struct Counters {
    std::optional<std::uint64_t> worker_kills;  // in the worker's own cgroup
    std::optional<std::uint64_t> group_kills;  // in the agent's cgroup
    std::string group;  // folder of the agent's cgroup
    std::optional<std::uint64_t> machine_kills;
    std::uint64_t limit_hits = 0;  // in these cgroups and all above them
  };
  [[nodiscard]] Counters read_counters() const;
  [[nodiscard]] std::optional<wire::OomKiller> named_in_kernel_log(const std::vector<pid_t>& pids);

  class KernelLog;
  std::string worker_cgroup_;
  OomSources sources_;
  std::shared_ptr<KernelLog> kernel_log_;  // shared by all watches; null: not readable
  std::uint64_t kills_before_ = 0;  // in the log before the worker began
  std::uint64_t gaps_before_ = 0;  // how often log records had been missed by then
  Counters before_;
  bool was_alone_ = false;  // no other programs in the agent's cgroup when the worker began
};

// The pids of killed child processes that a worker's last output reports (torch's DataLoader,
// concurrent.futures). Empty: a report without pids; nullopt: no report.
std::optional<std::vector<pid_t>> killed_children(std::string_view words);

// Which OOM killer killed `pid`, according to one record of the kernel's log; kNo: the record tells
// of no such kill.
wire::OomKiller oom_killer_in_record(std::string_view record, pid_t pid);

}  // namespace robustrun::agent
