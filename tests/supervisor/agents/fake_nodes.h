#pragma once
// For tests of the driver's parts: a clock that is set by hand, and a table of nodes whose agents
// are connected through channels that only remember what they are sent (fake_channel.h).

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/agents/node_table.h"
#include "tests/support/fake_channel.h"

namespace robustrun::supervisor::test {

struct SetClock final : base::Clock {
  base::Nanos time = std::chrono::seconds(1000);
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

using robustrun::test::FakeChannel;

// Nodes "n0", "n1", …, connected and joined, each with two ranks.
struct FakeNodes {
  explicit FakeNodes(std::size_t count) : table(specs(count)), sent(count) {
    table.each([&](base::NodeId node, NodeLink& link) {
      link.channel = std::make_shared<FakeChannel>(sent[node.value]);
      link.joined = true;
      link.generation = {1};
      link.ranks = {{2 * node.value}, {2 * node.value + 1}};
      link.bulk = "10.0.0." + std::to_string(node.value) + ":1";
    });
  }

  template <class Message>
  [[nodiscard]] std::vector<Message> sent_to(std::size_t node) const {
    return robustrun::test::all_of<Message>(sent[node]);
  }

  static std::vector<NodeSpec> specs(std::size_t count) {
    std::vector<NodeSpec> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i].name = "n" + std::to_string(i);
    return made;
  }

  NodeTable table;
  std::vector<std::vector<wire::Message>> sent;
};

}  // namespace robustrun::supervisor::test
