#include "supervisor/agents/node_table.h"

#include <doctest/doctest.h>

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

}  // namespace node_table_test
