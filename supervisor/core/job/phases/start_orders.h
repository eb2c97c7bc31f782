#pragma once
// The orders that start workers, and which supervisor gave them: workers that another supervisor
// ordered must not be taken for ours (Job::is_foreign).

#include <algorithm>
#include <cstdint>

#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/attempt_orders.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class StartOrders {
 public:
  StartOrders(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
              const Updates& updates, const Restarts& restarts, Copies& copies)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        updates_(updates),
        restarts_(restarts),
        copies_(copies) {}

  void set_port(std::uint32_t port) { port_ = port; }
  void begin_attempt();
  void send_all();
  // Sends the orders again, to nodes that still have workers. An agent that has carried out its
  // order starts nothing again.
  void repeat();
  // Once the copies that workers wait for are saved: tells the workers.
  void release();

  // The incarnation of the supervisor: 1, and at least one more after each takeover.
  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  void take_over(std::uint32_t incarnation) {
    incarnation_ = std::max(incarnation_ + 1, incarnation);
  }
  // The incarnation that ordered `attempt`; 0: unknown.
  [[nodiscard]] std::uint32_t ordered_by(base::Attempt attempt) const {
    return attempt_orders_.by(attempt);
  }

  template <class V>
  void fields(V& v) {
    v(10, "port", port_);
    v(74, "attempt_orders", attempt_orders_);
    v(34, "incarnation", incarnation_);
  }

 private:
  [[nodiscard]] StartWorkers order_for(std::uint32_t group_rank) const;

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  const Updates& updates_;
  const Restarts& restarts_;
  Copies& copies_;
  std::uint32_t port_ = 0;
  AttemptOrders attempt_orders_;  // which incarnation ordered which attempt
  std::uint32_t incarnation_ = 1;
};

}  // namespace robustrun::supervisor
