#include "supervisor/agents/node_table.h"

#include <doctest/doctest.h>

#include "tests/supervisor/agents/fake_nodes.h"
#include "wire/messages/limits.h"

namespace node_table_test {

using namespace robustrun;
using supervisor::NodeTable;
using Addresses = std::vector<std::string>;

TEST_CASE("addresses of nodes are told if those of all that are there are known") {
  NodeTable nodes({});
  for (const char* name : {"a", "b", "lost", "not yet there"}) nodes.add(name);
  nodes.each([](base::NodeId node, supervisor::NodeLink& link) {
    link.joined = node.value < 3;
    link.lost = node.value == 2;
  });
  nodes[base::NodeId{0}].addresses = {"10.0.0.1", "fd00::1"};
  CHECK(nodes.addresses().empty());  // b's agent is an older one
  nodes[base::NodeId{1}].addresses = {"10.0.0.2"};
  CHECK(nodes.addresses() == Addresses{"10.0.0.1", "fd00::1", "10.0.0.2"});
  nodes[base::NodeId{1}].addresses.resize(wire::kStoreClientsMax);
  CHECK(nodes.addresses().empty());
}

TEST_CASE("a node that is connected again gets its orders again: a stop with what is left of it") {
  using namespace std::chrono_literals;
  supervisor::test::FakeNodes nodes(1);
  nodes.table.keep_orders();
  nodes.table[{0}].copies.emplace();
  nodes.table.order({0}, wire::StartWorkers{});
  wire::StopWorkers stop;
  stop.grace = 30s;
  nodes.table.order({0}, stop);
  nodes.table[{0}].kill_at = 100s;
  nodes.sent[0].clear();
  nodes.table.repeat_orders({0}, 90s);
  REQUIRE(nodes.sent[0].size() == 3);
  CHECK(std::holds_alternative<wire::PlaceCopies>(nodes.sent[0][0]));
  CHECK(std::holds_alternative<wire::StartWorkers>(nodes.sent[0][1]));
  CHECK(std::get<wire::StopWorkers>(nodes.sent[0][2]).grace == base::Nanos(10s));
  nodes.table.repeat_orders({0}, 200s);
  CHECK(std::get<wire::StopWorkers>(nodes.sent[0].back()).grace == base::Nanos{});
}

}  // namespace node_table_test
