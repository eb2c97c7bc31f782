#pragma once
// Chooses keepers: a second node holds each node's copies in memory, and an eviction or an outage
// should rarely take both at once. Pure and deterministic.
//
// After ByteRobust (arXiv 2509.16293, section 6.3: no two nodes of a copy share a parallel group),
// with outages of racks and power supplies in addition to evictions. Two nodes are in conflict if a
// set that may fail at once contains both: the nodes of one parallel group, one rack or leaf
// switch, one NVLink domain, one power supply. Sets of all nodes or of one node are ignored. Each
// node gets one keeper other than itself and keeps for one node. The closed form (dp + 1, pp + 1)
// is used if no keepers were chosen before, and it has no conflict and keepers as near as possible;
// else the maximum matching (solve/matching.h) with near keepers first. If no matching is complete,
// kinds of sets are dropped in this order: power, rack, NVLink domain, the larger of dp and pp, the
// other groups. Each time the matching so far is enlarged, not made anew: a node that has a keeper
// may get another one, but is never without one again.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/parallel.h"
#include "topo/network/shape.h"

namespace robustrun::topo {

inline constexpr PlaceIndex kNoPlace = 0xffffffff;

struct BackupProblem {
  const Cluster* cluster = nullptr;
  std::vector<NodeIndex> nodes;  // by place; kNoNode: not in the cluster
  Parallel parallel;  // not resolved
  std::vector<std::uint32_t> slots;  // by place, at least 1
  std::vector<GroupKind> evictable;  // kinds of groups that may be evicted as a whole
  // By place: its former keeper; kNoPlace: none. It stays if there is no conflict, unless it must
  // move so that every node gets a keeper. May be empty.
  std::vector<PlaceIndex> former;
};

// Kinds of sets that may fail at once, in the order in which they are dropped.
enum class Together : std::uint8_t { kPower, kRack, kNvlDomain, kLargerGroup, kOtherGroup };
inline constexpr std::size_t kTogethers = 5;

struct Backup {
  std::vector<PlaceIndex> keeper;  // by place, a permutation without fixed points; empty: none
  // By Together: number of nodes that have to share a set of that kind with their keeper.
  std::vector<std::uint32_t> shared = std::vector<std::uint32_t>(kTogethers, 0);
  bool is_closed_form = false;
  // "another node that shares no pp or dp group and no rack with it", or why there are no keepers.
  std::string how;

  [[nodiscard]] bool is_relaxed() const;
};

// No keepers for fewer than two places, or more than kBackupPlacesMax. Groups are ignored if the
// sizes do not match the number of ranks. About 10 ms for 3,000 places.
Backup choose_keepers(const BackupProblem& problem);

}  // namespace robustrun::topo
