#include "supervisor/core/status/changes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "supervisor/control/json.h"

namespace robustrun::supervisor::changes_test {
namespace {

using namespace std::chrono_literals;

RunStatus training(std::uint32_t nodes, std::uint32_t ranks, std::uint64_t steps) {
  RunStatus status;
  status.run_id = "brave-otter-4711";
  status.supervisor = SupervisorStatus::kAnswers;
  status.state = JobState::kRunning;
  status.steps = steps;
  status.steps_per_second = 2;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeStatus& node = status.nodes.emplace_back();
    node.name = fmt::format("n{:04}", i);
    node.node_rank = i;
    node.first_rank = i * ranks;
    node.workers = ranks;
    node.agent = AgentStatus::kJoined;
    node.heard = 100ms;
    node.ranks.assign(ranks,
                      {WorkerStage::kRunning, 4242, steps, static_cast<std::int64_t>(steps)});
  }
  return status;
}

// A viewer that is told by JSON, as over the socket.
struct Viewer {
  StatusMirror mirror{};
  std::size_t bytes = 0;
  std::size_t changed = 0;
  void ask(const StatusChanges& changes, std::optional<std::uint32_t> rank = {}) {
    const std::string answer = write_changes_answer(changes.since(mirror.version(), rank));
    bytes = answer.size();
    auto news = read_changes_answer(answer);
    REQUIRE(news);
    changed = news->changed.size();
    mirror.take(*std::move(news), rank);
  }
};

TEST_CASE("the first answer is the whole status, later ones of a healthy run are small") {
  StatusChanges changes;
  Viewer viewer;
  changes.take(training(1024, 8, 100));
  viewer.ask(changes);
  CHECK(viewer.changed == 1024);
  REQUIRE(viewer.mirror.status().nodes.size() == 1024);
  const NodeStatus& last = viewer.mirror.status().nodes[1023];
  CHECK(last.name == "n1023");
  CHECK(last.first_rank == 8184);
  CHECK(last.agent == AgentStatus::kJoined);
  CHECK(last.heard == 0s);
  REQUIRE(last.ranks.size() == 8);
  CHECK(last.ranks[7].pid == 4242);
  CHECK(last.ranks[7].steps == 100);

  RunStatus next = training(1024, 8, 101);  // some are a step ahead, all were heard of just now
  for (std::size_t i = 0; i < 1024; i += 3) {
    next.nodes[i].ranks[0].steps = 102;
    next.nodes[i].heard = 2300ms;
  }
  changes.take(std::move(next));
  viewer.ask(changes, 12);
  CHECK(viewer.changed == 0);
  CHECK(viewer.bytes < 1000);
  CHECK(viewer.mirror.status().steps == 101);
  CHECK(viewer.mirror.status().nodes[500].ranks[3].steps == 101);
  CHECK(viewer.mirror.status().nodes[1].ranks[4].step == 101);  // rank 12, the chosen one
  CHECK_FALSE(viewer.mirror.status().nodes[1].ranks[5].step);
}

TEST_CASE("what happens to a node is told, and to a viewer that missed answers, too") {
  StatusChanges changes;
  Viewer viewer, slow;
  changes.take(training(4, 2, 100));
  viewer.ask(changes);
  slow.ask(changes);
  RunStatus status = training(4, 2, 130);
  status.nodes[2].ranks[1].steps = 100;  // behind by more than five seconds
  status.nodes[3].agent = AgentStatus::kSuspect;
  status.nodes[3].heard = 7900ms;
  status.nodes[3].trouble = "connection reset";
  changes.take(status);
  viewer.ask(changes);
  CHECK(viewer.changed == 2);
  status.nodes[1].ranks[0].state = WorkerStage::kFailed;
  changes.take(status);
  for (Viewer* const each : {&viewer, &slow}) {
    each->ask(changes);
    CHECK(each->changed == (each == &slow ? 3 : 1));
    const RunStatus& seen = each->mirror.status();
    CHECK(seen.nodes[2].ranks[1].steps == 100);
    CHECK(seen.nodes[2].ranks[0].steps == 130);
    CHECK(seen.nodes[3].agent == AgentStatus::kSuspect);
    CHECK(seen.nodes[3].heard == 7s);
    CHECK(seen.nodes[3].trouble == "connection reset");
    CHECK(seen.nodes[1].ranks[0].state == WorkerStage::kFailed);
  }
}

TEST_CASE("nodes come and go") {
  StatusChanges changes;
  Viewer viewer;
  changes.take(training(2, 1, 5));
  viewer.ask(changes);
  changes.take(training(3, 1, 5));
  viewer.ask(changes);
  CHECK(viewer.changed == 1);
  REQUIRE(viewer.mirror.status().nodes.size() == 3);
  CHECK(viewer.mirror.status().nodes[2].name == "n0002");
  changes.take(training(1, 1, 5));
  viewer.ask(changes);
  CHECK(viewer.changed == 0);
  CHECK(viewer.mirror.status().nodes.size() == 1);
}

TEST_CASE("a supervisor's nonsense does no harm to a viewer") {
  StatusMirror mirror;
  StatusNews news;
  news.version = 7;
  news.nodes = 2;
  news.median = 3;
  NodeNews& node = news.changed.emplace_back();
  node.index = 2;  // beyond the last one
  NodeNews& other = news.changed.emplace_back();
  other.ranks = {{WorkerStage::kRunning, 1, 99}};  // further behind than there are steps
  mirror.take(news, 0);
  REQUIRE(mirror.status().nodes.size() == 2);
  CHECK(mirror.status().nodes[0].ranks[0].steps == 0);
  news.nodes = 0xffffffff;
  mirror.take(news);
  CHECK(mirror.status().nodes.size() == 65536);
  CHECK_FALSE(read_changes_answer("[]"));
  CHECK_FALSE(read_changes_answer(R"({"type":"error","message":"no such command"})"));
}

}  // namespace
}  // namespace robustrun::supervisor::changes_test
