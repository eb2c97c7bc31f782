// How the workers of an attempt are started, stopped and counted, by processes that do not exist.
#include "agent/worker/worker_set.h"

#include <doctest/doctest.h>

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "agent/copies/limits.h"
#include "tests/agent/fake_node.h"
#include "tests/agent/played_tier.h"

namespace robustrun::agent::worker_set_test {
namespace {

using namespace std::chrono_literals;
using test::exit_code;
using test::killed_by;
using test::kSucceeded;

struct Set : test::FakeNode {
  Set() {
    copies.has_copies = false;
    workers.emplace(node, copies, peers, stage);
  }
  // All workers of the order run.
  void start(const wire::StartWorkers& order) {
    first = processes.started.size();
    workers->start(order);
    const std::size_t count = order.slots.size();
    REQUIRE(loop.run_until([&] { return processes.started.size() == first + count; }));
    for (std::size_t i = first; i < first + count; ++i) {
      processes[i].begin(static_cast<pid_t>(100 + i));
    }
  }
  void start(std::uint32_t attempt) { start(order(attempt)); }
  // All workers of the last order end.
  void end_all() {
    const std::size_t before = all<wire::WorkersGone>().size();
    for (std::size_t i = first; i < processes.started.size(); ++i) processes[i].end(kSucceeded);
    REQUIRE(wait_for<wire::WorkersGone>(before + 1));
  }
  void stop(std::uint32_t attempt, base::Nanos grace = 30s) {
    workers->stop({{attempt}, SIGTERM, grace, wire::StopReason::kRestart, false});
  }

  test::PlayedTier copies;
  BlockPeers peers{node};
  StageFiles stage{node, peers};
  std::size_t first = 0;  // process of the last order
  std::optional<WorkerSet> workers;
};

TEST_CASE("an attempt starts a worker for each slot, and reports when nothing of it is left") {
  Set run;
  run.start(0);
  CHECK(run.all<wire::WorkerStarted>().size() == 2);
  run.processes[0].end(kSucceeded);
  run.processes[1].exit(exit_code(1));
  REQUIRE(run.wait_for<wire::WorkerExited>(2));
  CHECK(run.all<wire::WorkersGone>().empty());
  run.processes[1].vanish(3);
  REQUIRE(run.wait_for<wire::WorkersGone>());
  CHECK(run.all<wire::WorkersGone>()[0].attempt == base::Attempt{0});
  CHECK(run.all<wire::WorkersGone>()[0].descendants_killed == 3);
}

TEST_CASE("a repeated order starts nothing, and no attempt starts beside living workers") {
  Set run;
  run.start(0);
  CHECK_FALSE(run.workers->takes(Set::order(0)));
  CHECK_FALSE(run.workers->takes(Set::order(1)));
  run.workers->start(Set::order(0));
  run.workers->start(Set::order(1));
  for (const std::size_t which : {0, 1}) run.processes[which].end(exit_code(1));
  REQUIRE(run.wait_for<wire::WorkersGone>());
  CHECK(run.processes.started.size() == 2);
  CHECK_FALSE(run.workers->takes(Set::order(0)));
  CHECK(run.workers->takes(Set::order(1)));
  run.start(1);
  CHECK(run.all<wire::WorkerStarted>().back().attempt == base::Attempt{1});
}

TEST_CASE("a stop signals all workers, and kills those that outlive the grace") {
  Set run;
  run.start(0);
  run.stop(0, 1ms);
  for (const std::size_t which : {0, 1}) {
    CHECK(run.processes[which].signals == std::vector{SIGTERM, SIGCONT});
  }
  run.processes[0].end(killed_by(SIGTERM), run.clock.now());
  REQUIRE(run.loop.run_until([&] { return run.processes[1].kills == 1; }));
  CHECK(run.processes[0].kills == 0);
  run.processes[1].end(killed_by(SIGKILL), run.clock.now());
  REQUIRE(run.wait_for<wire::WorkersGone>());
  for (const wire::WorkerExited& report : run.all<wire::WorkerExited>()) {
    CHECK(report.stopped_by_us);
  }
}

TEST_CASE("a stop of an attempt that is over, or never was here, is answered at once") {
  Set run;
  run.stop(4);
  REQUIRE(run.all<wire::WorkersGone>().size() == 1);
  CHECK(run.all<wire::WorkersGone>()[0].attempt == base::Attempt{4});
  run.start(5);
  run.stop(4);  // workers of another attempt live: it must not conclude that none do
  CHECK(run.all<wire::WorkersGone>().size() == 1);
  for (const std::size_t which : {0, 1}) run.processes[which].end(kSucceeded);
  REQUIRE(run.wait_for<wire::WorkersGone>(2));
  run.stop(5);  // the answer was lost
  REQUIRE(run.all<wire::WorkersGone>().size() == 3);
  CHECK(run.all<wire::WorkersGone>()[2].attempt == base::Attempt{5});
}

TEST_CASE("orders of another supervisor wait for the end of living workers, and then replace it") {
  Set run;
  run.start(3);
  wire::StartWorkers other = Set::order(2);
  other.ordered_by = 2;
  CHECK_FALSE(run.workers->takes(other));
  // While these live, it must not report for any attempt that nothing lives.
  for (const std::uint32_t attempt : {2, 5}) run.stop(attempt);
  CHECK(run.all<wire::WorkersGone>().empty());
  run.end_all();
  // Attempts of the later supervisor follow, with any number; those of the earlier one do not.
  CHECK(run.workers->takes(other));
  run.start(other);
  CHECK(run.all<wire::WorkerStarted>().back().ordered_by == 2);
  run.end_all();
  CHECK_FALSE(run.workers->takes(Set::order(9)));
}

TEST_CASE("orders of an older supervisor carry no incarnation: their attempts' numbers count") {
  Set run;
  std::uint32_t attempt = 0;
  for (const std::uint32_t ordered_by : {0, 2, 0}) {
    wire::StartWorkers order = Set::order(attempt++);
    order.ordered_by = ordered_by;
    CHECK(run.workers->takes(order));
    run.start(order);
    CHECK(run.all<wire::WorkerStarted>().back().ordered_by == ordered_by);
    run.end_all();
    CHECK_FALSE(run.workers->takes(order));
  }
}

TEST_CASE("an order that is revoked while its program is looked for starts nothing") {
  Set run;
  run.workers->start(Set::order(0));
  run.stop(0);
  REQUIRE(run.wait_for<wire::WorkersGone>());
  run.start(1);
  CHECK(run.processes.started.size() == 2);
}

TEST_CASE("a program that is not here is one failed start, and no worker starts") {
  Set run;
  run.node.workers.working_directory = run.node.started_with.working_directory = "/nowhere";
  run.workers->start(Set::order(0));
  REQUIRE(run.wait_for<wire::WorkersGone>());
  CHECK(run.all<wire::WorkerStartFailed>().size() == 1);
  CHECK(run.processes.started.empty());
}

TEST_CASE("a worker that cannot be started does not keep the others from starting") {
  Set run;
  run.processes.error = base::Error{base::Errc::kLimit, EAGAIN, "cannot fork"};
  run.workers->start(Set::order(0));
  REQUIRE(run.wait_for<wire::WorkerStartFailed>(2));
  CHECK(run.all<wire::WorkerStartFailed>()[1].local_rank == base::LocalRank{1});
  REQUIRE(run.wait_for<wire::WorkersGone>());
}

TEST_CASE("a signal of another attempt reaches no worker") {
  Set run;
  run.start(1);
  run.workers->signal({{0}, SIGUSR1});
  run.workers->signal({{1}, SIGUSR2});
  CHECK(run.processes[0].signals == std::vector{SIGUSR2});
  CHECK(run.processes[1].signals == std::vector{SIGUSR2});
}

TEST_CASE("the agent ends when all workers are dead, and starts none any more") {
  Set run;
  run.start(0);
  bool done = false;
  run.workers->kill_all([&] { done = true; });
  CHECK(run.processes[0].kills == 1);
  CHECK(run.processes[1].kills == 1);
  run.processes[0].end(killed_by(SIGKILL));
  CHECK_FALSE(done);
  run.processes[1].end(killed_by(SIGKILL));
  REQUIRE(run.loop.run_until([&] { return done; }));
  CHECK_FALSE(run.workers->takes(Set::order(1)));
}

TEST_CASE("copies in memory are saved before the attempt counts as gone") {
  Set run;
  run.copies.has_copies = true;
  run.start(0);
  for (const std::size_t which : {0, 1}) run.processes[which].end(exit_code(1));
  REQUIRE(run.loop.run_until([&] { return run.copies.done != nullptr; }));
  CHECK(run.all<wire::WorkersGone>().empty());
  run.copies.over();
  CHECK(run.wait_for<wire::WorkersGone>());
}

TEST_CASE("only a worker of the attempt is the target of a fault") {
  Set run;
  run.start(2);
  REQUIRE(run.workers->fault_target({2}, {1}) != nullptr);
  CHECK(run.workers->fault_target({2}, {1})->pid() == 101);
  CHECK(run.workers->fault_target({1}, {1}) == nullptr);
  CHECK(run.workers->fault_target({2}, {2}) == nullptr);
}

}  // namespace
}  // namespace robustrun::agent::worker_set_test
