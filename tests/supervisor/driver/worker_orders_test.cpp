// The core's orders about workers, as the agents get them.
#include "supervisor/driver/worker_orders.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/supervisor/agents/fake_nodes.h"

namespace robustrun::supervisor::test::worker_orders_test {
namespace {

using namespace std::chrono_literals;

struct Orders {
  Orders() {
    nodes.table.keep_orders();
    nodes.table.each([](base::NodeId node, NodeLink& link) {
      link.ranks.clear();
      link.addresses = {"10.0.0." + std::to_string(node.value)};
    });
    orders.emplace(clock, request, nodes.table,
                   WorkerOrders::Hands{[this](const StartWorkers& first, base::Nanos since) {
                                         begun.push_back(first.attempt);
                                         began = since;
                                       },
                                       [this](const WorkerStartFailed& one, base::NodeId) {
                                         failed.push_back(one.what);
                                       }});
  }
  // Nodes 0 and 1 with two ranks each.
  void start(std::uint32_t attempt) {
    for (const std::uint32_t node : {0, 1}) orders->perform(order(attempt, node));
  }
  [[nodiscard]] static StartWorkers order(std::uint32_t attempt, std::uint32_t node) {
    StartWorkers action;
    action.node = {node};
    action.attempt = {attempt};
    action.workers = NodeWorkers({2 * node}, 2);
    action.group_rank = node;
    action.group_world_size = 2;
    action.world_size = 4;
    return action;
  }

  SetClock clock;
  RunRequest request;
  FakeNodes nodes{3};
  std::vector<base::Attempt> begun;
  base::Nanos began{};
  std::vector<std::string> failed;
  std::optional<WorkerOrders> orders;
};

TEST_CASE("an attempt begins once, before its first start order") {
  Orders run;
  run.start(0);
  CHECK(run.begun == std::vector<base::Attempt>{{0}});
  CHECK(run.began == run.clock.time);
  run.start(1);
  CHECK(run.begun == std::vector<base::Attempt>{{0}, {1}});
  CHECK(run.nodes.sent_to<wire::StartWorkers>(1).size() == 2);
  CHECK(run.nodes.table.rank_of({1}, {1}) == base::Rank{3});
}

TEST_CASE("workers of a run that was taken over may have started with it; later ones did not") {
  Orders run;
  run.orders->take_over(7s);
  run.start(4);
  CHECK(run.began == base::Nanos(7s));
  run.start(5);
  CHECK(run.began == run.clock.time);
}

TEST_CASE("the orders of an attempt are kept to be repeated; a new start replaces them") {
  Orders run;
  const NodeLink& link = run.nodes.table[{1}];
  run.start(0);
  StopWorkers stop;
  stop.node = {1};
  stop.grace = 30s;
  run.orders->perform(stop);
  CHECK(link.orders.size() == 2);
  CHECK(link.kill_at == run.clock.time + 30s);
  run.orders->perform(ForwardSignal{{1}, {0}, 10});
  run.orders->perform(DismissAgent{{1}, 0});
  CHECK(link.orders.size() == 2);
  run.orders->perform(ReservePort{{1}, {1}});
  CHECK(link.orders.size() == 1);
  run.start(1);
  REQUIRE(link.orders.size() == 1);
  CHECK(std::holds_alternative<wire::StartWorkers>(link.orders[0]));
}

TEST_CASE("an order to set a checkpoint aside is repeated on a new connection") {
  Orders run;
  run.orders->perform(DemoteCheckpoint{{1}, 1, {100, 3, "ab"}, {"/data"}});
  run.orders->on_connected_again({1});
  const auto sent = run.nodes.sent_to<wire::DemoteCheckpoint>(1);
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].order == 1);
}

TEST_CASE("only the node with rank 0 learns from where the others connect to its store") {
  Orders run;
  run.nodes.table[{2}].joined = false;
  run.start(0);
  CHECK(run.nodes.sent_to<wire::StartWorkers>(0)[0].store_clients ==
        std::vector<std::string>{"10.0.0.0", "10.0.0.1"});
  CHECK(run.nodes.sent_to<wire::StartWorkers>(1)[0].store_clients.empty());
}

TEST_CASE("nothing is ordered of a version that is lost: its start has failed") {
  Orders run;
  run.request.run_directory = "/nowhere/at/all";
  StartWorkers action = Orders::order(0, 1);
  action.version = 3;
  run.orders->perform(action);
  CHECK(run.nodes.sent_to<wire::StartWorkers>(1).empty());
  REQUIRE(run.failed.size() == 1);
  CHECK(run.failed[0].starts_with("version 3 is lost: "));
}

TEST_CASE("a connected spare gets the order about standby workers once per connection") {
  Orders run;
  run.start(0);
  run.orders->prepare_spare({2});
  CHECK(run.nodes.sent_to<wire::KeepStandbys>(2).empty());
  run.orders->on_report({1}, wire::StandbyModules{{0}, "list"});
  for (int i = 0; i < 2; ++i) {
    for (const std::uint32_t node : {0, 1, 2}) run.orders->prepare_spare({node});
  }
  CHECK(run.nodes.sent_to<wire::KeepStandbys>(1).empty());  // its ranks run
  CHECK(run.nodes.sent_to<wire::KeepStandbys>(2).size() == 1);
  run.orders->on_connected_again({2});
  run.nodes.table[{2}].lost = true;
  run.orders->prepare_spare({2});
  CHECK(run.nodes.sent_to<wire::KeepStandbys>(2).size() == 1);
  run.nodes.table[{2}].lost = false;
  run.orders->prepare_spare({2});
  CHECK(run.nodes.sent_to<wire::KeepStandbys>(2).size() == 2);
}

}  // namespace
}  // namespace robustrun::supervisor::test::worker_orders_test
