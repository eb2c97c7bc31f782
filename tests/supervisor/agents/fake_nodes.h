#pragma once
// For tests of the driver's parts: a clock that is set by hand, and a table of nodes whose agents
// are connected through channels that only remember what they are sent.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/agents/node_table.h"

namespace robustrun::supervisor::test {

struct SetClock final : base::Clock {
  base::Nanos time = std::chrono::seconds(1000);
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

class FakeChannel final : public wire::Channel {
 public:
  explicit FakeChannel(std::vector<wire::Message>& sent) : sent_(sent) {}
  void set_handlers(Handlers) override {}
  void send(const wire::Message& message) override { sent_.push_back(message); }
  [[nodiscard]] std::size_t queued_bytes() const override { return 0; }
  [[nodiscard]] bool congested() const override { return false; }
  void pause_reading() override {}
  void resume_reading() override {}
  void close() override {}

 private:
  std::vector<wire::Message>& sent_;
};

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
    std::vector<Message> found;
    for (const wire::Message& message : sent[node]) {
      if (const auto* one = std::get_if<Message>(&message)) found.push_back(*one);
    }
    return found;
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
