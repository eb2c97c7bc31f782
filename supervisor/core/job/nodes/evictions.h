#pragma once
// Evictions: machines that the policy leaves out of the run, as far as the run can do without them.
// Conclusion (the ladder, slow machines), Health (findings) and Replaying evict; key E of `top`
// asks through Health. Checking and Drains leave nodes out, too (NodeState::unfit).

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

  // Why the run cannot do without these machines. `may_shrink`: GroupPolicy::min_nodes are enough;
  // otherwise all places must be filled.
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
