#pragma once
// Findings about machines. Each is reported, and remembered because it may explain a failure. If
// the policy says so, the machine is evicted. Plans of the scheduler go to Drains. The state is in
// NodeState.

#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/drains.h"
#include "supervisor/core/job/nodes/evictions.h"

namespace robustrun::supervisor {

class Health {
 public:
  Health(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
         const Workers& workers, Evictions& evictions, Drains& drains, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        evictions_(evictions),
        drains_(drains),
        moves_(moves) {}

  void noted(const Event& event);  // in states other than starting and running
  void noted_working(const Event& event);  // starting or running

 private:
  std::optional<Classification> take_note(const Event& event);
  bool must_go(NodeState& node, Classification& looks, std::vector<std::string>& why_not) const;

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  Evictions& evictions_;
  Drains& drains_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
