#pragma once
// Who keeps whose copies: each node's copies in memory lie on another node, too, and an eviction or
// an outage that takes both at once must be as unlikely as can be. Pure and deterministic.
//
// After ByteRobust (arXiv 2509.16293, section 6.3: no two of a copy's nodes share a parallel
// group), with outages of racks and power supplies beside evictions. Two nodes are in conflict if a
// set that goes at once has both: the nodes of one parallel group, of one rack or leaf switch, of
// one NVLink domain, of one power supply. A set that has all nodes of the job, or one, says
// nothing. Each node gets one keeper, each keeps for one, and nobody for itself. First the closed
// form (dp + 1, pp + 1), if every node's keeper is as near as can be; else the largest matching
// (matching.h), near ones before far ones. Where none is complete, sets stop to count in this
// order: power, rack, NVLink domain, the larger of dp and pp, the other groups; those who have a
// keeper without that keep one without it.

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
  std::vector<NodeIndex> nodes;  // by place; kNoNode: the cluster does not have it
  Parallel parallel;  // not resolved
  std::vector<std::uint32_t> slots;  // by place, at least 1
  std::vector<GroupKind> evictable;  // kinds of groups whose nodes may be evicted at once
  // By place: its keeper so far, kept where it is no conflict; kNoPlace: none. Empty: nobody had
  // one.
  std::vector<PlaceIndex> former;
};

// What may take a node and its keeper at once, in the order in which it stops to count.
enum class Together : std::uint8_t { kPower, kRack, kNvlDomain, kLargerGroup, kOtherGroup };
inline constexpr std::size_t kTogethers = 5;

struct Backup {
  std::vector<PlaceIndex> keeper;  // by place, a permutation without fixed points; empty: none
  // How many nodes share such a set with their keeper because there is no other way.
  std::vector<std::uint32_t> shared = std::vector<std::uint32_t>(kTogethers, 0);
  bool is_closed_form = false;
  // "another node that shares no pp or dp group and no rack with it", or why nobody keeps anything.
  std::string how;

  [[nodiscard]] bool is_relaxed() const;
};

// Fewer than two places, or more than kBackupPlacesMax: nobody keeps anything. Sizes that do not
// fit the number of ranks: groups do not count. Some 10 ms for 3,000 places.
Backup choose_keepers(const BackupProblem& problem);

}  // namespace robustrun::topo
