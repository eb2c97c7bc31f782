#pragma once
// The scheduler drains a node, is about to reboot it, or puts it under maintenance. Its workers may
// go on; a spare takes its place at the next restart or, by the policy, at once. The node is not to
// blame: it comes back as a spare when the scheduler has changed its mind. The memory is in
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

  // NodeHealth from the scheduler.
  void noted(const Event& event);
  // Whether a spare that the scheduler leaves alone is to take the node's place.
  [[nodiscard]] bool must_leave(const NodeState& node) const;
  // Before a restart: leaves out nodes that must leave, as far as spares take their places.
  void leave();

 private:
  [[nodiscard]] std::size_t replacements() const;  // such spares, beyond those needed already
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
