#include "supervisor/core/job/phases/backoff_wait.h"

#include <fmt/core.h>

#include <algorithm>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void BackoffWait::setback(Rule rule, std::string text) {
  if (spec_.compat && !restarts_.budget().allows(FaultClass::kUser)) {
    return moves_.give_up(text + "; no restart is left (--max-restarts)");
  }
  const bool is_failed_start = rule == Rule::kStartFailed || rule == Rule::kAgentLost;
  if (is_failed_start && !restarts_.may_start_again()) {
    return moves_.give_up(restarts_.failed_starts_in_words(text));
  }
  if (!spec_.compat && !restarts_.budget().allows(FaultClass::kInfrastructure)) {
    return moves_.give_up(
        fmt::format("{}; giving up after {} infrastructure faults in a row without progress", text,
                    restarts_.budget().used_uncounted() + 1));
  }
  const base::Nanos delay = restarts_.delay(rule);
  restarts_.spend(spec_.compat ? FaultClass::kUser : FaultClass::kInfrastructure, {});
  if (is_failed_start) restarts_.note_failed_start();
  orders_.decide(rule, text + "; trying to start again");
  orders_.note_answer(spec_.compat ? Answer::kCountedRestart : Answer::kFreeRestart);
  agents_.launch_due();
  begin(delay);
}

void BackoffWait::begin(base::Nanos delay) {
  copies_.save_held();
  if (delay == base::Nanos{} && !awaits_answers()) return moves_.join_agents();
  orders_.enter(JobState::kBackoff);
  until_ = orders_.now() + delay;
  answers_until_ = orders_.now() + std::max(kDemotionMax, kHeldSaveMax);
  arm();
}

void BackoffWait::await_again() {
  if (!awaits_answers()) return;
  answers_until_ = orders_.now() + kReunionMax + std::max(kDemotionMax, kHeldSaveMax);
  arm();
}

void BackoffWait::arm() {
  orders_.set_timer(TimerId::kBackoff,
                    awaits_answers() ? std::max(until_, answers_until_) : until_);
}

// An answer that kBackoff waited for has come.
void BackoffWait::go_on_if_ready() {
  if (awaits_answers()) return;
  if (orders_.now() < until_) return orders_.set_timer(TimerId::kBackoff, until_);
  agents_.launch_due();
  moves_.join_agents();
}

void BackoffWait::hurry() {
  until_ = orders_.now();
  go_on_if_ready();
}

void BackoffWait::checkpoint_demoted(const Event& event) {
  if (checkpoints_.take_demoted(event)) go_on_if_ready();
}

void BackoffWait::over(const Event&) {
  checkpoints_.end_demotion();
  copies_.end_saving();
  agents_.launch_due();
  moves_.join_agents();
}

void BackoffWait::held_copies_saved(const Event& event) {
  if (copies_.take_saved(event)) go_on_if_ready();
}

void BackoffWait::node_lost(base::NodeId node, bool waited) {
  copies_.give_up_on(node);
  if (awaits_answers() && !waited) arm();
  if (waited) go_on_if_ready();
}

// A node that takes no part any more saves its own copies first; then its keeper saves the rest.
bool BackoffWait::awaits_answers() const {
  return checkpoints_.is_demoting() || copies_.is_saving() || copies_.is_leaver_saving();
}

void BackoffWait::saving_over(const Event& event) {
  const bool waited = orders_.state() == JobState::kBackoff && awaits_answers();
  if (!copies_.note_save_over(event)) return;
  if (waited) {
    copies_.save_held();
    go_on_if_ready();
  }
  starts_.release();
}

}  // namespace robustrun::supervisor
