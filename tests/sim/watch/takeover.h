#pragma once
// A new supervisor repeats exactly what its predecessor ordered or was about to order, and ends a
// run that was to end as the predecessor would have.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/rules.h"
#include "tests/sim/trace.h"

namespace robustrun::sim {

class TakeoverWatch {
 public:
  void on_event(const core::Event& event) {
    is_now_ = std::holds_alternative<core::SupervisorResumed>(event.body);
  }
  [[nodiscard]] bool is_now() const { return is_now_; }
  // True: the orders belong to the current attempt. Its own supervisor repeats them once, when its
  // workers need not wait with their checkpoints any more.
  [[nodiscard]] bool is_repetition(const StartOrders& starts) {
    const bool is_known = starts.front()->attempt == attempt_;
    const bool is_release = is_known && waits_ && !starts.front()->saving;
    if (is_release) waits_ = false;
    return is_release || (is_now_ && is_known);
  }
  [[nodiscard]] bool are_the_same(const StartOrders& starts) const {
    return std::ranges::all_of(starts, [this](const core::StartWorkers* start) {
      const auto found = ordered_.find(start->node);
      return found != ordered_.end() && found->second == words_of(*start);
    });
  }
  void ordered(const StartOrders& starts) {
    attempt_ = starts.front()->attempt;
    waits_ = starts.front()->saving;
    ordered_.clear();
    for (const auto* start : starts) ordered_[start->node] = words_of(*start);
  }
  void finished(int exit_code) { exit_code_ = exit_code; }
  [[nodiscard]] bool ends_as_decided(const std::vector<core::Action>& actions) const {
    const auto* finish = actions.empty() ? nullptr : std::get_if<core::Finish>(&actions.back());
    return finish != nullptr && finish->exit_code == exit_code_;
  }

 private:
  bool is_now_ = false, waits_ = false;
  std::optional<base::Attempt> attempt_;
  std::map<base::NodeId, std::string> ordered_;  // start orders by node
  std::optional<int> exit_code_;
};

}  // namespace robustrun::sim
