#pragma once
// The restart budget, counted again from the decisions. Counted restarts stay within max_restarts
// until `window` of progress has refilled the budget. Free restarts are limited in a row without
// progress, and each needs more of a reason than a worker that ended by itself.

#include <fmt/core.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/job/job.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

class BudgetWatch {
 public:
  explicit BudgetWatch(const core::JobSpec& spec) : spec_(spec) {}

  struct Broken {
    const char* rule = nullptr;  // nullptr: no violation
    std::string what{};
  };

  void on_event(const core::Event& event) {
    if (std::holds_alternative<core::Progress>(event.body) ||
        is_timer(event, core::TimerId::kUptime)) {
      free_in_a_row_ = 0;
    }
    is_excused_ = is_excused_ || excuses(event);
    if (std::holds_alternative<core::NodeHealth>(event.body)) noticed_at_ = event.at;
  }

  [[nodiscard]] Broken on_actions(Nanos now, const std::vector<core::Action>& actions) {
    Broken broken;
    for (const core::Action& action : actions) {
      const auto* start = std::get_if<core::StartWorkers>(&action);
      if (start != nullptr && start->attempt != attempt_) {
        attempt_ = start->attempt;
        stopped_ = is_excused_ = false;
      }
      if (std::holds_alternative<core::StopWorkers>(action)) stopped_ = true;
      const auto* decision = std::get_if<core::Decision>(&action);
      if (decision == nullptr) continue;
      const bool is_a_reason =
          decision->rule == core::Rule::kNodeEvicted || decision->rule == core::Rule::kGroupGrew;
      is_excused_ = is_excused_ || is_a_reason;
      if (Broken one = on_decision(now, *decision); one.rule != nullptr) broken = std::move(one);
    }
    return broken;
  }

 private:
  [[nodiscard]] Broken on_decision(Nanos now, const core::Decision& decision) {
    if (decision.rule == core::Rule::kBudgetRefilled) return refilled(now);
    const bool is_restart = decision.rule == core::Rule::kRestart;  // otherwise a start that failed
    if (decision.answer == core::Answer::kFreeRestart) {
      const bool was_noticed = noticed_at_ && now <= *noticed_at_ + spec_.policy.suspected_for;
      return another_free_one(!is_restart || is_excused_ || was_noticed);
    }
    if (decision.answer != core::Answer::kCountedRestart) return {};
    return is_restart ? counted(now, decision.text) : another_start(now);
  }
  // torchrun counts every restart against --max-restarts: a start that is tried again, too.
  [[nodiscard]] Broken another_start(Nanos now) {
    if (used_++ == 0) used_since_ = now;
    if (used_ <= spec_.restart.max_restarts) return {};
    return {"budget_is_kept", "a start is tried again, and no restart was left"};
  }
  [[nodiscard]] Broken counted(Nanos now, const std::string& text) {
    if (used_++ == 0) used_since_ = now;
    const std::uint32_t allowed = spec_.restart.max_restarts;
    const std::string words = fmt::format("restart {} of {}", used_, allowed);
    if (used_ <= allowed && text.starts_with(words)) return {};
    return {"budget_is_kept", fmt::format("{}, and the decision reads: {}", words, text)};
  }
  [[nodiscard]] Broken refilled(Nanos now) {
    used_ = 0;
    if (now - used_since_ >= spec_.restart.window) return {};
    return {"budgets_are_refilled_by_progress",
            fmt::format("after {} ns", (now - used_since_).count())};
  }
  [[nodiscard]] Broken another_free_one(bool is_excused) {
    const std::uint32_t most = spec_.restart.max_infrastructure_restarts;
    if (++free_in_a_row_ > most) {
      return {"infrastructure_budget_is_kept",
              fmt::format("{} in a row without progress, {} are allowed", free_in_a_row_, most)};
    }
    if (is_excused) return {};
    return {"free_restarts_have_a_reason", "only workers ended, by themselves"};
  }

  static bool is_timer(const core::Event& event, core::TimerId id) {
    const auto* timer = std::get_if<core::TimerFired>(&event.body);
    return timer != nullptr && timer->id == id;
  }
  // Whether the event is not the script's fault.
  [[nodiscard]] bool excuses(const core::Event& event) const {
    if (const auto* exited = std::get_if<core::WorkerExited>(&event.body)) {
      const bool looks_like_something = spec_.policy.is_on() && !exited->stderr_tail.empty();
      return exited->shim_lost || looks_like_something || exited->error_message == "EADDRINUSE";
    }
    if (const auto* failed = std::get_if<core::WorkerStartFailed>(&event.body)) {
      return failed->os_errno == EAGAIN;
    }
    if (const auto* found = std::get_if<core::Diagnosed>(&event.body)) {
      return found->stage == core::Diagnosed::Stage::kConvicted;
    }
    const bool vanished = !stopped_ && std::holds_alternative<core::WorkersGone>(event.body);
    return vanished || std::holds_alternative<core::AgentLost>(event.body) ||
           is_timer(event, core::TimerId::kState);
  }

  const core::JobSpec& spec_;
  std::uint32_t used_ = 0;  // since the budget was full
  Nanos used_since_{};
  std::uint32_t free_in_a_row_ = 0;
  std::optional<base::Attempt> attempt_;  // started last
  bool stopped_ = false, is_excused_ = false;
  std::optional<Nanos> noticed_at_;  // a finding about a machine
};

}  // namespace robustrun::sim
