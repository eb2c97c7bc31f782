#pragma once
// Assignment of ranks to nodes. Pure.
//
// Ranks are numbered node by node in the group's order (docs/compat.md), so an unchanged group
// keeps its ranks over restarts. A node has as many ranks as slots; nodes may have different
// numbers of slots. There is one role: a worker's role rank is its rank. A node's group rank is its
// place.

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

// One node of a group, in its place.
struct Place {
  base::NodeId node;
  std::uint32_t slots = 0;
  bool operator==(const Place&) const = default;
};

struct RankPlan {
  std::vector<Place> places;  // by group rank
  std::vector<Assignment> workers;  // by rank
  std::vector<base::NodeId> node_of;  // by rank
  std::vector<std::uint32_t> first_rank;  // by group rank; the last entry is the world size

  [[nodiscard]] std::uint32_t world_size() const {
    return static_cast<std::uint32_t>(workers.size());
  }
  // 0 for a node that is not in the group.
  [[nodiscard]] std::uint32_t slots(base::NodeId node) const {
    return node.value < slots_of.size() ? slots_of[node.value] : 0;
  }
  std::vector<std::uint32_t> slots_of;  // by node
};

// True when the places have at least one worker and are within kNodesMax and kWorkersMax.
bool can_be_planned(const std::vector<Place>& places);
RankPlan plan_ranks(std::vector<Place> places);

// The start order for the node at `group_rank`.
StartWorkers start_order(const RankPlan& plan, std::uint32_t group_rank, base::Attempt attempt,
                         const std::string& master_addr, std::uint32_t master_port);

}  // namespace robustrun::supervisor
