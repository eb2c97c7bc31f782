#pragma once
// Machines that were left out and are tested again; one that passes takes part again. While the run
// waits for nodes, each machine of a host list that was left out gets a full check after a growing
// delay; if its agent is gone, it is launched first. Machines that were evicted together are tested
// right after their eviction, while the run goes on, and a fit one comes back as a spare. A machine
// returns at most kReturnsMax times in a run, as a fault that no test finds must not keep the run
// busy for ever.
//
// In an open group a repaired machine joins by itself. The memory is in NodeState.

#include <string>
#include <vector>

#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/nodes/check_orders.h"

namespace robustrun::supervisor {

class Probation {
 public:
  Probation(Orders& orders, const JobSpec& spec, Nodes& nodes, Agents& agents, CheckOrders& checks,
            Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        agents_(agents),
        checks_(checks),
        moves_(moves) {}

  // Tests those of `suspects` that are on probation and there.
  void check(const std::vector<base::NodeId>& suspects);
  // Judges nodes that were tested again: false if there are none in `result`.
  bool judge(const NodesChecked& result);
  // While nodes are waited for: tests the machines that are due.
  void retest();
  [[nodiscard]] base::Nanos next_retest() const;  // kNever: none is planned
  [[nodiscard]] std::string retests_in_words() const;

 private:
  [[nodiscard]] bool may_return(base::NodeId node) const;
  void readmit(base::NodeId node);

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  Agents& agents_;
  CheckOrders& checks_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
