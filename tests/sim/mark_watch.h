#pragma once
// Nothing starts while the mark on a checkpoint is awaited: some ranks would take it, others not.

#include "supervisor/core/job.h"
#include "supervisor/core/limits.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

class MarkWatch {
 public:
  // The agent has done what the order with this number says, or has failed.
  void answered(std::uint64_t order) {
    if (order == order_) order_ = 0;
  }
  void on_action(Nanos now, const core::Action& action) {
    const auto* demote = std::get_if<core::DemoteCheckpoint>(&action);
    if (demote == nullptr) return;
    order_ = demote->order;
    if (order_ != newest_) until_ = now + core::kDemotionMax;  // else it is said again
    newest_ = order_;
  }
  [[nodiscard]] bool may_start(Nanos now) const { return order_ == 0 || now >= until_; }

 private:
  std::uint64_t order_ = 0;  // that is not answered
  std::uint64_t newest_ = 0;
  Nanos until_{};
};

}  // namespace robustrun::sim
