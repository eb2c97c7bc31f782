#include "supervisor/core/assign.h"

#include <doctest/doctest.h>

#include "supervisor/core/limits.h"

namespace robustrun::supervisor {
namespace {

std::vector<NodeSpec> nodes_of(const std::vector<std::uint32_t>& slots) {
  std::vector<NodeSpec> nodes;
  for (const std::uint32_t n : slots) nodes.push_back({"n", "10.0.0.1", n});
  return nodes;
}

TEST_CASE("ranks are prefix sums of the slots, in node order") {
  const RankPlan plan = plan_ranks(nodes_of({2, 3, 1}));
  REQUIRE(plan.world_size() == 6);
  const std::uint32_t node[] = {0, 0, 1, 1, 1, 2};
  const std::uint32_t local[] = {0, 1, 0, 1, 2, 0};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    CAPTURE(rank);
    CHECK(plan.workers[rank].rank.value == rank);
    CHECK(plan.workers[rank].role_rank == rank);
    CHECK(plan.workers[rank].local_rank.value == local[rank]);
    CHECK(plan.node_of[rank].value == node[rank]);
  }
  CHECK(plan.slots({1}) == 3);
}

TEST_CASE("an order holds one node's workers and the group's sizes") {
  JobSpec spec;
  spec.nodes = nodes_of({2, 3});
  spec.nodes[0].address = "first.example";
  const StartWorkers order = start_order(plan_ranks(spec.nodes), spec, {1}, {4}, 29501);
  CHECK(order.node.value == 1);
  CHECK(order.attempt.value == 4);
  REQUIRE(order.workers.size() == 3);
  CHECK(order.workers.front().rank.value == 2);
  CHECK(order.group_rank == 1);
  CHECK(order.group_world_size == 2);
  CHECK(order.world_size == 5);
  CHECK(order.master_addr == "first.example");
  CHECK(order.master_port == 29501);
  spec.master_addr = "10.1.1.1";
  CHECK(start_order(plan_ranks(spec.nodes), spec, {0}, {0}, 1).master_addr == "10.1.1.1");
}

TEST_CASE("a plan needs a worker and stays within the limits") {
  CHECK_FALSE(can_be_planned({}));
  CHECK_FALSE(can_be_planned(nodes_of({0, 0})));
  CHECK(can_be_planned(nodes_of({0, 1})));
  CHECK(can_be_planned(nodes_of({static_cast<std::uint32_t>(kWorkersMax)})));
  CHECK_FALSE(can_be_planned(nodes_of({static_cast<std::uint32_t>(kWorkersMax), 1})));
  CHECK_FALSE(can_be_planned(nodes_of({UINT32_MAX, UINT32_MAX})));
  CHECK_FALSE(can_be_planned(std::vector<NodeSpec>(kNodesMax + 1)));
}

}  // namespace
}  // namespace robustrun::supervisor
