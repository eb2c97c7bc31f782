#include "supervisor/core/job/facts/orders.h"

#include <algorithm>
#include <utility>

namespace robustrun::supervisor {

void Orders::enter(JobState next) {
  state_ = next;
  for (const TimerId id : {TimerId::kState, TimerId::kBackoff, TimerId::kUptime, TimerId::kSlow}) {
    cancel(id);
  }
}

bool Orders::workers_may_run() const {
  return state_ == JobState::kStarting || state_ == JobState::kRunning ||
         state_ == JobState::kStopping;
}

void Orders::decide(Rule rule, std::string text, std::vector<std::string> evidence,
                    std::vector<std::string> alternatives, std::optional<Classification> looks) {
  give(Decision{rule,
                attempt_,
                std::move(text),
                std::move(evidence),
                std::move(alternatives),
                std::move(looks),
                {}});
}

void Orders::decide_on(std::vector<base::NodeId> nodes, Rule rule, std::string text,
                       std::vector<std::string> evidence) {
  decide(rule, std::move(text), std::move(evidence));
  std::get<Decision>(actions_.back()).nodes = std::move(nodes);
}

void Orders::note_answer(Answer answer, std::vector<PassedStep> passed) {
  auto& decision = std::get<Decision>(actions_.back());
  decision.answer = answer;
  decision.passed = std::move(passed);
}

void Orders::set_timer(TimerId id, base::Nanos at) {
  live_timers_[static_cast<std::size_t>(id)] = ++timer_sequence_;
  timers_at_[static_cast<std::size_t>(id)] = at;
  give(SetTimer{id, timer_sequence_, at});
}

bool Orders::awaits(const TimerFired& timer) const {
  const auto id = static_cast<std::size_t>(timer.id);
  return id < live_timers_.size() && timer.sequence != 0 && live_timers_[id] == timer.sequence;
}

void Orders::repeat_timers(base::Nanos earliest) {
  for (std::size_t i = 0; i < kTimers; ++i) {
    if (live_timers_[i] == 0) continue;
    const auto id = static_cast<TimerId>(i);
    if (id == TimerId::kState) timers_at_[i] = std::max(timers_at_[i], earliest);
    give(SetTimer{id, live_timers_[i], timers_at_[i]});
  }
}

}  // namespace robustrun::supervisor
