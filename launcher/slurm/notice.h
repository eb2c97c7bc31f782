#pragma once
// Finds out why Slurm signals a job: from `scontrol show job`, since the signal does not tell.
//
// Tested with Slurm 22.05 (docs/internals/slurm.md): during the grace of a preemption the job is
// RUNNING and has a PreemptTime; at its time limit it is COMPLETING with the reason TimeLimit;
// after a requeue by a user, COMPLETING with one restart more than before; after scancel,
// COMPLETING without a reason. The warning of --signal reaches a RUNNING job, which Slurm shows as
// SIGNALING while it sends the warning.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/slurm/command.h"

namespace robustrun::launcher {

struct SlurmNotice {
  enum class Why : std::uint8_t {
    kNothing,  // Slurm plans no end: the signal came from elsewhere
    kPreempted,
    kTimeLimit,  // the time limit is reached
    kTimeLimitNear,
    kCancelled,  // by the user or an administrator
    kRequeued,  // not by robustrun
    kNodeFailed,  // Slurm ends the job because a node is gone
  };
  Why why = Why::kNothing;
  std::string words;  // "Slurm preempts job 12", for people; empty for kNothing
  std::optional<base::Nanos> end{};  // Unix time of the time limit; of kTimeLimitNear only
};

// Pure. `shown`: output of `scontrol show job --oneliner`, with times as in fields.h. `restarts`:
// SLURM_RESTART_COUNT of this start of the job. `now`: Unix time. `warning`: how long before the
// time limit Slurm's warning may come. kCorrupt: `shown` is not about a job.
[[nodiscard]] base::Result<SlurmNotice> read_slurm_notice(std::string_view shown,
                                                          std::uint32_t restarts, base::Nanos now,
                                                          base::Nanos warning);

// Whether Slurm itself queues this job again once its script ends, so that robustrun must not. From
// 24.05 on, Slurm does so with a job that it preempts with a grace time, if the partition's
// PreemptMode is REQUEUE and the job may be requeued. If robustrun queued such a job as well, Slurm
// would queue it once more at the end of its next start, whatever its exit code. `version`: output
// of `scontrol --version`; `job`, `partition`: outputs of `scontrol show job` and `scontrol show
// partition`, both with --oneliner.
[[nodiscard]] bool requeues_itself(std::string_view version, std::string_view job,
                                   std::string_view partition);

// A lane of the caller's blocking pool for ask_slurm_notice(); other lanes may be busy for long.
inline constexpr std::uint32_t kNoticeLane = 0x5348'1000;

// Asks scontrol. Blocks for at most kSlurmNoticeWait. Returns kNothing, too, if no usable answer
// came.
[[nodiscard]] SlurmNotice ask_slurm_notice(const SlurmOptions& options);

}  // namespace robustrun::launcher
