#include "supervisor/core/job/phases/running.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"

namespace robustrun::supervisor {

void Running::begin() {
  orders_.enter(JobState::kRunning);
  uptime_due_ = orders_.now() + restarts_.budget().policy().uptime_is_progress;
  arm_timer();
  growth_.consider();
}

void Running::progress(const Event& event) {
  const auto& mark = body<Progress>(event);
  progress_.script_runs = progress_.script_runs || mark.mark == Progress::Mark::kUserCode;
  const bool first_step = mark.mark == Progress::Mark::kFirstStep;
  if (const auto lost = mark.step ? progress_.trail.take(mark.steps, *mark.step) : std::nullopt) {
    orders_.decide(Rule::kNotResumed,
                   fmt::format("the script did not resume: step 0 after {}", *lost), {},
                   {"resume from a checkpoint: the script has loaded none, or saved none"});
  }
  if (first_step) slow_.note_first_step(mark.reached_at);
  if (mark.mark == Progress::Mark::kCaughtUp) slow_.note_caught_up(mark.reached_at);
  if (spec_.stop_after_steps) {
    progress_.steps_done =
        mark.step ? static_cast<std::uint64_t>(std::max<std::int64_t>(*mark.step, 0)) : mark.steps;
    progress_.steps_done_at = orders_.now();
  }
  if (!first_step && mark.steps <= progress_.steps) return;
  progress_.has_source = true;
  progress_.steps = std::max(progress_.steps, mark.steps);
  note_progress();
}

void Running::note_progress() {
  const base::Nanos amount = orders_.now() - progress_.counts_from;
  progress_.counts_from = orders_.now();
  progress_.made = true;
  growth_.note_progress();
  remedies_.note_progress(amount);
  diagnoses_.note_progress(amount);
  if (restarts_.note_progress(amount)) {
    orders_.decide(Rule::kBudgetRefilled,
                   fmt::format("{} of progress: all {} restarts are available again",
                               base::in_seconds(restarts_.budget().policy().window),
                               restarts_.budget().policy().max_restarts));
  }
  updates_.note_progress();
  if (orders_.state() == JobState::kRunning) growth_.consider();
}

// Workers that report no steps count as making progress while they live.
void Running::uptime(const Event&) {
  updates_.restart_if_due();
  if (orders_.state() != JobState::kRunning) return;
  if (!progress_.has_source && orders_.now() >= uptime_due_) {
    uptime_due_ = orders_.now() + restarts_.budget().policy().uptime_is_progress;
    note_progress();
  } else {
    growth_.consider();
  }
  if (orders_.state() == JobState::kRunning) arm_timer();
}

void Running::update_requested(const Event& event) {
  updates_.requested(event);
  if (orders_.state() == JobState::kRunning && updates_.due_at() != kNever) arm_timer();
}

// For uptime as progress, for nodes that wait to be taken in, and for an update.
void Running::arm_timer() {
  const bool counts =
      restarts_.budget().policy().uptime_is_progress > base::Nanos{} && !progress_.has_source;
  base::Nanos at = counts ? uptime_due_ : kNever;
  const base::Nanos grows_at = growth_.may_grow_at();
  if (group_.size() < nodes_.max_wanted() && grows_at > orders_.now()) at = std::min(at, grows_at);
  at = std::min(at, updates_.due_at());
  if (at != kNever) orders_.set_timer(TimerId::kUptime, at);
}

}  // namespace robustrun::supervisor
