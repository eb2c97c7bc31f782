#include "bootstrap/store/block_tree.h"

#include <algorithm>
#include <utility>

#include "base/core/hash.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using base::NodeId;

// splitmix64's finalizer: spreads a node's hash over all 64 bits again for each block.
std::uint64_t spread(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

std::uint64_t place_of(std::uint64_t blob_hash, std::uint64_t block, NodeId node) {
  return spread(spread(blob_hash + block * 0x9E3779B97F4A7C15U) ^ spread(node.value + 1U));
}

// Its ancestors, then the first nodes that are not ancestors: if the root has failed, its children
// still do not all read from the storage.
std::vector<std::size_t> positions_to_ask(std::size_t self) {
  std::vector<std::size_t> asked;
  for (std::size_t at = self; at > 0;) asked.push_back(at = (at - 1) / kTreeDegree);
  std::size_t more = 0;
  for (std::size_t at = 1; at < self && more < kTreeResorts; ++at) {
    if (std::ranges::find(asked, at) != asked.end()) continue;
    asked.push_back(at);
    ++more;
  }
  return asked;
}

}  // namespace

std::uint64_t tree_place(std::string_view blob, std::uint64_t block, NodeId node) {
  return place_of(base::hash64(blob), block, node);
}

BlockTree::BlockTree(std::vector<NodeId> nodes) : nodes_(std::move(nodes)) {
  std::ranges::sort(nodes_);
  const auto twice = std::ranges::unique(nodes_);
  nodes_.erase(twice.begin(), twice.end());
}

std::vector<BlockTree::Place> BlockTree::places_of_others(
    std::string_view blob, std::uint64_t block, NodeId self,
    const std::function<bool(NodeId)>& is_out) const {
  const std::uint64_t blob_hash = base::hash64(blob);
  std::vector<Place> places;
  places.reserve(nodes_.size());
  for (const NodeId node : nodes_) {
    if (node == self || is_out(node)) continue;
    places.emplace_back(place_of(blob_hash, block, node), node);
  }
  return places;
}

std::vector<NodeId> BlockTree::first_others(std::string_view blob, std::uint64_t block, NodeId self,
                                            const std::function<bool(NodeId)>& is_out) const {
  std::vector<Place> order = places_of_others(blob, block, self, is_out);
  const auto count = static_cast<std::ptrdiff_t>(std::min(kTreeFirstAsked, order.size()));
  std::ranges::partial_sort(order, order.begin() + count);
  std::vector<NodeId> found;
  for (auto at = order.begin(); at != order.begin() + count; ++at) found.push_back(at->second);
  return found;
}

std::vector<NodeId> BlockTree::sources(std::string_view blob, std::uint64_t block, NodeId self,
                                       const std::function<bool(NodeId)>& is_out) const {
  std::vector<Place> order = places_of_others(blob, block, self, is_out);
  if (order.empty()) return {};
  const Place own{tree_place(blob, block, self), self};
  std::size_t position = 0;
  if (std::ranges::binary_search(nodes_, self)) {
    position = static_cast<std::size_t>(
        std::ranges::count_if(order, [&](const auto& other) { return other < own; }));
  } else {
    // The place of a random child of a leaf; leaves have this many children.
    position = order.size() + own.first % ((kTreeDegree - 1) * order.size() + 1);
  }
  const std::vector<std::size_t> positions = positions_to_ask(position);
  if (positions.empty()) return {};
  // `self` is not in `order`, so all nodes before it keep their positions.
  std::ranges::sort(order);
  std::vector<NodeId> found;
  for (const std::size_t at : positions) {
    if (at < order.size()) found.push_back(order[at].second);
  }
  return found;
}

}  // namespace robustrun::bootstrap
