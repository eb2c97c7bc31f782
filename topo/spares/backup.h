#pragma once
// Chooses keepers. A keeper is the node that holds another node's copies in memory; an eviction or
// an outage should rarely take both at once. Pure and deterministic.
//
// After ByteRobust (arXiv 2509.16293, section 6.3: a node and its keeper share no parallel group),
// but outages of racks and power supplies count as well as evictions. Two nodes are in conflict if
// a set that may fail at once contains both: the nodes of one parallel group, one rack or leaf
// switch, one NVLink domain, one power supply. Sets of all nodes or of one node are ignored. Each
// node gets one keeper other than itself, and is the keeper of one node.
//
// If there are no former keepers, the closed form is tried: the keeper is one position further both
// along dp and along pp. It is used if it has no conflict and its keepers are as near as possible.
// Otherwise a maximum matching (solve/matching.h) is made, near keepers first. If it leaves a node
// without a keeper, one kind of set after another is ignored, in the order of Together, and the
// matching is enlarged. A node that has a keeper may then get another one.

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
  Parallel parallel;  // before resolve()
  std::vector<std::uint32_t> slots;  // by place, at least 1
  std::vector<GroupKind> evictable;  // kinds of groups that may be evicted as a whole
  // By place: its former keeper; kNoPlace: none. A former keeper without conflict stays, unless it
  // is needed elsewhere so that every node gets a keeper. May be empty.
  std::vector<PlaceIndex> former;
};

// Kinds of sets that may fail at once, in the order in which they are ignored if necessary.
// kLargerGroup: groups of the larger of dp and pp; kOtherGroup: all other groups.
enum class Together : std::uint8_t { kPower, kRack, kNvlDomain, kLargerGroup, kOtherGroup };
inline constexpr std::size_t kTogethers = 5;

struct Backup {
  // by place: the place of its keeper, never itself; empty: no keepers
  std::vector<PlaceIndex> keeper;
  // By Together: number of nodes that share a set of that kind with their keeper.
  std::vector<std::uint32_t> shared = std::vector<std::uint32_t>(kTogethers, 0);
  bool is_closed_form = false;
  // "another node that shares no pp or dp group and no rack with it", or why there are no keepers.
  std::string how;

  // Whether some node shares a set with its keeper.
  [[nodiscard]] bool is_relaxed() const;
};

// There are no keepers for fewer than two places, or more than kBackupPlacesMax. Groups are ignored
// if the parallel sizes do not match the number of ranks. Takes about 10 ms for 3,000 places.
Backup choose_keepers(const BackupProblem& problem);

}  // namespace robustrun::topo
