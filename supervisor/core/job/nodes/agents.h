#pragma once
// Agents of the nodes: when they are launched, and what the loss of one means for its node. Their
// memory is in NodeState.

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/agent_events.h"

namespace robustrun::supervisor {

class Agents {
 public:
  Agents(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group, Workers& workers,
         Copies& copies)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        copies_(copies) {}

  void launch(base::NodeId node);
  // Every lost node that is due for a retry.
  void launch_due();
  // The agent is lost, and with it the node's workers and copies. An agent that died on a node that
  // answers is launched again at once. If that fails too, or the machine does not answer, it is
  // launched again later, after growing waits, and a spare may take its place (Joining). Only a
  // node that the run cannot do without is tried at once more often; the restart budget limits
  // that. What lasts is not tried again at once. A node whose agent was told to end is left alone
  // for the longest wait: it may be down for maintenance. One that is gone is left alone for good.
  void drop(base::NodeId node, const AgentLost& how);
  // Drops agents whose hello is overdue, then launches those that are due.
  void look_after();
  // "the agent of n3 was lost: why"; to be called before drop().
  [[nodiscard]] std::string loss_in_words(base::NodeId node, const std::string& why) const;
  // After drop(). Launches the agent again if it is due.
  void report_loss(base::NodeId node, std::string text);
  // After drop(), while the first group forms: the agent is reported with others that have the same
  // trouble, by report_failed_starts() or by the end of the run.
  void report_later(base::NodeId node);
  void report_failed_starts();
  // Why nodes are not there, one line for all that have the same trouble: "h[1-2]: its host key is
  // unknown".
  [[nodiscard]] Evidence troubles() const;
  // Another supervisor takes the run over: it adopts the agents of all nodes. `may_launch`: those
  // on the way are launched again.
  void adopt(bool may_launch);
  void arm_timer();
  // The wait after so many troubles with a node.
  [[nodiscard]] base::Nanos retry_delay(std::uint32_t troubles) const;

 private:
  [[nodiscard]] bool may_be_awaited() const;
  struct Alike {
    std::vector<base::NodeId> nodes;
    bool is_same = true;  // to the letter
  };
  [[nodiscard]] std::vector<Alike> alike(const std::vector<base::NodeId>& nodes) const;
  [[nodiscard]] std::string trouble_of(const Alike& nodes) const;

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  Workers& workers_;
  Copies& copies_;
};

}  // namespace robustrun::supervisor
