#pragma once
// Machines that were left out are tested again; a machine that passes takes part again. While the
// run waits for nodes, each machine that was left out gets a full check after a growing delay. If
// its agent is gone, the agent is launched first. Machines that were evicted together are tested
// right after their eviction, while the run goes on, and a fit one becomes a spare. A machine
// returns at most kReturnsMax times in a run: a fault that no test finds must not keep the run busy
// for ever.
//
// In an open group (GroupPolicy::open) no machine is tested while the run waits: a repaired one
// joins by itself. The state is in NodeState.

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

  // Orders a full check of those `suspects` that are on probation and have an agent.
  void check(const std::vector<base::NodeId>& suspects);
  // Orders the checks under way again, as another supervisor takes over.
  void check_again();
  // Judges the nodes on probation in `result`. False: there are none.
  bool judge(const NodesChecked& result);
  // While the run waits for nodes: orders tests of the machines that are due.
  void retest();
  [[nodiscard]] base::Nanos next_retest() const;  // kNever: no test is planned
  // "; n3 is tested again meanwhile"; empty: no machine is.
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
