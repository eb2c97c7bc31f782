#pragma once
// The stages of one worker's start, from what its progress record says. Pure.
//
// The record may say anything: a moment before the process was made, or in the future, is as good
// as none, and a stage never ends before it begins. What begins and ends a stage: docs/startup.md.

#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "tracer/record_file.h"
#include "wire/messages/stages.h"

namespace robustrun::agent {

// By the clock of this node.
struct WorkerMoments {
  base::Nanos launched{};
  std::optional<base::Nanos> user_code_at, first_step_at;
  tracer::StartMarks marks;
};

// Takes the marks of the start out of the reading, which is compared with later ones without them.
[[nodiscard]] WorkerMoments moments_of(base::Nanos launched, tracer::Reading& reading);

// In their order; those that have begun. Of a program that neither makes a process group nor an
// optimizer it is not known that it will do a step: nothing is said of one then.
[[nodiscard]] std::vector<wire::StageTime> worker_stages(const WorkerMoments& worker,
                                                         base::Nanos now);

}  // namespace robustrun::agent
