#pragma once
// Whom does a node ask for a block? Pure.
//
// For each block the nodes of a run are put into an order of its own: by a hash of blob, block and
// node (rendezvous hashing; Thaler and Ravishankar, IEEE/ACM Trans. Networking 6(1), 1998). The
// order is read as a tree in which each node has kTreeDegree children: a node asks its parent, and
// the first reads the block from where it comes from. So a block leaves the storage once, and as
// every block has another order every node sends about as much as it gets. Nothing but the list of
// nodes is shared. A node asks those before it alone: however much two nodes' lists differ, they
// never wait for each other.

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::bootstrap {

// Where the node stands for that block: the lower, the earlier. Ties are broken by the node's
// number.
[[nodiscard]] std::uint64_t tree_place(std::string_view blob, std::uint64_t block,
                                       base::NodeId node);

class BlockTree {
 public:
  // `nodes`: of the run, in any order; what comes twice counts once.
  explicit BlockTree(std::vector<base::NodeId> nodes);

  [[nodiscard]] const std::vector<base::NodeId>& nodes() const { return nodes_; }
  // Whom `self` asks, in this order: its ancestors from its parent on, then some others before it.
  // Empty: it stands first. Nodes that are `out` are passed over, as if they were no part of the
  // run. One that is not of the list stands behind all that are.
  [[nodiscard]] std::vector<base::NodeId> sources(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;
  // The first kTreeFirstAsked but `self`: they have the block if `self` has only come now.
  [[nodiscard]] std::vector<base::NodeId> first_others(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;

 private:
  using Place = std::pair<std::uint64_t, base::NodeId>;
  // Of all but `self` that are not out, in no order.
  [[nodiscard]] std::vector<Place> places_of_others(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;

  std::vector<base::NodeId> nodes_;  // ascending
};

}  // namespace robustrun::bootstrap
