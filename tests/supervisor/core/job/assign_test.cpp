#include "supervisor/core/job/facts/assign.h"

#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor::assign_test {
namespace {

std::vector<Place> places_of(const std::vector<std::uint32_t>& slots) {
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < slots.size(); ++i) places.push_back({{i}, slots[i]});
  return places;
}

TEST_CASE("ranks are prefix sums of the slots, in node order") {
  const RankPlan plan = plan_ranks(places_of({2, 3, 1}));
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

TEST_CASE("a group's order need not be that of the nodes' numbers") {
  const RankPlan plan = plan_ranks({{{2}, 2}, {{0}, 1}});
  REQUIRE(plan.world_size() == 3);
  CHECK(plan.node_of == std::vector<base::NodeId>{{2}, {2}, {0}});
  CHECK(plan.slots({2}) == 2);
  CHECK(plan.slots({0}) == 1);
  CHECK(plan.slots({1}) == 0);
  CHECK(plan.slots({9}) == 0);
}

TEST_CASE("an order holds one node's workers and the group's sizes") {
  const RankPlan plan = plan_ranks({{{5}, 2}, {{3}, 3}});
  const StartWorkers order = start_order(plan, 1, {4}, "first.example", 29501);
  CHECK(order.node.value == 3);
  CHECK(order.attempt.value == 4);
  REQUIRE(order.workers.size() == 3);
  std::uint32_t local = 0;
  for (const Assignment worker : order.workers) {
    CHECK(worker.rank.value == 2 + local);
    CHECK(worker.role_rank == 2 + local);
    CHECK(worker.local_rank.value == local++);
  }
  CHECK(local == 3);
  CHECK(order.group_rank == 1);
  CHECK(order.group_world_size == 2);
  CHECK(order.world_size == 5);
  CHECK(order.master_addr == "first.example");
  CHECK(order.master_port == 29501);
}

TEST_CASE("a plan needs a worker and stays within the limits") {
  CHECK_FALSE(can_be_planned({}));
  CHECK_FALSE(can_be_planned(places_of({0, 0})));
  CHECK(can_be_planned(places_of({0, 1})));
  CHECK(can_be_planned(places_of({static_cast<std::uint32_t>(kWorkersMax)})));
  CHECK_FALSE(can_be_planned(places_of({static_cast<std::uint32_t>(kWorkersMax), 1})));
  CHECK_FALSE(can_be_planned(places_of({UINT32_MAX, UINT32_MAX})));
  CHECK_FALSE(can_be_planned(std::vector<Place>(kNodesMax + 1)));
}

}  // namespace
}  // namespace robustrun::supervisor::assign_test
