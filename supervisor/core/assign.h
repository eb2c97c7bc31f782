#pragma once
// Who gets which rank. Pure.
//
// Ranks are prefix sums of the nodes' slots in node order (torchrun.md a.2.1): nodes may differ
// in size, and a node keeps its ranks over restarts. There is one role, so the role's rank is the
// rank; the group's rank is the node's index.

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/actions.h"
#include "supervisor/core/job_spec.h"

namespace robustrun::supervisor {

struct RankPlan {
  std::vector<Assignment> workers;         // by rank
  std::vector<base::NodeId> node_of;       // by rank
  std::vector<std::uint32_t> first_rank;   // by node, and the world size at the end

  [[nodiscard]] std::uint32_t world_size() const {
    return static_cast<std::uint32_t>(workers.size());
  }
  [[nodiscard]] std::uint32_t slots(base::NodeId node) const {
    return first_rank[node.value + 1] - first_rank[node.value];
  }
};

// True for what a plan can be made of: at least one worker, within the limits.
bool can_be_planned(const std::vector<NodeSpec>& nodes);
RankPlan plan_ranks(const std::vector<NodeSpec>& nodes);

// The order to one node. MASTER_ADDR is spec.master_addr, else the first node's address.
StartWorkers start_order(const RankPlan& plan, const JobSpec& spec, base::NodeId node,
                         base::Attempt attempt, std::uint32_t master_port);

}  // namespace robustrun::supervisor
