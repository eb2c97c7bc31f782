#pragma once
// Which hosts a job leaves out when it is queued again: those that failed its run or other runs, as
// long as Slurm can start the job on the remaining hosts. Pure.
//
// A host counts as remaining if Slurm can use it, it is in a partition of the job, and it is like a
// host that the job had: at least as many processors and as much memory, and the same GPUs and
// features if the job asks for any. The rule may count too few hosts. It counts too many only if
// sinfo lists none of the hosts that the job had: then every host is assumed to suit the job.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

// A pending job: where it may start, and what it asks for.
struct PendingJob {
  std::vector<std::string> partitions;
  // How many the job needs. As read from Slurm, the number is too small while Slurm still cleans up
  // after the job's last start; the caller corrects it.
  std::uint32_t nodes = 1;
  std::vector<std::string> excluded;  // --exclude, and hosts that were left out before
  std::vector<std::string> required;  // --nodelist
  std::string reservation;  // empty: none
  std::string constraint;  // empty: none
  bool asks_for_gres = false;  // GPUs and the like
};

// `shown`: output of `scontrol show job --oneliner`. kCorrupt: `shown` is not about a job, or its
// lists of hosts cannot be read.
[[nodiscard]] base::Result<PendingJob> read_pending_job(std::string_view shown);

struct SlurmHost {
  std::string name;
  std::string partition;
  bool is_usable = false;  // Slurm can use it now, or when its jobs have ended
  std::uint64_t processors = 0;
  std::uint64_t memory_mb = 0;
  std::string gres;
  std::string features;
};

// The command line that prints a line for each host and partition. `sinfo`: absolute path of that
// program.
[[nodiscard]] std::vector<std::string> list_hosts_argv(const std::string& sinfo);
// `listed`: output of list_hosts_argv(). Lines that cannot be read are left out.
[[nodiscard]] std::vector<SlurmHost> read_slurm_hosts(std::string_view listed);

// A host that failed a run.
struct BlamedHost {
  std::string name;
  std::string why;  // "lost"
  bool by_this_run = true;  // false: it failed other runs
};

struct Avoidance {
  std::vector<std::string> excluded;  // all hosts that the job is to leave out, in natural order
  std::vector<std::string> words;  // for people, one sentence each
};

// `had`: the hosts of the run. `blamed`: the worst first. Hosts of `job.excluded` stay excluded,
// except those that failed this run: the job had them, so it was not the user who excluded them.
// About these it is decided anew.
[[nodiscard]] Avoidance choose_avoided(const PendingJob& job, const std::vector<SlurmHost>& hosts,
                                       const std::vector<std::string>& had,
                                       const std::vector<BlamedHost>& blamed);

}  // namespace robustrun::launcher
