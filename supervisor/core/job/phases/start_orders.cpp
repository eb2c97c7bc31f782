#include "supervisor/core/job/phases/start_orders.h"

#include <string>

namespace robustrun::supervisor {

StartWorkers StartOrders::order_for(std::uint32_t group_rank) const {
  const std::string& master =
      spec_.master_addr.empty() ? nodes_.at(group_.front()).address : spec_.master_addr;
  StartWorkers order = start_order(group_.plan(), group_rank, orders_.attempt(), master, port_);
  order.version = updates_.versions().present;
  order.ordered_by = attempt_orders_.by(orders_.attempt());
  order.saving = copies_.are_awaited();
  order.restarts = restarts_.budget().used();
  return order;
}

void StartOrders::release() {
  if (orders_.state() != JobState::kStarting && orders_.state() != JobState::kRunning) return;
  if (copies_.end_wait()) repeat();
}

void StartOrders::repeat() {
  for (std::uint32_t i = 0; i < group_.size(); ++i) {
    if (!nodes_.at(group_[i]).gone) orders_.give(order_for(i));
  }
}

void StartOrders::begin_attempt() { attempt_orders_.ordered(orders_.attempt(), incarnation_); }

void StartOrders::send_all() {
  orders_.reserve(group_.size() + 1);
  for (std::uint32_t i = 0; i < group_.size(); ++i) orders_.give(order_for(i));
}

}  // namespace robustrun::supervisor
