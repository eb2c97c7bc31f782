#pragma once
// Agents of the nodes: when they are launched, and what the loss of an agent means for its node.
// Their state is in NodeState.

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
  // Launches the agent of every lost node that is due for a retry.
  void launch_due();
  // The agent is lost, and with it the node's workers and copies. Sets when the next agent is
  // launched (NodeState::retry_at):
  // * at once, if the node answers, the trouble may pass (AgentLost::lasting is empty) and it is
  //   the node's first trouble. If the run cannot do without the node, further agents are launched
  //   at once, too; the restart budget limits this.
  // * otherwise after growing waits; meanwhile a spare may take the node's place (Joining).
  // * after the longest wait, if the agent was told to end: the node may be down for maintenance.
  // * never, if the node is unfit or gone, or offered itself.
  void drop(base::NodeId node, const AgentLost& how);
  // Drops agents whose hello is overdue, then launches those that are due.
  void look_after();
  // "the agent of n3 was lost: why". Call it before drop().
  [[nodiscard]] std::string loss_in_words(base::NodeId node, const std::string& why) const;
  // Call it after drop(). Launches the agent again if it is due.
  void report_loss(base::NodeId node, std::string text);
  // Call it after drop(), while the first group forms. The loss is reported later, together with
  // those of other agents that have the same trouble: by report_failed_starts() or by the end of
  // the run.
  void report_later(base::NodeId node);
  void report_failed_starts();
  // Why nodes are not there, with one line for all that have the same trouble: "h[1-2]: its host
  // key is unknown".
  [[nodiscard]] Evidence troubles() const;
  // Another supervisor takes the run over: it adopts the agents of all nodes. `may_launch`: agents
  // on the way are launched again.
  void adopt(bool may_launch);
  void arm_timer();
  // The wait before another try after `troubles` losses, failed launches or tests.
  [[nodiscard]] base::Nanos retry_delay(std::uint32_t troubles) const;

 private:
  [[nodiscard]] bool may_be_awaited() const;
  // Nodes with the same trouble (NodeState::lasting or, if that is empty, NodeState::trouble).
  struct Alike {
    std::vector<base::NodeId> nodes;
    bool is_same = true;  // NodeState::trouble is the same, too
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
