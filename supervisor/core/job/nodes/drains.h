#pragma once
// Nodes that the scheduler drains, reboots or puts under maintenance. Their workers may go on; a
// spare takes the node's place at the next restart or, if the policy says so, at once. Such a node
// is not to blame: it is a spare again when the scheduler withdraws its plan. The state is in
// NodeState.

#include <cstddef>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/evictions.h"

namespace robustrun::supervisor {

class Drains {
 public:
  Drains(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
         const Workers& workers, const Evictions& evictions, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        evictions_(evictions),
        moves_(moves) {}

  // Takes a NodeHealth event from the scheduler.
  void noted(const Event& event);
  // Whether the node is to be replaced, because the scheduler has plans for it and the policy acts
  // on them. Only a spare without such plans can replace it.
  [[nodiscard]] bool must_leave(const NodeState& node) const;
  // Before a restart: leaves out nodes that must leave, as far as spares can take their places.
  void leave();

 private:
  [[nodiscard]] std::size_t replacements() const;  // suitable spares, beyond those needed already
  void hand_over(base::NodeId node);

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  const Evictions& evictions_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
