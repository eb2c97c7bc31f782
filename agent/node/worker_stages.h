#pragma once
// Computes the stages of one worker's start from its progress record. Pure.
//
// The record is not trusted: a moment before the worker was launched or in the future counts as
// missing, and a stage never ends before it begins. docs/startup.md defines where stages begin and
// end.

#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "tracer/record_file.h"
#include "wire/messages/stages.h"

namespace robustrun::agent {

// Moments of a worker's start, by this node's monotonic clock.
struct WorkerMoments {
  base::Nanos launched{};
  std::optional<base::Nanos> user_code_at, first_step_at;
  tracer::StartMarks marks;
};

// Moves the start marks out of `reading`, so that a comparison of readings ignores them.
[[nodiscard]] WorkerMoments moments_of(base::Nanos launched, tracer::Reading& reading);

// The stages that have begun, in order. The stage of the first step begins only when the worker has
// made an optimizer or has done the step, because a program without an optimizer may never step.
[[nodiscard]] std::vector<wire::StageTime> worker_stages(const WorkerMoments& worker,
                                                         base::Nanos now);

// The current stage of a worker; `stages`: from worker_stages(). If no stage lasts any more, or the
// worker has done a step, the result is the stage that ended last, with `is_over`.
[[nodiscard]] wire::RankStage rank_stage(const std::vector<wire::StageTime>& stages);

}  // namespace robustrun::agent
