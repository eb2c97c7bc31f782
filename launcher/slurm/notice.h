#pragma once
// Why Slurm signals a job: its signals do not say, `scontrol show job` does. Pure.
//
// Tried with Slurm 22.05 (docs/internals/slurm.md): during the grace of a preemption the job is
// RUNNING and has a PreemptTime; at its time limit it is COMPLETING with the reason TimeLimit; when
// a user requeued it, COMPLETING with one restart more than it had; when it was cancelled,
// COMPLETING without a reason. The warning of --signal comes to a job that is RUNNING, which Slurm
// shows as SIGNALING while it sends the warning.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/slurm/command.h"

namespace robustrun::launcher {

struct SlurmNotice {
  enum class Why : std::uint8_t {
    kNothing,  // Slurm knows of no end: somebody signalled us
    kPreempted,
    kTimeLimit,  // reached, or near
    kCancelled,  // by the user or an administrator
    kRequeued,  // by somebody else than us
    kNodeFailed,  // Slurm ends the job because a node is gone
  };
  Why why = Why::kNothing;
  std::string words;  // "Slurm preempts job 12", for people; empty for kNothing
};

// `shown`: what `scontrol show job --oneliner` printed. `restarts`: SLURM_RESTART_COUNT of this
// start of the job. `now`: Unix time; times in `shown` are this machine's local ones. `warning`:
// how long before the time limit Slurm may have been asked to say so. kCorrupt when it is not about
// a job.
[[nodiscard]] base::Result<SlurmNotice> read_slurm_notice(std::string_view shown,
                                                          std::uint32_t restarts, base::Nanos now,
                                                          base::Nanos warning);

// For a caller's blocking pool; other lanes may be busy for long.
inline constexpr std::uint32_t kNoticeLane = 0x5348'1000;

// Asks scontrol. Blocks for at most kSlurmNoticeWait; kNothing, without words, when there is no
// answer.
[[nodiscard]] SlurmNotice ask_slurm_notice(const SlurmOptions& options);

}  // namespace robustrun::launcher
