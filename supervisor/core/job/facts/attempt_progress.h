#pragma once
// How far the attempt has come: its steps, and the time from which further progress counts. Part of
// the job's memory; phases/running.cpp updates it.

#include <cstdint>
#include <optional>

#include "base/core/clock.h"
#include "supervisor/core/fault/step_trail.h"

namespace robustrun::supervisor {

struct AttemptProgress {
  base::Nanos attempt_started{};
  bool has_source = false;  // the workers of this run report steps
  bool made = false;  // this attempt has made progress
  bool script_runs = false;  // in this attempt the script was seen to run on every rank
  std::uint64_t steps = 0;  // done by every rank in this attempt
  base::Nanos counts_from{};  // time of the newest progress, otherwise the attempt's start
  StepTrail trail;
  std::optional<std::uint64_t> steps_done;  // steps done towards JobSpec::stop_after_steps
  base::Nanos steps_done_at{};  // when `steps_done` was reported

  void begin_attempt(base::Nanos now) {
    trail.begin_attempt();
    made = script_runs = false;
    steps = 0;
    attempt_started = counts_from = now;
  }

  template <class V>
  void fields(V& v) {
    v(11, "attempt_started", attempt_started);
    v(16, "has_progress_source", has_source);
    v(17, "made_progress", made);
    v(37, "script_runs", script_runs);
    v(18, "steps", steps);
    v(19, "progress_at", counts_from);
    v(51, "steps_done", steps_done);
    v(52, "steps_done_at", steps_done_at);
    v(76, "trail", trail);
  }
};

}  // namespace robustrun::supervisor
