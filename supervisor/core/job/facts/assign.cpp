#include "supervisor/core/job/facts/assign.h"

#include <utility>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

bool can_be_planned(const std::vector<Place>& places) {
  if (places.size() > kNodesMax) return false;
  std::uint64_t total = 0;
  for (const Place& place : places) total += place.slots;
  return total > 0 && total <= kWorkersMax;
}

RankPlan plan_ranks(std::vector<Place> places) {
  RR_ASSERT(can_be_planned(places));
  RankPlan plan;
  plan.places = std::move(places);
  plan.first_rank.reserve(plan.places.size() + 1);
  plan.workers.reserve(plan.places.size());
  plan.node_of.reserve(plan.places.size());
  for (const Place& place : plan.places) {
    plan.first_rank.push_back(plan.world_size());
    for (std::uint32_t local = 0; local < place.slots; ++local) {
      const std::uint32_t rank = plan.world_size();
      plan.workers.push_back({base::Rank{rank}, base::LocalRank{local}, rank});
      plan.node_of.push_back(place.node);
    }
    if (plan.slots_of.size() <= place.node.value) plan.slots_of.resize(place.node.value + 1);
    plan.slots_of[place.node.value] = place.slots;
  }
  plan.first_rank.push_back(plan.world_size());
  return plan;
}

StartWorkers start_order(const RankPlan& plan, std::uint32_t group_rank, base::Attempt attempt,
                         const std::string& master_addr, std::uint32_t master_port) {
  RR_ASSERT(group_rank < plan.places.size());
  StartWorkers order;
  order.node = plan.places[group_rank].node;
  order.attempt = attempt;
  order.workers = {base::Rank{plan.first_rank[group_rank]}, plan.places[group_rank].slots};
  order.group_rank = group_rank;
  order.group_world_size = static_cast<std::uint32_t>(plan.places.size());
  order.world_size = plan.world_size();
  order.master_addr = master_addr;
  order.master_port = master_port;
  return order;
}

}  // namespace robustrun::supervisor
