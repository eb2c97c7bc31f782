#pragma once
// Small jobs that bring a run one more node each, in place of nodes that it has lost: Slurm adds no
// node to a job that runs.
//
// Their batch script starts an agent by srun, as in the run's own job, so that Slurm's signals
// reach the agent; the script ignores them. srun gives the agent the run's join token from a file
// of the run directory (0600), so no script, command line or variable holds the token. The jobs are
// known by their name, so a supervisor that takes the run over finds them in Slurm's queue.
//
// A new node should lie near the others. Slurm's options can demand a host but not prefer one. So a
// job first demands an idle host under a leaf switch of the run. If Slurm refuses that, the job is
// queued without the demand; if it has not begun by the caller's next order, `widen` drops the
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
  std::string node;  // while it runs
  std::string reason;  // why it waits
  bool operator==(const ReplacementJob&) const = default;
};

struct ReplacementOrder {
  std::vector<std::string> cancel;  // jobs
  std::vector<std::string> widen;  // waiting jobs that any host will do for
  std::uint32_t count = 0;  // jobs to queue; one order queues at most kReplacementsAtOnce
  std::vector<std::string> bad;  // hosts that they leave out
  std::vector<std::string> near;  // hosts of the run, which they leave out as well
};

struct ReplacementAnswer {
  base::Result<std::vector<ReplacementJob>> jobs;  // in the queue, after the order
  std::vector<std::string> queued;
  std::string trouble;  // the first failure to cancel or to queue a job
};

// Where the agents of such jobs find the join token.
[[nodiscard]] std::string join_file(const SlurmOptions& options);

// Pure.
[[nodiscard]] std::string replacement_script(const SlurmOptions& options);
// `own`: our environment; the new job does not get variables of our own job. `minutes`: its time
// limit; 0: as in `options`. `host`: the one that it is to get; empty: any.
[[nodiscard]] std::vector<std::string> sbatch_argv(const SlurmOptions& options,
                                                   const std::vector<std::string>& own,
                                                   const std::vector<std::string>& bad,
                                                   std::int64_t minutes, const std::string& host);
[[nodiscard]] std::vector<std::string> list_replacements_argv(const SlurmOptions& options);
// From that output, without jobs that are ending. kCorrupt when a line is not about a job: a job
// that is missed would be queued once more.
[[nodiscard]] base::Result<std::vector<ReplacementJob>> read_replacements(std::string_view listed);
// `topology`: output of `scontrol show topology`; `idle`: host names, one a line. Idle hosts under
// the same leaf switches as `near`. Also empty if no idle host is elsewhere: then there is nothing
// to prefer.
[[nodiscard]] std::vector<std::string> near_hosts(const std::string& topology,
                                                  std::string_view idle,
                                                  const ReplacementOrder& order);

// A lane of the caller's blocking pool for order_replacements(); other lanes may be busy for long.
inline constexpr std::uint32_t kReplacementLane = 0x5348'1008;

// Blocks for at most kSlurmCommandWait in each call of a Slurm program. Makes about
// 5 + `widen` + 2 * `count` of them.
[[nodiscard]] ReplacementAnswer order_replacements(const SlurmOptions& options,
                                                   const ReplacementOrder& order);

}  // namespace robustrun::launcher
