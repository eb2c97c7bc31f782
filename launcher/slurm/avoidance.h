#pragma once
// Which hosts a job leaves out once it is queued again: those that failed its run or other runs, as
// far as Slurm can start the job on the remaining ones. Pure.
//
// A host counts as remaining if Slurm can use it, it is in a partition of the job, and it is like a
// host that the job had: as many processors and as much memory, and the same GPUs and features if
// the job asks for any. That may miss hosts. It counts too many only if sinfo lists none of the
// hosts that the job had: then any host is taken to suit it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

// Where a pending job may start.
struct PendingJob {
  std::vector<std::string> partitions;
  // The least number. Slurm shows a smaller one while it cleans up after the job's last start.
  std::uint32_t nodes = 1;
  std::vector<std::string> excluded;  // --exclude, and what was left out before
  std::vector<std::string> required;  // --nodelist
  std::string reservation;  // empty: none
  std::string constraint;  // empty: none
  bool asks_for_gres = false;  // GPUs and the like
};

// `shown`: output of `scontrol show job --oneliner`. kCorrupt when it is not about a job, or
// names hosts in a way that cannot be read.
[[nodiscard]] base::Result<PendingJob> read_pending_job(std::string_view shown);

struct SlurmHost {
  std::string name;
  std::string partition;
  bool is_usable = false;  // now, or when its jobs have ended
  std::uint64_t processors = 0;
  std::uint64_t memory_mb = 0;
  std::string gres;
  std::string features;
};

// `sinfo`: its absolute path. Prints a line for each host and partition.
[[nodiscard]] std::vector<std::string> list_hosts_argv(const std::string& sinfo);
// Lines that cannot be read are left out.
[[nodiscard]] std::vector<SlurmHost> read_slurm_hosts(std::string_view listed);

struct BlamedHost {
  std::string name;
  std::string why;  // "lost"
  bool by_this_run = true;  // false: by other runs
};

struct Avoidance {
  std::vector<std::string> excluded;  // all that the job is to leave out, in natural order
  std::vector<std::string> words;  // for people, a sentence each
};

// `had`: the hosts of the run. `blamed`: the worst first. What the user excluded stays excluded;
// hosts that failed this run, which the user cannot have excluded, are decided about anew.
[[nodiscard]] Avoidance choose_avoided(const PendingJob& job, const std::vector<SlurmHost>& hosts,
                                       const std::vector<std::string>& had,
                                       const std::vector<BlamedHost>& blamed);

}  // namespace robustrun::launcher
