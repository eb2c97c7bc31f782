#pragma once
// Decides which peers a node asks for a block. Pure.
//
// For each block, the nodes of a run are ordered by a hash of blob, block and node (rendezvous
// hashing; Thaler and Ravishankar, IEEE/ACM Trans. Networking 6(1), 1998). The order forms a tree
// in which each node has kTreeDegree children: a node asks its parent, and the root reads the block
// from the storage. So a block is read from the storage once. Every block has a different order, so
// every node sends about as much as it receives. The nodes need only the list of nodes in common.
//
// A node that is in its own list asks only nodes before it, so such nodes never wait for each other
// in a circle, even if their lists differ. (A root may also ask first_others(), but only for blocks
// that they have stored.)

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::bootstrap {

// The node's place in the order for a block; lower is earlier. Ties are broken by node id.
[[nodiscard]] std::uint64_t tree_place(std::string_view blob, std::uint64_t block,
                                       base::NodeId node);

class BlockTree {
 public:
  // `nodes`: the run's nodes in any order; duplicates count once.
  explicit BlockTree(std::vector<base::NodeId> nodes);

  [[nodiscard]] const std::vector<base::NodeId>& nodes() const { return nodes_; }
  // The nodes that `self` asks, in this order: its parent and further ancestors, then some other
  // nodes before it. Empty: `self` is the root. Nodes for which is_out() is true are left out of
  // the tree. If `self` is not in the list, it comes after all others.
  [[nodiscard]] std::vector<base::NodeId> sources(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;
  // The first kTreeFirstAsked nodes other than `self`. If `self` has just joined and has become the
  // root, these nodes may have the block already.
  [[nodiscard]] std::vector<base::NodeId> first_others(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;

 private:
  using Place = std::pair<std::uint64_t, base::NodeId>;
  // Places of all nodes but `self` that are not out, unsorted.
  [[nodiscard]] std::vector<Place> places_of_others(
      std::string_view blob, std::uint64_t block, base::NodeId self,
      const std::function<bool(base::NodeId)>& is_out) const;

  std::vector<base::NodeId> nodes_;  // ascending
};

}  // namespace robustrun::bootstrap
