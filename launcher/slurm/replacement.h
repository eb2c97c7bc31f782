#pragma once
// Small jobs that each bring a run one more node, in place of a lost one, because Slurm adds no
// nodes to a running job.
//
// The batch script of such a job starts an agent by srun, as in the run's own job, so that Slurm's
// signals reach the agent; the script ignores them. srun gives the agent the run's join token from
// a file of the run directory (0600), so no script, command line or variable holds the token. A
// supervisor that takes the run over finds these jobs in Slurm's queue by their name.
//
// A new node should be near the others. Slurm's options can demand a host but not prefer one. So a
// job first demands an idle host below a leaf switch of the run. If Slurm refuses this, the job is
// queued without the demand. If the job has not begun by the caller's next order, `widen` drops the
// demand.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/slurm/command.h"

namespace robustrun::launcher {

struct ReplacementJob {
  std::string id;
  bool is_running = false;
  std::string node;  // while the job runs
  std::string reason;  // why the job waits
  bool operator==(const ReplacementJob&) const = default;
};

struct ReplacementOrder {
  std::vector<std::string> cancel;  // ids of jobs
  std::vector<std::string> widen;  // ids of waiting jobs that are to drop their demand for a host
  std::uint32_t count = 0;  // how many jobs to queue; at most kReplacementsAtOnce are queued
  std::vector<std::string> bad;  // hosts that new jobs leave out
  std::vector<std::string> near;  // hosts of the run, which new jobs leave out as well
};

struct ReplacementAnswer {
  base::Result<std::vector<ReplacementJob>> jobs;  // in the queue, after the order
  std::vector<std::string> queued;
  std::string trouble;  // the first failure to cancel or to queue a job
};

// Path of the file with the join token, for the agents of such jobs.
[[nodiscard]] std::string join_file(const SlurmOptions& options);

// Pure.
[[nodiscard]] std::string replacement_script(const SlurmOptions& options);
// `own`: our environment, of which the new job does not get variables of our own job. `bad`: hosts
// to leave out. `minutes`: time limit of the new job; 0: as in `options`. `host`: the host that the
// job demands; empty: any.
[[nodiscard]] std::vector<std::string> sbatch_argv(const SlurmOptions& options,
                                                   const std::vector<std::string>& own,
                                                   const std::vector<std::string>& bad,
                                                   std::int64_t minutes, const std::string& host);
[[nodiscard]] std::vector<std::string> list_replacements_argv(const SlurmOptions& options);
// `listed`: output of list_replacements_argv(). Leaves out jobs that are ending. kCorrupt: a line
// is not about a job; without this error, a job that was overlooked would be queued once more.
[[nodiscard]] base::Result<std::vector<ReplacementJob>> read_replacements(std::string_view listed);
// Idle hosts below the leaf switches of `order.near`, without `order.bad`. Empty, too, if all idle
// hosts are there, because then there is nothing to prefer. `topology`: output of `scontrol show
// topology`; `idle`: host names, one per line.
[[nodiscard]] std::vector<std::string> near_hosts(const std::string& topology,
                                                  std::string_view idle,
                                                  const ReplacementOrder& order);

// A lane of the caller's blocking pool for order_replacements(); other lanes may be busy for long.
inline constexpr std::uint32_t kReplacementLane = 0x5348'1008;

// Carries the order out. Blocks for at most kSlurmCommandWait in each call of a Slurm program, of
// which there are up to 5 + `widen.size()` + 2 * `count`.
[[nodiscard]] ReplacementAnswer order_replacements(const SlurmOptions& options,
                                                   const ReplacementOrder& order);

}  // namespace robustrun::launcher
