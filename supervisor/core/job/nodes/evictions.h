#pragma once
// Evictions: machines that are left out of the run because of a fault, as far as the run can do
// without them. The callers are Conclusion (for the policy's ladder, and slow machines), Health
// (for findings, and orders of a user in `robustrun top`) and Replaying. Checking and Drains also
// leave nodes out (NodeState::unfit).

#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/nodes/probation.h"
#include "supervisor/core/types/obstacle.h"

namespace robustrun::supervisor {

class Evictions {
 public:
  Evictions(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
            Probation& probation)
      : orders_(orders), spec_(spec), nodes_(nodes), group_(group), probation_(probation) {}

  // Why these machines cannot be evicted; kNone: they can. `may_shrink`: GroupPolicy::min_nodes are
  // enough; otherwise all places of the group must be filled.
  [[nodiscard]] Obstacle obstacle(const std::vector<base::NodeId>& suspects, bool may_shrink) const;
  void evict(const std::vector<base::NodeId>& suspects, const Classification& looks);

 private:
  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  Probation& probation_;
};

}  // namespace robustrun::supervisor
