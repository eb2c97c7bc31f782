#pragma once
// What agents notice about their machines: reported, remembered as what may explain a failure, and
// acted upon if the policy says so. The memory is in NodeState.

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

  void noted(const Event& event);
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
