#include "supervisor/core/assign.h"

#include "base/core/result.h"
#include "supervisor/core/limits.h"

namespace robustrun::supervisor {

bool can_be_planned(const std::vector<NodeSpec>& nodes) {
  if (nodes.size() > kNodesMax) return false;
  std::uint64_t total = 0;
  for (const NodeSpec& node : nodes) total += node.slots;
  return total > 0 && total <= kWorkersMax;
}

RankPlan plan_ranks(const std::vector<NodeSpec>& nodes) {
  RR_ASSERT(can_be_planned(nodes));
  RankPlan plan;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    plan.first_rank.push_back(plan.world_size());
    for (std::uint32_t local = 0; local < nodes[node].slots; ++local) {
      const std::uint32_t rank = plan.world_size();
      plan.workers.push_back({base::Rank{rank}, base::LocalRank{local}, rank});
      plan.node_of.push_back(base::NodeId{node});
    }
  }
  plan.first_rank.push_back(plan.world_size());
  return plan;
}

StartWorkers start_order(const RankPlan& plan, const JobSpec& spec, base::NodeId node,
                         base::Attempt attempt, std::uint32_t master_port) {
  RR_ASSERT(node.value < spec.nodes.size());
  StartWorkers order;
  order.node = node;
  order.attempt = attempt;
  order.workers.assign(plan.workers.begin() + plan.first_rank[node.value],
                       plan.workers.begin() + plan.first_rank[node.value + 1]);
  order.group_rank = node.value;
  order.group_world_size = static_cast<std::uint32_t>(spec.nodes.size());
  order.world_size = plan.world_size();
  order.master_addr = spec.master_addr.empty() ? spec.nodes.front().address : spec.master_addr;
  order.master_port = master_port;
  return order;
}

}  // namespace robustrun::supervisor
