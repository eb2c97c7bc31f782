// Which peers a node asks for a block: load, order, and the effect of lost nodes.
#include "bootstrap/store/block_tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tests/support/sanitized.h"

namespace block_tree_test {

using namespace robustrun;
using base::NodeId;
using bootstrap::BlockTree;

namespace {

constexpr const char* kBlob = "00112233445566778899aabbccddeeff";

std::vector<NodeId> nodes(std::uint32_t count) {
  std::vector<NodeId> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(NodeId{i});
  return made;
}

bool none_is_out(NodeId) { return false; }

}  // namespace

TEST_CASE("every block has one root, and every node sends about as much as it gets") {
  // A node sends a block four times or not at all, one time in four. So of B blocks it sends B on
  // average, with a standard deviation of sqrt(3 B).
  for (const std::uint32_t count : {8U, 9U, 64U, 250U, 1000U}) {
    if (robustrun::test::kSanitized && count > 64) continue;
    const std::uint32_t blocks = count >= 1000 ? 4 : count >= 250 ? 16 : 256;
    const BlockTree tree(nodes(count));
    std::map<NodeId, std::uint32_t> sent, rooted;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      std::size_t roots = 0;
      for (const NodeId node : tree.nodes()) {
        const auto sources = tree.sources(kBlob, block, node, none_is_out);
        if (sources.empty()) {
          ++roots;
          ++rooted[node];
        } else {
          ++sent[sources.front()];
        }
      }
      CHECK(roots == 1);
    }
    std::uint32_t most = 0, most_rooted = 0;
    for (const auto& [node, blocks_sent] : sent) most = std::max(most, blocks_sent);
    for (const auto& [node, blocks_read] : rooted) most_rooted = std::max(most_rooted, blocks_read);
    INFO("of ", count, " nodes one sent ", most, " of ", blocks);
    CHECK(most <= blocks + 5 * std::sqrt(3.0 * blocks));  // with 256 blocks, 1.54 times the average
    CHECK(most_rooted <= std::max(8U, 2 * blocks / count + 8));
  }
}

TEST_CASE("a node asks only nodes before it, each once, and never itself") {
  const BlockTree tree(nodes(100));
  for (std::uint32_t block = 0; block < 10; ++block) {
    for (const NodeId node : tree.nodes()) {
      const auto own = bootstrap::tree_place(kBlob, block, node);
      const auto sources = tree.sources(kBlob, block, node, none_is_out);
      for (const NodeId source : sources) {
        CHECK(bootstrap::tree_place(kBlob, block, source) < own);
      }
      CHECK(std::set(sources.begin(), sources.end()).size() == sources.size());
      CHECK(sources.size() <= 4 + 3);  // a hundred nodes are four levels deep
    }
  }
}

TEST_CASE("without any one node there is still one root, which all nodes find") {
  const std::uint32_t count = 24;
  const BlockTree tree(nodes(count));
  for (std::uint32_t lost = 0; lost < count; ++lost) {
    const auto is_out = [&](NodeId node) { return node.value == lost; };
    for (std::uint32_t block = 0; block < 8; ++block) {
      std::size_t roots = 0;
      for (const NodeId node : tree.nodes()) {
        if (is_out(node)) continue;
        const auto sources = tree.sources(kBlob, block, node, is_out);
        CHECK(std::ranges::none_of(sources, is_out));
        NodeId at = node;
        std::size_t hops = 0;
        for (auto next = sources; !next.empty(); next = tree.sources(kBlob, block, at, is_out)) {
          at = next.front();
          REQUIRE(++hops < 10);
        }
        roots += at == node ? 1 : 0;
      }
      CHECK(roots == 1);
    }
  }
}

TEST_CASE("a node that does not know that its root is gone asks others before the storage") {
  const BlockTree tree(nodes(100));
  std::size_t alone = 0;
  for (const NodeId node : tree.nodes()) {
    const auto sources = tree.sources(kBlob, 7, node, none_is_out);
    if (sources.size() == 1) ++alone;  // the second node has no other
  }
  CHECK(alone == 1);
}

TEST_CASE("a node outside the list is a child of one in it, and no node asks it") {
  const BlockTree tree(nodes(20));
  std::map<NodeId, std::size_t> asked;
  for (std::uint32_t node = 20; node < 2020; ++node) {
    const auto sources = tree.sources(kBlob, 3, NodeId{node}, none_is_out);
    REQUIRE_FALSE(sources.empty());
    CHECK(sources.front().value < 20);
    ++asked[sources.front()];
  }
  CHECK(asked.size() >= 15);  // all nodes with room for children: three in four
  CHECK(BlockTree({}).sources(kBlob, 3, NodeId{1}, none_is_out).empty());
  CHECK(BlockTree({NodeId{4}, NodeId{4}}).sources(kBlob, 3, NodeId{4}, none_is_out).empty());
}

}  // namespace block_tree_test
