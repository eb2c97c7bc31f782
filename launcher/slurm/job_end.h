#pragma once
// When the time limit of a job ends it, as Slurm plans it now: an administrator may change it while
// the job runs.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/slurm/command.h"

namespace robustrun::launcher {

// Returns Unix time; nullopt: the job has no time limit. `shown`: the job's record in the output of
// `scontrol show job --oneliner` (record_of() in fields.h). kCorrupt: `shown` is not about a
// running job, or has no readable end. Pure.
[[nodiscard]] base::Result<std::optional<base::Nanos>> read_job_end(std::string_view shown);

// A lane of the caller's blocking pool for ask_job_end(); other lanes may be busy for long.
inline constexpr std::uint32_t kJobEndLane = 0x5348'1005;

// Asks scontrol. Blocks for at most kSlurmJobEndWait.
[[nodiscard]] base::Result<std::optional<base::Nanos>> ask_job_end(const SlurmOptions& options);

}  // namespace robustrun::launcher
