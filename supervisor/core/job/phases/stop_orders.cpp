#include "supervisor/core/job/phases/stop_orders.h"

#include <algorithm>

namespace robustrun::supervisor {

bool StopOrders::hasten(base::Nanos at) {
  if (at >= kill_at_) return false;
  kill_at_ = at;
  return true;
}

void StopOrders::send(int signal, StopReason reason) {
  const base::Nanos grace = std::max(base::Nanos{}, kill_at_ - orders_.now());
  orders_.reserve(workers_.running_nodes() + 1);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].gone) continue;
    orders_.give(
        StopWorkers{base::NodeId{i}, orders_.attempt(), signal, grace, reason, save_first_});
  }
}

void StopOrders::arm() {
  orders_.set_timer(TimerId::kState, kill_at_ + spec_.deadlines.kill_margin);
}

}  // namespace robustrun::supervisor
