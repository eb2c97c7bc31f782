#include "agent/spawn/worker_spawn.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/loop.h"

namespace worker_spawn_test {

using namespace robustrun;
using agent::become;
using agent::LaunchSpec;

namespace {

class SomeClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return {}; }
  [[nodiscard]] base::Nanos wall_time() const override { return {}; }
};

struct Node {
  Node() {
    node.workers.interpreter = "/usr/bin/python3";
    node.workers.program = "train.py";
    node.workers.environment = {"PATH=/usr/bin", "ROBUSTRUN_NODE=spare"};
    node.workers.working_directory = "/job";
    node.workers.python_path = "/share/robustrun/python";
    node.workers.run_id = "run";
  }
  LaunchSpec spawn(const wire::StartWorkers& start,
                   const char* error_file = "/log/error.json") const {
    const wire::WorkerSlot& slot = start.slots.front();
    const auto files =
        agent::worker_files(node, slot.rank, start.attempt, error_file, "127.0.0.1:4");
    auto planned = agent::plan_spawn(node, {start, slot, files, "0-1", "", 4});
    REQUIRE(planned);
    return planned->spawn;
  }

  test::Loop loop;
  SomeClock clock;
  base::BlockingPool pool{loop.executor(), 1, 16};
  agent::NodeContext node{.executor = loop.executor(),
                          .clock = clock,
                          .pool = pool,
                          .send = [](const wire::Message&) {},
                          .shim = {},
                          .runtime_directory = "/run/rr",
                          .workers = {}};
};

wire::StartWorkers order(std::uint32_t attempt, std::uint32_t rank, std::uint32_t workers = 1) {
  wire::StartWorkers start;
  start.attempt = base::Attempt{attempt};
  for (std::uint32_t i = 0; i < workers; ++i) {
    start.slots.push_back({base::Rank{rank + i}, base::LocalRank{i}, rank + i});
  }
  start.group_rank = rank;
  start.group_world_size = 8;
  start.world_size = 8 * workers;
  start.master_addr = "10.0.0." + std::to_string(rank);
  start.master_port = 4000 + attempt;
  return start;
}

std::string value_of(const LaunchSpec& spawn, const std::string& name) {
  for (const std::string& entry : spawn.environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "(none)";
}

}  // namespace

TEST_CASE("a standby like one node's workers becomes a worker in that node's place") {
  const Node node;
  const LaunchSpec standby = standby_launch_spec(node.spawn(order(0, 7), ""));
  CHECK(value_of(standby, "ROBUSTRUN_RECORD").empty());
  const LaunchSpec wanted = node.spawn(order(3, 2));
  const auto changes = become(standby, wanted, {});
  REQUIRE_MESSAGE(changes, changes.error().what);
  for (const char* change :
       {"RANK=2", "MASTER_ADDR=10.0.0.2", "MASTER_PORT=4003", "ROBUSTRUN_RECORD=/run/rr/2.3.record",
        "TORCHELASTIC_ERROR_FILE=/log/error.json"}) {
    CHECK(std::ranges::find(*changes, change) != changes->end());
  }
}

TEST_CASE("it does not become a worker of a node with another number of workers") {
  const Node node;
  const LaunchSpec standby = standby_launch_spec(node.spawn(order(0, 7), ""));
  CHECK_FALSE(become(standby, node.spawn(order(3, 2, 2)), {}));
}

TEST_CASE("without our boot module a worker has no files of ours") {
  Node node;
  node.node.workers.python_path.clear();
  const LaunchSpec spawn = node.spawn(order(0, 7));
  CHECK(value_of(spawn, "ROBUSTRUN_RECORD") == "(none)");
  CHECK(value_of(spawn, "TORCHELASTIC_ERROR_FILE") == "/log/error.json");
}

TEST_CASE("a worker reads the user's standard input, never its agent's credential") {
  Node node;
  CHECK(node.spawn(order(0, 7)).in_fd == -1);
  node.node.workers.stdin_rank = 7;
  CHECK(node.spawn(order(0, 7)).in_fd == 0);
  CHECK(node.spawn(order(0, 6)).in_fd == -1);
  node.node.workers.compat = true;
  CHECK(node.spawn(order(0, 6)).in_fd == 0);
  node.node.has_input = false;
  CHECK(node.spawn(order(0, 6)).in_fd == -1);
  CHECK(node.spawn(order(0, 7)).in_fd == -1);
}

TEST_CASE("workers are bound only if that is asked for") {
  Node node;
  const auto plan = agent::plan_bindings(node.node.workers, 2);
  REQUIRE(plan);
  CHECK(plan->cpus.empty());
  node.node.workers.numa_binding = "no such binding";
  CHECK_FALSE(agent::plan_bindings(node.node.workers, 2));
}

}  // namespace worker_spawn_test
