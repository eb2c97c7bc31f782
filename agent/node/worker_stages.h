#pragma once
// The stages of one worker's start, from what its progress record says. Pure.
//
// The record is not trusted: a moment before the process was made, or in the future, counts as
// missing, and a stage never ends before it begins. docs/startup.md defines where stages begin and
// end.

#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "tracer/record_file.h"
#include "wire/messages/stages.h"

namespace robustrun::agent {

// Moments by this node's clock.
struct WorkerMoments {
  base::Nanos launched{};
  std::optional<base::Nanos> user_code_at, first_step_at;
  tracer::StartMarks marks;
};

// Takes the start marks out of `reading`, so that later readings are compared without them.
[[nodiscard]] WorkerMoments moments_of(base::Nanos launched, tracer::Reading& reading);

// The stages that have begun, in order. A program that has made no optimizer may never do a step:
// its first step is reported only once it is done.
[[nodiscard]] std::vector<wire::StageTime> worker_stages(const WorkerMoments& worker,
                                                         base::Nanos now);

// `stages`: of one worker, as above. Once a worker has done a step, no stage of it counts
// as under way: the result is the one that ended last, with `is_over`.
[[nodiscard]] wire::RankStage rank_stage(const std::vector<wire::StageTime>& stages);

}  // namespace robustrun::agent
